//===- break.h - ways to break a derived collective ------------------------===//
//
// For tests that a broken plan is noticed. Plans are broken after the shard phase, where each
// collective is one op with the sizes of one rank, so that all later phases compile it like any
// other.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_INVARIANCE_BREAK_H
#define TPLAN_TEST_INVARIANCE_BREAK_H

#include "dialects/dist/Dist.h"

namespace tplan::test {

/// A way to break a collective; false where it does not apply to this one.
struct Way {
  llvm::StringRef name;
  bool (*apply)(dist::CollectiveOp, bool dryRun);
};

/// Dropped, added twice, a mean, over another axis, in the wrong order.
llvm::ArrayRef<Way> ways();

} // namespace tplan::test

#endif // TPLAN_TEST_INVARIANCE_BREAK_H

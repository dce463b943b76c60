//===- break_stages.h - ways to break what stages on ranks do together -----===//
//
// For tests that a broken plan is noticed. Made after the schedule phase, where messages and the
// sums over stages are ops of the programs, so that all phases below compile them like any other.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_INVARIANCE_BREAK_STAGES_H
#define TPLAN_TEST_INVARIANCE_BREAK_STAGES_H

#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace tplan::test {

/// One way to break one thing.
struct StageMutant {
  std::string where, what, how; // "step.0 SF.0", "F of stage 0", "dropped"
  mlir::Location loc;
  std::function<void()> apply;
};

/// Mutants of the programs of a pipeline, in one order; none for a plan with one program. A message
/// is dropped at both ends, sends another value, is out of order or goes to another rank; sums over
/// stages lack a part or have one twice; the ranks' parts of a loss are not added up.
std::vector<StageMutant> stageMutants(mlir::ModuleOp module);

} // namespace tplan::test

#endif // TPLAN_TEST_INVARIANCE_BREAK_STAGES_H

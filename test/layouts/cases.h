//===- cases.h - every layout that an op's rule admits --------------------===//
#ifndef TPLAN_TEST_LAYOUTS_CASES_H
#define TPLAN_TEST_LAYOUTS_CASES_H

#include "lib/Shard/Placement.h"
#include "lib/Shard/Rules.h"

namespace layouts {

struct Case {
  tplan::shard::Strategy strategy;
  llvm::SmallVector<tplan::dist::Axes> pending;
  tplan::shard::Layouts layouts;

  bool hasRows() const { return bool(strategy.rows); }
};

/// The op of a layer of ops.mlir.
mlir::Operation *opOf(tplan::nn::LayerOp layer);

/// Each factor over each axis and over all of them; two factors over two axes; rows; sums and
/// maxima that are pending in each operand that may have them.
std::vector<Case> casesOf(mlir::Operation *op, const tplan::shard::Placement &placement);

/// "x: <B over [a]>, y: <> -> <B over [a]>"
std::string spell(const Case &c);

} // namespace layouts

#endif // TPLAN_TEST_LAYOUTS_CASES_H

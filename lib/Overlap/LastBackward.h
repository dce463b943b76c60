//===- LastBackward.h - where the gradients of a stage are complete --------------===//
//
// The section of a stage's last backward, which completes gradients layer by layer, and the sums
// over ranks (R) that follow it. `merge-reductions` and `start-reductions` bring these there.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_LASTBACKWARD_H
#define TPLAN_OVERLAP_LASTBACKWARD_H

#include "dialects/sched/Sched.h"
#include "llvm/ADT/DenseSet.h"

namespace tplan::overlap {

/// The section of all backwards whose last one R follows; null: none.
sched::SectionOp backwardBefore(sched::SectionOp sums);
/// A section for the last of these, in early steps if the sums are theirs: the one that there is, a
/// copy, or the section itself where there is one task in all steps. Null: none.
sched::SectionOp makeLastBackward(sched::SectionOp sums);
/// Whether the first steps have sums of their own.
bool hasEarlySums(sched::SectionOp sums);

/// Instances of gradients that an op of a section touches, a run in all of its periods.
using Gradients = llvm::DenseSet<std::pair<mlir::Value, int64_t>>;
Gradients gradientsOf(mlir::Operation &op);
bool touchesAny(mlir::Operation &op, const Gradients &gradients);

/// The loop of a section that completes the gradients that a loop of R adds up, a layer in each
/// period: what last touches any of them. None where that is something else.
sched::RunOp backwardOf(sched::RunOp run, sched::SectionOp last);

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_LASTBACKWARD_H

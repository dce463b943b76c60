//===- Families.h - what lives from one task to another -------------------===//
#ifndef TPLAN_SCHEDULE_FAMILIES_H
#define TPLAN_SCHEDULE_FAMILIES_H

#include "lib/Schedule/Chain.h"
#include "lib/Schedule/Policy.h"
#include "mlir/IR/Builders.h"

namespace tplan::schedule {

/// Appends the families of the chain @train to the program, with their slots
/// counted over its tasks. Error where a rank cannot hold one.
mlir::LogicalResult addFamilies(sched::ProgramOp program, const Chain &chain);

/// The runs of the chain whose backward writes the cotangent of `value`.
llvm::SmallVector<Reader> cotangentWriters(const Chain &chain, mlir::Value value);

/// Whether `value` has a cotangent: a reader makes one, or its producer takes one.
bool hasCotangent(const Chain &chain, mlir::Value value);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_FAMILIES_H

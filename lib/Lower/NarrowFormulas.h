//===- NarrowFormulas.h - how narrow types become f32 and back ------------===//
#ifndef TPLAN_LOWER_NARROW_FORMULAS_H
#define TPLAN_LOWER_NARROW_FORMULAS_H

#include "dialects/nn/Narrow.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::lower {

/// How integers that are the codes of a narrow type become f32, and f32 such integers.
struct NarrowFormulas {
  mlir::Value (*extend)(mlir::ImplicitLocOpBuilder &, mlir::Value code, mlir::Type f32,
                        mlir::Type narrow);
  mlir::Value (*truncate)(mlir::ImplicitLocOpBuilder &, mlir::Value x, mlir::Type narrow);
};

/// The formulas of a type, or the instructions of a machine that has them.
const NarrowFormulas &formulasOf(mlir::Type narrow, bool byMachine);

} // namespace tplan::lower

#endif // TPLAN_LOWER_NARROW_FORMULAS_H

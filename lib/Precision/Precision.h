//===- Precision.h - the precision phase: element types are final ---------===//
#ifndef TPLAN_LIB_PRECISION_H
#define TPLAN_LIB_PRECISION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tplan::precision {
#define GEN_PASS_DECL
#include "lib/Precision/Passes.h.inc"

/// The narrow type of the plan's precision: bf16 or f16; null where there is none.
mlir::FloatType narrowTypeOf(mlir::ModuleOp module);

/// Every f32, bf16 and f16 becomes f64; casts between them stay, from f64 to f64.
void widenTypes(mlir::ModuleOp module);
/// Removes casts from a type to itself.
void eraseEqualCasts(mlir::ModuleOp module);
} // namespace tplan::precision

#endif // TPLAN_LIB_PRECISION_H

//===- Precision.h - the precision phase: element types are final ---------===//
#ifndef TPLAN_LIB_PRECISION_H
#define TPLAN_LIB_PRECISION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tplan::precision {
std::unique_ptr<mlir::Pass> createWidenPrecisionPass();
std::unique_ptr<mlir::Pass> createNarrowPrecisionPass();

/// The plan's precision: f32, f64 or bf16.
llvm::StringRef nameOf(mlir::ModuleOp module);
} // namespace tplan::precision

#endif // TPLAN_LIB_PRECISION_H

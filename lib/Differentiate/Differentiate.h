//===- Differentiate.h - the differentiate phase: joint layer functions ---===//
#ifndef TPLAN_LIB_DIFFERENTIATE_H
#define TPLAN_LIB_DIFFERENTIATE_H

#include "dialects/nn/NNBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tplan::differentiate {
std::unique_ptr<mlir::Pass> createDifferentiateLayersPass();
std::unique_ptr<mlir::Pass> createAddUpdatesPass();

/// Cotangents of the operands of `op` from those of its results (null: zero), in
/// operand order; null where the operand gets none. `b` is set where to build.
llvm::SmallVector<mlir::Value> buildAdjoint(nn::NNBuilder &b, mlir::Operation *op,
                                            llvm::ArrayRef<mlir::Value> cotangents);

/// Whether an operand of `op` can carry a cotangent.
bool isDifferentiable(mlir::Operation *op, unsigned operand);

/// Whether an op, by its name, has a rule in buildAdjoint.
bool hasAdjoint(llvm::StringRef op);
} // namespace tplan::differentiate

#endif // TPLAN_LIB_DIFFERENTIATE_H

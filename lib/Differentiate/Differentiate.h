//===- Differentiate.h - the differentiate phase: joint layer functions ---===//
#ifndef TPLAN_LIB_DIFFERENTIATE_H
#define TPLAN_LIB_DIFFERENTIATE_H

#include "dialects/nn/NNBuilder.h"
#include "mlir/Pass/Pass.h"
#include <string>

namespace tplan::differentiate {
#define GEN_PASS_DECL
#include "lib/Differentiate/Passes.h.inc"

/// From `add-probes` on: the attribute of an op that has the number of its probe. A layer knows
/// probe k as the weight `probe.k`, a training as `probe.LAYER.k`.
inline constexpr llvm::StringLiteral kProbe = "tplan.probe";
inline std::string probeName(int64_t k) { return "probe." + std::to_string(k); }

/// Cotangents of the operands of `op` from those of its results (null: zero), in operand order;
/// null where the operand gets none. `b` is set to the place where the ops are built.
llvm::SmallVector<mlir::Value> buildAdjoint(nn::NNBuilder &b, mlir::Operation *op,
                                            llvm::ArrayRef<mlir::Value> cotangents);

/// Whether an operand of `op` can carry a cotangent.
bool isDifferentiable(mlir::Operation *op, unsigned operand);

/// Whether an op, by its name, has a rule in buildAdjoint.
bool hasAdjoint(llvm::StringRef op);
} // namespace tplan::differentiate

#endif // TPLAN_LIB_DIFFERENTIATE_H

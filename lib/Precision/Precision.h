//===- Precision.h - the precision phase: element types are final ---------===//
#ifndef TPLAN_LIB_PRECISION_H
#define TPLAN_LIB_PRECISION_H

#include "dialects/nn/NN.h"
#include "dialects/tplan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tplan::precision {
#define GEN_PASS_DECL
#include "lib/Precision/Passes.h.inc"

/// The narrow type of a precision: bf16 or f16; null where there is none.
mlir::FloatType narrowTypeOf(lang::Precision precision, mlir::MLIRContext *context);

/// The weights of a joint function whose GEMMs compute in another precision than the plan's, by
/// their names in it: split-precisions writes it on the layer, narrow-precision reads and drops it.
inline constexpr llvm::StringLiteral kPrecisions = "precisions";

/// A weight's precision there: "f32", "fp8(blockwise)", "fp8(delayed(history = 16, margin = 0))".
std::string spell(const lang::PartPrecision &part);
/// A recipe with its arguments, as PartPrecision has them.
struct Fp8 {
  lang::Fp8Recipe recipe;
  int64_t history = 0, margin = 0;
};
/// The recipe of what `spell` wrote; nothing where that is no recipe.
std::optional<Fp8> recipeOf(llvm::StringRef spelled);

/// The accumulator of a parameter's gradient that the op's result is added to, or null.
mlir::BlockArgument accumulatorOf(nn::LayerOp layer, mlir::Operation *op);
/// The parameter of a joint layer that a value is, as it is kept or widened; or null.
mlir::BlockArgument paramOf(nn::LayerOp layer, mlir::Value v);
/// The parameter that a contraction of a joint layer reads, or makes the gradient of; or null.
mlir::BlockArgument weightOf(nn::LayerOp layer, nn::ContractOp contract);

/// Instances of a weight of a list: those from `first` on that are less than `end`.
struct Instances {
  int64_t first, end;
  bool meet(const Instances &other) const { return first < other.end && other.first < end; }
};
/// Those that the layers of a run bind; of a weight alone, the one.
Instances instancesOf(nn::RunOp run, nn::ParamOp param);

/// The dimension of sequences: the first of what the model reads; "" where it reads nothing.
llvm::StringRef sequenceOf(nn::ChainOp chain);

/// Every f32, bf16 and f16 becomes f64; casts between them stay, from f64 to f64.
void widenTypes(mlir::ModuleOp module);
/// Removes casts from a type to itself.
void eraseEqualCasts(mlir::ModuleOp module);
} // namespace tplan::precision

#endif // TPLAN_LIB_PRECISION_H

//===- DelayedScales.h - scales of values from the steps before ---------------===//
//
// With the recipe `delayed` the multiplier of a value is a state of the step, made of the largest
// magnitudes that the value had in the last steps. So codes are made in one read of the source, and
// a step's maximum, over all microbatches and ranks, is a contribution that part `states` reads.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PRECISION_DELAYED_SCALES_H
#define TPLAN_PRECISION_DELAYED_SCALES_H

#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/NNRuns.h"
#include "lib/Precision/Precision.h"
#include "llvm/ADT/StringMap.h"

namespace tplan::precision {

/// What the states of a value are called after its own name, `q.x`; and its maximum in a step.
inline constexpr llvm::StringLiteral kMultiplier = ".multiplier", kHistory = ".history",
                                     kSlot = ".slot", kAmax = ".amax";

/// The states that quantise-gemms makes.
class DelayedScales {
public:
  explicit DelayedScales(mlir::ModuleOp module);

  /// The multiplier of a value of a joint layer that becomes `as`: an argument of the layer, which
  /// from then on contributes the value's largest magnitude. A value is called after a weight of
  /// the layer, x or the gradient dy of what its GEMM reads or gives; its states are bound where
  /// the weight is.
  mlir::Value multiplierOf(nn::LayerOp layer, mlir::Value x, llvm::StringRef weight,
                           bool isGradient, mlir::FloatType as, const Fp8 &recipe);

  /// Makes the states, and binds them in `runs`.
  void finish(llvm::ArrayRef<nn::RunOp> runs);

private:
  /// A value of a layer.
  struct Scaled {
    std::string weight, what;
    int64_t history;
    double start; // the multiplier of the first step
    std::string name() const { return weight + "." + what; }
  };
  void addUpdate(nn::LayerOp part, const Scaled &value, mlir::FloatType as, int64_t margin,
                 mlir::Location loc);
  void bind(nn::RunOp run, const Scaled &value, mlir::NamedAttrList &params);

  mlir::SymbolTable symbols;
  nn::PartTable<nn::LayerOp> parts;
  double startOfGradients;
  llvm::StringMap<llvm::SmallVector<Scaled>> scaled;       // of each joint layer
  llvm::StringMap<llvm::SmallVector<Instances>> instances; // that have each multiplier
};

} // namespace tplan::precision

#endif // TPLAN_PRECISION_DELAYED_SCALES_H

//===- Quantise.h - a value as codes and their scales -------------------------===//
//
// The mathematics of scales, for values and for weights. A scale is what a code is multiplied by;
// its inverse multiplies the value before that is rounded.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PRECISION_QUANTISE_H
#define TPLAN_PRECISION_QUANTISE_H

#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/TplanEnums.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace tplan::precision {

/// How many elements along what a GEMM contracts and keeps have one scale; 0: all.
struct Granule {
  int64_t contracted = 0, kept = 0;
  /// A weight so quantised serves forward and backward, which contract what the other keeps.
  bool isSquare() const { return contracted == kept; }
};

/// A row of Recipes.def.
struct RecipeFacts {
  lang::Fp8Recipe recipe;
  Granule values, weights;
  bool powersOfTwo, isFolded; // isFolded: a GEMM sums products of codes and scales
  mlir::FloatType forward, backward;
  llvm::StringRef scales; // what a GPU's library calls them
  bool isDelayed;         // the scales of values come from earlier steps
};
RecipeFacts factsOf(lang::Fp8Recipe recipe, mlir::MLIRContext *context);

/// The blocks of a tensor that have one scale each.
struct Blocks {
  /// Dimensions that are split, and into blocks of how many.
  llvm::SmallVector<std::pair<std::string, int64_t>, 2> splits;
  /// What a scale lacks of the dimensions after that.
  llvm::SmallVector<std::string, 4> inner;

  nn::Tensor split(nn::Tensor x) const;
  nn::Tensor scaleOf(nn::Tensor x) const;
};

/// The blocks of granule `of` along the dimensions of x that a GEMM contracts and, the rest, keeps.
/// Innermost dimensions are taken first; none reaches beyond a `sequence`, the name of the
/// dimension of sequences, which a weight lacks. On failure `why` says which dimension is too short
/// or divides badly.
mlir::FailureOr<Blocks> blocksOf(nn::Tensor x, llvm::ArrayRef<llvm::StringRef> contracted,
                                 const Granule &of, llvm::StringRef sequence, std::string &why);

/// Codes and scales.
struct Quantised {
  mlir::Value codes, scale;
};
/// x [.., D 512] in blocks of 128 becomes codes [.., D 4, in.D 128] and scales [.., D 4].
Quantised quantise(nn::NNBuilder &b, mlir::Value x, const Blocks &blocks, mlir::FloatType as,
                   bool powersOfTwo);
/// The same of a weight, whose codes keep its dimensions. Maxima are taken along the last dimension
/// first, and codes are made row by row, so that ranks that have some of the rows each compute
/// theirs.
Quantised quantiseWeight(nn::NNBuilder &b, mlir::Value x, const Blocks &blocks, mlir::FloatType as,
                         bool powersOfTwo);

/// With a multiplier that is known before the value: codes as x is, a scale for all of it.
Quantised quantiseBy(nn::NNBuilder &b, mlir::Value x, mlir::Value multiplier, mlir::FloatType as);

/// The largest magnitude of x along `dims`.
mlir::Value amaxOf(nn::NNBuilder &b, mlir::Value x, llvm::ArrayRef<llvm::StringRef> dims);
/// The largest number of an f8.
double largestOf(mlir::FloatType type);

/// What a scale is made of where it is computed: the largest magnitude, and the multiplier.
struct ScaleParts {
  mlir::Value amax, multiplier;
};
/// Nothing where a value is no such scale.
std::optional<ScaleParts> partsOf(mlir::Value scale);

} // namespace tplan::precision

#endif // TPLAN_PRECISION_QUANTISE_H

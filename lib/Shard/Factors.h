//===- Factors.h - a sum over ranks of a matrix as two factors ---------------===//
//
// PowerSGD: ranks add up a few columns instead of a matrix. Source: Vogels, Karimireddy and Jaggi,
// "PowerSGD: practical low-rank gradient compression for distributed optimization", NeurIPS 2019.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_FACTORS_H
#define TPLAN_SHARD_FACTORS_H

#include "dialects/dist/Dist.h"
#include "dialects/nn/NNBuilder.h"

namespace tplan::shard {

/// Dimensions of a matrix and of its factors. None can be written in a source.
inline constexpr llvm::StringLiteral kRow = "factor.row", kColumn = "factor.column",
                                     kFactor = "factor.rank";

/// The matrix [row, column] of f32 that a tensor is: the cut of its dimensions, which stay in their
/// order, that has the fewest rows and columns. Null where its factors of `rank` columns have more
/// than half of its elements.
nn::Tensor matrixOf(nn::Tensor type, int64_t rank);

/// A sum over ranks that is not exact, and what this rank's matrix has of the rest.
struct Approximation {
  mlir::Value sum, lost; // [row, column]
};

/// The sum over the ranks along `axes` of each one's matrix, by factors of `rank` columns. Which
/// subspace they span is drawn anew in each step, from the generator of dropout, by `name`.
Approximation sumByFactors(nn::NNBuilder &b, nn::LayerOp layer, mlir::Value matrix, int64_t rank,
                           mlir::ArrayAttr axes, llvm::StringRef name);

} // namespace tplan::shard

#endif // TPLAN_SHARD_FACTORS_H

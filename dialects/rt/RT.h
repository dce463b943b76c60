//===- RT.h - the rt dialect ----------------------------------------------===//
#ifndef TPLAN_DIALECTS_RT_H
#define TPLAN_DIALECTS_RT_H

#include "dialects/dist/Dist.h"
#include "dialects/nn/NN.h"

namespace tplan::rt {
/// The dimension of a kernel's partial sums, one for each of its tasks. No source can spell it.
inline constexpr llvm::StringLiteral kTaskDim = "each.task";
/// Sizes of an attention kernel and of its tiles. They follow from the types
/// alone: neither the machine nor the number of threads may change the order of
/// a sum.
struct AttentionShape {
  /// Dimensions that q and k share, in the order of q, and their product.
  llvm::SmallVector<nn::DimAttr> batchDims;
  int64_t batch = 1;
  int64_t queries = 0, keys = 0, heads = 0, groups = 0, width = 0;
  /// Elements of a 64-byte vector of sums.
  int64_t lanes = 0;
  /// Rows of a tile; the last one may be shorter.
  int64_t queryTile = 0, keyTile = 0;

  int64_t getQueryTiles() const { return (queries + queryTile - 1) / queryTile; }
};
/// Extents of a collective or of a slice, in elements: those of tp_collective.
struct BlockShape {
  int64_t outer = 1, inner = 1, middle = 1, last = 1;
  int64_t whole = 0; // elements of the array of all blocks
  bool splitLast = false;
  /// The block of a member is one piece of the array of all blocks.
  bool isContiguous() const { return outer == 1; }
};
/// Erases kernels that nothing launches.
void eraseUnusedKernels(mlir::ModuleOp module);
} // namespace tplan::rt

#include "dialects/rt/RTDialect.h.inc"
#include "dialects/rt/RTEnums.h.inc"
#include "dialects/rt/RTInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RTAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/rt/RTOps.h.inc"

namespace tplan::rt {
/// A contraction as a GEMM in row-major terms: C[b] (m x n) = A[b] B[b].
/// Strides and leading dimensions in elements; transposed A is stored k x m.
struct Gemm {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  int64_t lda = 1, ldb = 1, ldc = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  bool transA = false, transB = false;
  /// The operands change places: C^T = B^T A^T, where the result has columns first.
  bool swapped = false;
};

/// The GEMM of a contraction by name, or failure where a group of dimensions is
/// not contiguous in an operand.
mlir::FailureOr<Gemm> matchGemm(nn::Tensor lhs, nn::Tensor rhs, nn::Tensor result);

/// The type that attention adds up in: f64 for f64, else f32.
mlir::Type sumType(mlir::Type element);

/// Whether a collective reads what another one makes, maybe through views and places: then they
/// cannot be issued together.
bool dependsOn(CollectiveOp op, CollectiveOp other);

/// Bytes that one rank sends, of the member that sends most.
int64_t bytesSent(dist::CollectiveKind kind, const BlockShape &shape, int64_t elementBytes,
                  int64_t members, llvm::ArrayRef<int32_t> sources = {});

/// What a mask says of a rectangle of positions: that no query in it sees a key,
/// or that each sees all. Neither may hold; `none` may miss an empty rectangle
/// that only the terms of an `and` together make empty.
template <typename Bool> struct Sight {
  Bool none, all;
};

/// `Math` computes with integers where tiles are counted and makes code where
/// they are skipped, so that both skip the same.
template <typename Math, typename Int>
Sight<typename Math::Bool> sightOf(nn::MaskAttr mask, Math &math, Int qMin, Int qMax, Int kMin,
                                   Int kMax) {
  llvm::StringRef kind = mask.getKind();
  if (kind == "causal")
    return {math.less(qMax, kMin), math.lessEqual(kMax, qMin)};
  if (kind == "window")
    return {math.lessEqual(kMax, math.minus(qMin, mask.getN())),
            math.less(math.minus(qMax, mask.getN()), kMin)};
  if (kind == "prefix")
    return {math.lessEqual(math.constant(mask.getN()), kMin),
            math.less(kMax, math.constant(mask.getN()))};
  bool conjunction = kind != "or";
  Sight<typename Math::Bool> sight{math.truth(!conjunction), math.truth(conjunction)};
  for (nn::MaskAttr term : mask.getTerms()) {
    auto other = sightOf(term, math, qMin, qMax, kMin, kMax);
    sight.none =
        conjunction ? math.either(sight.none, other.none) : math.both(sight.none, other.none);
    sight.all = conjunction ? math.both(sight.all, other.all) : math.either(sight.all, other.all);
  }
  return sight;
}
} // namespace tplan::rt

#endif // TPLAN_DIALECTS_RT_H

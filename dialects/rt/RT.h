//===- RT.h - the rt dialect ----------------------------------------------===//
#ifndef TPLAN_DIALECTS_RT_H
#define TPLAN_DIALECTS_RT_H

#include "dialects/dist/Dist.h"
#include "dialects/nn/NN.h"

namespace tplan::rt {
/// The dimension of a kernel's partial sums, one for each of its tasks. It cannot be written in a
/// source.
inline constexpr llvm::StringLiteral kTaskDim = "each.task";
/// Columns of a segment of a row.
inline constexpr int64_t kLeastSegment = 16, kMostSegment = 128;
/// About so many elements are the work of one task of a kernel.
inline constexpr int64_t kTaskElements = 16384;
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
/// How far apart the rows of a tensor of attention are, in elements.
struct AttentionStrides {
  int64_t batch = 0, head = 0, row = 0;
};
/// Attention as the library takes it.
struct LibraryAttention {
  int64_t batch = 1, heads = 1, groups = 1, queries = 1, keys = 1, width = 1;
  bool causal = false;
  int64_t window = 0; // keys that a query sees, itself the last; 0: all

  /// The batches computed in one go, and the groups of each. One of the two numbers is all there
  /// are.
  int64_t batchChunk = 1, groupChunk = 1;
  int64_t chunks() const { return batch / batchChunk * (groups / groupChunk); }
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
#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RTTypes.h.inc"
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

/// The scales of one operand: that of row (or column) i in panel p lies at
/// (i / block) * stride + p * panelStride.
struct ScaleGrid {
  int64_t block = 1, stride = 0, panelStride = 0;
  int64_t panel = 1; // elements along what is contracted
};
/// How libraries of GPUs want the scales of an operand, whose elements along k are side by side:
/// one for all of it; one for each row; one for each 128 of k in a row, those of rows side by side;
/// one for 128 rows and 128 of k, those along k side by side. As tp_scale_mode has them.
enum class ScaleMode { Other, Tensor, Row, Block, Square };
/// The modes of both operands of a GEMM where a library has such a pair; else Other.
std::pair<ScaleMode, ScaleMode> scaleModesOf(const Gemm &gemm, const ScaleGrid &a,
                                             const ScaleGrid &b);

/// Failure where the dimensions of a scale are not as rt.matmul (C7) asks.
mlir::FailureOr<ScaleGrid> matchScale(nn::Tensor operand, nn::Tensor scale, nn::Tensor result);

/// Whether the library adds a bias to this GEMM before it rounds: rt.matmul (C5).
bool takesBias(nn::Tensor lhs, nn::Tensor rhs, nn::Tensor bias, nn::Tensor result);

/// Limits of a library's attention. The defaults hold for any target; where a target's library
/// takes less, the driver writes that on the module (lib/Driver/AttentionLimits.def).
struct LibraryLimits {
  /// The widest head, forward and backward; 0: none.
  int64_t widestForward = 256, widestBackward = 256;
  /// The most bytes of workspace for one call, whatever memory a rank has; and the bytes that a
  /// call may have even where a rank has little.
  int64_t mostWorkspace = int64_t(8) << 30, leastWorkspace = int64_t(2) << 30;
  /// Bytes of workspace that a call may have on the rank.
  int64_t workspace = mostWorkspace;
  /// Bytes of workspace that heads which are computed at once may have, unless those of one key
  /// head need more; and the least of it where a rank has little memory.
  int64_t chunk = leastWorkspace, leastChunk = int64_t(384) << 20;

  /// The limits for a rank with so much memory, or with as much as its plan needs.
  LibraryLimits on(std::optional<int64_t> memory) const;
};
/// Why the library does not take something: what was found, and what it takes instead (nothing
/// where the reason has no alternative). Empty where it takes it.
struct LibraryRefusal {
  std::string found, instead;
  bool empty() const { return found.empty(); }
};
/// Whether the library takes attention of these operands, and the numbers by which it does.
LibraryRefusal matchLibraryAttention(AttentionPass pass, nn::Tensor q, nn::Tensor k,
                                     nn::AttentionAttr spec, const LibraryLimits &limits,
                                     LibraryAttention &attention);
/// Strides of a tensor of attention; failure where its batches are not one piece.
mlir::FailureOr<AttentionStrides> stridesOf(nn::Tensor tensor, llvm::StringRef row,
                                            llvm::StringRef head, llvm::StringRef width);
/// Bytes of workspace for one chunk of the pass.
int64_t workspaceOf(AttentionPass pass, const LibraryAttention &attention);

/// The number of pairs of a query and a key in tiles that the mask does not skip.
int64_t pairsInTiles(nn::MaskAttr mask, int64_t queries, int64_t keys, int64_t queryTile,
                     int64_t keyTile);
/// FLOPs of attention over such pairs of all heads.
int64_t attentionFlops(AttentionPass pass, int64_t pairs, int64_t heads, int64_t width);

/// Bytes of operands and results, each counted once.
int64_t bytesOf(mlir::Operation *op);

/// The type that attention adds up in: f64 for f64, else f32.
mlir::Type sumType(mlir::Type element);

/// Whether a collective reads the result of another one, maybe through views and places: then they
/// cannot be issued together.
bool dependsOn(CollectiveOp op, CollectiveOp other);

/// Bytes that one rank sends: those of the member that sends most.
int64_t bytesSent(dist::CollectiveKind kind, const BlockShape &shape, int64_t elementBytes,
                  int64_t members, llvm::ArrayRef<int32_t> sources = {});

/// Bytes of scratch that a device takes for a collective.
int64_t bytesOfScratch(dist::CollectiveKind kind, const BlockShape &shape, int64_t elementBytes,
                       int64_t members);

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
  nn::MaskKind kind = mask.getKind();
  if (kind == nn::MaskKind::Causal)
    return {math.less(qMax, kMin), math.lessEqual(kMax, qMin)};
  if (kind == nn::MaskKind::Window)
    return {math.lessEqual(kMax, math.minus(qMin, mask.getN())),
            math.less(math.minus(qMax, mask.getN()), kMin)};
  if (kind == nn::MaskKind::Prefix)
    return {math.lessEqual(math.constant(mask.getN()), kMin),
            math.less(kMax, math.constant(mask.getN()))};
  bool conjunction = kind != nn::MaskKind::Or;
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

//===- Factors.cpp - a sum over ranks of a matrix as two factors --------------===//
//
// With U [rank, row] orthonormal, and the same on all ranks, U'(UM) is what of a matrix M lies in
// the space of U. Ranks add up UM, so the sum of what they send is exact, and each knows what its
// own matrix has outside. U is an orthonormal basis of P, the sum of QM' over ranks, for Q of
// random signs: one step of the power method, from a new start in each step.
//
// One decision: a row of P of which the ones before leave next to nothing counts as zero. What
// would be left is rounding, which is not orthogonal to them: a matrix of a lower rank would be
// counted twice there.
//
//===----------------------------------------------------------------------===//
#include "lib/Shard/Factors.h"
#include "dialects/nn/NNRuns.h"
#include "dialects/nn/Scalars.h"
#include "lib/Shard/Member.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

/// What Gram-Schmidt must leave of the squared norm of a row, of f32.
static constexpr double kLeastLeft = 1e-10;
/// Sites of the generator from here on are of factors; those below are of dropout.
static constexpr int64_t kFirstSite = 1 << 15;

Tensor shard::matrixOf(Tensor type, int64_t rank) {
  int64_t all = type.getNumElements(), rows = 1, best = 0;
  for (DimAttr dim : type.getDims()) {
    rows *= dim.getSize();
    if (!best || rows + all / rows < best + all / best)
      best = rows;
  }
  if (!best || 2 * rank * (best + all / best) > all)
    return {};
  MLIRContext *context = type.getContext();
  return Tensor::get(
      context,
      {DimAttr::get(context, kRow, best, false), DimAttr::get(context, kColumn, all / best, false)},
      Float32Type::get(context));
}

namespace {
class Factors {
public:
  Factors(NNBuilder &b, LayerOp layer, Tensor matrix, int64_t rank, ArrayAttr axes)
      : b(b), layer(layer), axes(axes), row(matrix.getDims()[0]), column(matrix.getDims()[1]),
        factor(DimAttr::get(b.getContext(), shard::kFactor, rank, false)) {}

  shard::Approximation sum(Value matrix, StringRef name) {
    Value basis = orthonormal(add(contract(signs(name), matrix, row)));
    Value mine = contract(basis, matrix, column);
    return {product(basis, add(mine)), b.sub(matrix, product(basis, mine))};
  }

private:
  /// [rank, to]
  Tensor typeOfFactor(DimAttr to) {
    return Tensor::get(b.getContext(), {factor, to}, b.getF32Type());
  }
  Value contract(Value x, Value matrix, DimAttr to) {
    return b.create<ContractOp>(typeOfFactor(to), x, matrix);
  }
  /// [row, column]
  Value product(Value basis, Value other) {
    Tensor type = Tensor::get(b.getContext(), {row, column}, b.getF32Type());
    return b.create<ContractOp>(type, basis, other);
  }
  /// Over the ranks, in the order of their coordinates.
  Value add(Value x) {
    return b.create<dist::CollectiveOp>(typeOf(x), dist::CollectiveKind::AllReduce, x, axes,
                                        ReduceKind::sum, StringAttr(), StringAttr(),
                                        DenseI32ArrayAttr());
  }

  Value scalar(StringRef name) { return scalarOf(layer, {Role::Scalar, name}); }

  /// 1 and -1 in [rank, column], which are a matrix's in a step.
  Value signs(StringRef name) {
    int64_t site = kFirstSite + llvm::crc32(llvm::arrayRefFromStringRef(name)) % kFirstSite;
    Value mask = b.create<DropoutMaskOp>(typeOfFactor(column), scalar(kSeed), scalar(kStepNumber),
                                         scalar(kLayerScalar), b.number(0, b.getI32Type()),
                                         b.getI64IntegerAttr(site), b.getF64FloatAttr(0.5),
                                         ValueRange(), DenseI64ArrayAttr(), ArrayAttr());
    return b.addNumber(mask, -1); // of 0 and 2
  }

  /// Gram-Schmidt of the rows of x [rank, row], in their order, each twice: where little is left of
  /// a row, rounding leaves it as much along the rows before. What a row has along all of these is
  /// taken away at once, so the ops are as many as the rows, not as their square.
  Value orthonormal(Value x) {
    Value numbers = b.index(factor), zero = b.like(x, 0);
    Value all = zero; // [rank, row], rows that are not made yet are zero
    for (int64_t i = 0; i < factor.getSize(); ++i) {
      Value isRow = b.compare(CmpKind::eq, numbers, b.number(i, b.getI32Type()));
      Value mask = b.broadcast(isRow, typeOf(x));
      Value v = b.sum(b.select(mask, x, zero), {shard::kFactor}); // [row]
      Value whole = dot(v, v);
      for (int pass = 0; i > 0 && pass < 2; ++pass) {
        Value along = dot(all, b.broadcast(v, typeOf(x))); // [rank]
        v = b.sub(v, b.sum(b.mul(all, b.broadcast(along, typeOf(x))), {shard::kFactor}));
      }
      Value left = dot(v, v);
      Value isLeft = b.compare(CmpKind::gt, left, b.scale(whole, kLeastLeft));
      Value inverse = b.select(isLeft, b.rsqrt(left), b.like(left, 0));
      all = b.select(mask, b.broadcast(b.mul(v, inverse), typeOf(x)), all);
    }
    return all;
  }

  Value dot(Value x, Value y) { return b.sum(b.mul(x, y), {shard::kRow}); }

  NNBuilder &b;
  LayerOp layer;
  ArrayAttr axes;
  DimAttr row, column, factor;
};
} // namespace

shard::Approximation shard::sumByFactors(NNBuilder &b, LayerOp layer, Value matrix, int64_t rank,
                                         ArrayAttr axes, StringRef name) {
  return Factors(b, layer, typeOf(matrix), rank, axes).sum(matrix, name);
}

//===- Quantise.cpp - a value as codes and their scales -----------------------===//
#include "lib/Precision/Quantise.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::precision;

RecipeFacts precision::factsOf(lang::Fp8Recipe recipe, MLIRContext *context) {
  switch (recipe) {
#define RECIPE(RECIPE, CONTRACTED, KEPT, CONTRACTED_W, KEPT_W, POWERS, FOLDED, FORWARD, BACKWARD,  \
               SCALES, DELAYED)                                                                    \
  case lang::Fp8Recipe::RECIPE:                                                                    \
    return {recipe, {CONTRACTED, KEPT},    {CONTRACTED_W, KEPT_W}, POWERS,                         \
            FOLDED, FORWARD::get(context), BACKWARD::get(context), SCALES,                         \
            DELAYED};
#include "lib/Precision/Recipes.def"
  }
  llvm_unreachable("a recipe that no row has");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Tensor Blocks::split(Tensor x) const {
  for (auto &[dim, by] : splits)
    x = splitType(x, dim, by);
  return x;
}

Tensor Blocks::scaleOf(Tensor x) const {
  return split(x)
      .without(
          llvm::map_to_vector<4>(inner, [](const std::string &dim) -> StringRef { return dim; }))
      .withElement(Float32Type::get(x.getContext()));
}

/// Adds blocks of `count` elements along `dims`, of which the last varies fastest.
static LogicalResult addBlocks(Blocks &blocks, ArrayRef<DimAttr> dims, int64_t count,
                               std::string &why) {
  if (count == 0) {
    for (DimAttr dim : dims)
      blocks.inner.push_back(dim.getName().str());
    return success();
  }
  int64_t rest = count;
  for (DimAttr dim : llvm::reverse(dims)) {
    if (rest == 1)
      return success();
    int64_t size = dim.getSize();
    if (rest % size == 0) {
      blocks.inner.push_back(dim.getName().str());
      rest /= size;
    } else if (size % rest == 0 && !dim.getBounded()) {
      blocks.splits.push_back({dim.getName().str(), rest});
      blocks.inner.push_back(innerName(dim.getName()));
      return success();
    } else {
      why = llvm::formatv("{0} of {1} is not cut into blocks of {2}", dim.getName(), size, rest);
      return failure();
    }
  }
  if (rest == 1)
    return success();
  why = llvm::formatv("{0} elements are less than a block of {1}", count / rest, count);
  return failure();
}

FailureOr<Blocks> precision::blocksOf(Tensor x, ArrayRef<StringRef> contracted, const Granule &of,
                                      StringRef sequence, std::string &why) {
  SmallVector<DimAttr> summed, kept;
  for (DimAttr dim : x.getDims())
    if (dim.getName() != sequence)
      (llvm::is_contained(contracted, dim.getName()) ? summed : kept).push_back(dim);
  Blocks blocks;
  if (failed(addBlocks(blocks, summed, of.contracted, why)) ||
      failed(addBlocks(blocks, kept, of.kept, why)))
    return failure();
  return blocks;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

double precision::largestOf(FloatType type) {
  return llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

/// The multiplier that makes the largest magnitude of a block the largest number of `as`: 1 where
/// that is 0, infinity or NaN. Of an amax so small that the quotient is infinite, the largest f32.
///
/// A power of two is the largest that is at most the quotient, so its inverse is the least one that
/// is at least amax / max. The quotient is rounded, but never up to a power of two: for that amax
/// would have to be within 2^-25 of max * 2^n, where no f32 but max * 2^n itself is.
static Value multiplierOf(NNBuilder &b, Value amax, FloatType as, bool powersOfTwo) {
  Value most = b.like(amax, std::numeric_limits<float>::max());
  Value scale = b.min(b.div(b.like(amax, largestOf(as)), amax), most);
  if (powersOfTwo)
    scale = b.create<FloorPow2Op>(scale);
  Value one = b.like(amax, 1);
  Value infinity = b.like(amax, std::numeric_limits<double>::infinity());
  Value finite = b.select(b.compare(CmpKind::lt, amax, infinity), scale, one);
  return b.select(b.compare(CmpKind::gt, amax, b.like(amax, 0)), finite, one);
}

static Value splitBy(NNBuilder &b, Value x, const Blocks &blocks) {
  for (auto &[dim, by] : blocks.splits)
    x = b.split(x, dim, by);
  return x;
}

static Value magnitude(NNBuilder &b, Value x) { return b.max(x, b.neg(x)); }

/// The last of these dimensions, over which maxima are found first. Where one is over many
/// elements, those of rows come before: a kernel's threads share rows, and whoever makes x can find
/// each row's maximum as it goes.
static ArrayRef<StringRef> rowsOf(Tensor x, ArrayRef<StringRef> dims) {
  constexpr int64_t kRow = 512, kMost = 1 << 16;
  if (NNBuilder::extent(x, dims) <= kMost)
    return dims;
  int64_t elements = 1;
  size_t count = 0;
  while (count + 1 < dims.size() && elements < kRow)
    elements *= NNBuilder::extent(x, dims[dims.size() - ++count]);
  return dims.take_back(std::max<size_t>(count, 1));
}

Value precision::amaxOf(NNBuilder &b, Value x, ArrayRef<StringRef> dims) {
  SmallVector<StringRef> ordered; // as x has them
  for (DimAttr dim : typeOf(x).getDims())
    if (llvm::is_contained(dims, dim.getName()))
      ordered.push_back(dim.getName());
  ArrayRef<StringRef> rows = rowsOf(typeOf(x), ordered);
  Value ofRows = b.reduce(ReduceKind::max, magnitude(b, x), rows);
  return b.reduce(ReduceKind::max, ofRows, ArrayRef(ordered).drop_back(rows.size()));
}

static Value inverse(NNBuilder &b, Value x) { return b.div(b.like(x, 1), x); }

std::optional<ScaleParts> precision::partsOf(Value scale) {
  auto inverse = scale ? scale.getDefiningOp<DivOp>() : DivOp();
  auto multiplier = inverse ? inverse.getRhs().getDefiningOp<SelectOp>() : SelectOp();
  auto positive = multiplier ? multiplier.getCondition().getDefiningOp<CmpOp>() : CmpOp();
  if (!positive || positive.getKind() != CmpKind::gt)
    return std::nullopt;
  return ScaleParts{positive.getLhs(), multiplier};
}

Quantised precision::quantise(NNBuilder &b, Value x, const Blocks &blocks, FloatType as,
                              bool powersOfTwo) {
  x = splitBy(b, x, blocks);
  SmallVector<StringRef> inner(blocks.inner.begin(), blocks.inner.end());
  return quantiseBy(b, x, multiplierOf(b, amaxOf(b, x, inner), as, powersOfTwo), as);
}

Quantised precision::quantiseBy(NNBuilder &b, Value x, Value multiplier, FloatType as) {
  return {b.cast(b.mul(x, multiplier), as), inverse(b, multiplier)};
}

Quantised precision::quantiseWeight(NNBuilder &b, Value x, const Blocks &blocks, FloatType as,
                                    bool powersOfTwo) {
  StringRef last = typeOf(x).getDims().back().getName();
  Blocks ofLast, ofRows;
  for (auto &split : blocks.splits)
    (split.first == last ? ofLast : ofRows).splits.push_back(split);
  std::string innerOfLast = innerName(last);
  for (const std::string &dim : blocks.inner)
    (dim == last || dim == innerOfLast ? ofLast : ofRows).inner.push_back(dim);
  auto maxima = [&](Value x, const Blocks &of) {
    SmallVector<StringRef> inner(of.inner.begin(), of.inner.end());
    return b.reduce(ReduceKind::max, splitBy(b, x, of), inner);
  };
  Value ofPieces = maxima(magnitude(b, x), ofLast); // of each row's pieces
  Value by = multiplierOf(b, maxima(ofPieces, ofRows), as, powersOfTwo);
  // Each row has the multipliers of its blocks.
  Value each = b.broadcast(by, ofRows.split(typeOf(ofPieces)));
  for (auto &[dim, size] : llvm::reverse(ofRows.splits))
    each = b.merge(each, dim);
  Value codes = b.cast(b.mul(splitBy(b, x, ofLast), each), as);
  for (auto &[dim, size] : ofLast.splits)
    codes = b.merge(codes, dim);
  return {codes, inverse(b, by)};
}

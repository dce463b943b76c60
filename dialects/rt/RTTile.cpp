//===- RTTile.cpp - shapes, tasks and FLOPs of attention kernels ----------===//
//
// The sizes of tiles are here, not in `lower`: schedules and reports need tasks
// and FLOPs before there is code.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::rt;
using nn::DimAttr;
using nn::MaskAttr;
using nn::Tensor;

Type rt::sumType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

static int64_t sizeOf(Tensor t, StringRef dim) {
  int64_t at = t.find(dim);
  return at < 0 ? 0 : t.getDims()[at].getSize();
}

/// The side in vector lanes has at most four vectors: their sums, for several rows of the
/// other side, fill the registers. Wide heads take shorter tiles, so that all tiles of a task stay
/// in the second cache.
static int64_t laneTile(int64_t size, int64_t lanes) {
  return std::min(4 * lanes, (size + lanes - 1) / lanes * lanes);
}
static int64_t rowTile(int64_t size, int64_t width) {
  return std::min<int64_t>(width > 128 ? 32 : 64, size);
}

AttentionShape TileOp::getShape() {
  auto q = cast<Tensor>(getFunctionType().getInput(0));
  auto k = cast<Tensor>(getFunctionType().getInput(1));
  nn::AttentionAttr spec = getSpec();
  AttentionShape shape;
  for (DimAttr dim : q.getDims().drop_back())
    if (dim.getName() != spec.getQuery() && dim.getName() != spec.getHeads()) {
      shape.batchDims.push_back(dim);
      shape.batch *= dim.getSize();
    }
  shape.queries = sizeOf(q, spec.getQuery());
  shape.keys = sizeOf(k, spec.getKey());
  shape.heads = sizeOf(q, spec.getHeads());
  shape.groups = sizeOf(k, spec.getGroups());
  shape.width = q.getDims().back().getSize();
  shape.lanes = 64 / nn::elementBytes(sumType(q.getElementType()));
  // Forward has queries in the lanes, backward keys: the side whose sums stay in place.
  bool forward = getPass() == AttentionPass::Forward;
  shape.queryTile =
      forward ? laneTile(shape.queries, shape.lanes) : rowTile(shape.queries, shape.width);
  shape.keyTile = forward ? rowTile(shape.keys, shape.width) : laneTile(shape.keys, shape.lanes);
  return shape;
}

unsigned TileOp::getNumTensors() { return getPass() == AttentionPass::Forward ? 3 : 6; }

int64_t TileOp::getNumTasks() {
  AttentionShape shape = getShape();
  return getPass() == AttentionPass::Forward ? shape.batch * shape.heads * shape.getQueryTiles()
                                             : shape.batch * shape.groups;
}

//===----------------------------------------------------------------------===//
// FLOPs
//===----------------------------------------------------------------------===//

namespace {
struct IntMath {
  using Bool = bool;
  bool less(int64_t a, int64_t b) { return a < b; }
  bool lessEqual(int64_t a, int64_t b) { return a <= b; }
  int64_t minus(int64_t a, int64_t n) { return a - n; }
  int64_t constant(int64_t n) { return n; }
  bool truth(bool b) { return b; }
  bool both(bool a, bool b) { return a && b; }
  bool either(bool a, bool b) { return a || b; }
};

} // namespace

int64_t rt::pairsInTiles(MaskAttr mask, int64_t queries, int64_t keys, int64_t queryTile,
                         int64_t keyTile) {
  IntMath math;
  int64_t pairs = 0;
  for (int64_t q = 0; q < queries; q += queryTile)
    for (int64_t k = 0; k < keys; k += keyTile) {
      int64_t qEnd = std::min(q + queryTile, queries), kEnd = std::min(k + keyTile, keys);
      if (!sightOf<IntMath, int64_t>(mask, math, q, qEnd - 1, k, kEnd - 1).none)
        pairs += (qEnd - q) * (kEnd - k);
    }
  return pairs;
}

int64_t rt::attentionFlops(AttentionPass pass, int64_t pairs, int64_t heads, int64_t width) {
  int64_t products = pass == AttentionPass::Forward ? 2 : 5;
  return 2 * products * width * pairs * heads;
}

int64_t TileOp::getFlops() {
  AttentionShape shape = getShape();
  int64_t pairs = getFunctionType().getNumInputs() > getNumTensors()
                      ? shape.queries * shape.keys
                      : pairsInTiles(getSpec().getMask(), shape.queries, shape.keys,
                                     shape.queryTile, shape.keyTile);
  return attentionFlops(getPass(), pairs, shape.batch * shape.heads, shape.width);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// (C4)
static LogicalResult verifyStarts(TileOp op, TypeRange starts) {
  AttentionShape shape = op.getShape();
  for (Type type : starts)
    if (!nn::isStart(type))
      return op.emitOpError("starts must be i32 scalars, found ") << type;
  size_t queries = op.getQPieces() ? op.getQPieces()->size() : 0;
  size_t given = std::min(queries, starts.size());
  if (failed(nn::verifyPieces(op, op.getSpec().getQuery(), shape.queries, given, op.getQPieces())))
    return failure();
  return nn::verifyPieces(op, op.getSpec().getKey(), shape.keys, starts.size() - given,
                          op.getKPieces());
}

LogicalResult TileOp::verify() {
  FunctionType type = getFunctionType();
  SmallVector<Tensor> in, out;
  for (auto [from, to] : {std::pair(type.getInputs(), &in), std::pair(type.getResults(), &out)})
    for (Type t : from) {
      if (!isa<Tensor>(t))
        return emitOpError("operands must be nn tensors, found ") << t;
      to->push_back(cast<Tensor>(t));
    }
  bool forward = getPass() == AttentionPass::Forward;
  if (in.size() < getNumTensors()) // (C1)
    return emitOpError("needs ") << getNumTensors() << " inputs, found " << in.size();
  Tensor q = in[0], k = in[1];
  Type element = q.getElementType(), sum = sumType(element);
  bool workspace = !forward && sum != element;
  size_t outputs = forward ? 2 : workspace ? 4 : 3;
  if (out.size() != outputs)
    return emitOpError("needs ") << outputs << " outputs, found " << out.size();

  if (!element.isF64() && !element.isF32() && !nn::isNarrow(element)) // (C2)
    return emitOpError("elements must be f64, f32, bf16 or f16, found ") << element;
  nn::AttentionAttr spec = getSpec();
  StringRef inside[] = {spec.getQuery(), spec.getKey(), spec.getHeads(), spec.getGroups()};
  for (Tensor t : {q, k}) // (C5)
    for (auto [i, dim] : llvm::enumerate(t.getDims()))
      if (dim.getSize() < 1 ||
          (dim.getBounded() && (i || llvm::is_contained(inside, dim.getName()))))
        return emitOpError("sizes must be fixed and at least 1, found ") << t;
  for (auto [t, rows, heads] : {std::tuple(q, spec.getQuery(), spec.getHeads()),
                                std::tuple(k, spec.getKey(), spec.getGroups())})
    if (t.getRank() < 3 || t.find(rows) < 0 || t.find(heads) < 0 || rows == heads ||
        t.find(rows) == t.getRank() - 1 || t.find(heads) == t.getRank() - 1)
      return emitOpError("needs ")
             << rows << ", " << heads << " and the width, innermost, in " << t;
  if (q.getDims().back() != k.getDims().back())
    return emitOpError("q and k must have one width, found ") << q << " and " << k;
  SmallVector<DimAttr> kBatch;
  for (DimAttr dim : k.getDims().drop_back())
    if (dim.getName() != spec.getKey() && dim.getName() != spec.getGroups())
      kBatch.push_back(dim);
  AttentionShape shape = getShape();
  if (kBatch.size() != shape.batchDims.size() ||
      llvm::any_of(shape.batchDims, [&](DimAttr d) { return !llvm::is_contained(kBatch, d); }))
    return emitOpError("q and k must have the same other dimensions, found ") << q << " and " << k;

  auto like = [&](Tensor found, StringRef name, Tensor model, Type elementType,
                  size_t rank) -> LogicalResult {
    ArrayRef<DimAttr> dims = model.getDims().take_front(rank);
    bool same =
        found.getElementType() == elementType && found.getDims().size() == rank &&
        llvm::all_of(found.getDims(), [&](DimAttr d) { return llvm::is_contained(dims, d); });
    if (same && rank == model.getDims().size())
      same = found.getDims().back() == dims.back();
    if (same)
      return success();
    return emitOpError() << name << " must have the dimensions "
                         << model.withDims(dims).withElement(elementType) << ", found " << found;
  };
  size_t rank = q.getRank(), kRank = k.getRank();
  if (failed(like(in[2], "v", k, element, kRank)))
    return failure();
  if (forward) {
    if (failed(like(out[0], "out", q, element, rank)) ||
        failed(like(out[1], "lse", q, sum, rank - 1)))
      return failure();
  } else if (failed(like(in[3], "d_out", q, element, rank)) ||
             failed(like(in[4], "lse", q, sum, rank - 1)) ||
             failed(like(in[5], "delta", q, sum, rank - 1)) ||
             failed(like(out[0], "d_q", q, element, rank)) ||
             failed(like(out[1], "d_k", k, element, kRank)) ||
             failed(like(out[2], "d_v", k, element, kRank)) ||
             (workspace && failed(like(out[3], "workspace", q, sum, rank)))) {
    return failure();
  }
  if (shape.groups < 1 || shape.heads % shape.groups) // (C3)
    return emitOpError("heads must be a multiple of key heads, found ")
           << shape.heads << " and " << shape.groups;
  return verifyStarts(*this, type.getInputs().drop_front(getNumTensors()));
}

//===- Wire.cpp - the form in which ranks exchange an array ------------------===//
//
// int8 and int4: a block of elements shares a scale, the largest magnitude among them divided by
// 127 or 7, and each element is the nearest multiple of it. A block with a NaN or an infinity has a
// scale that is none, so the receiver sees it.
//
//===----------------------------------------------------------------------===//
#include "lib/Shard/Wire.h"
#include <numeric>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;
using lang::Compression;

/// Elements whose largest magnitude is below this are sent as zeros: 1 / scale is finite above it.
static constexpr double kLeastMagnitude = 1e-30;
/// Instead of the elements of a block, where eight of them are a word.
static constexpr llvm::StringLiteral kWords = "wire.words";
static constexpr int64_t kRowOfBF16 = 256; // of a kernel: bf16 has no blocks

namespace {
/// What int8 and int4 differ in.
struct Ints {
  double most;  // magnitude of an element
  int64_t bias; // that makes it no less than zero, so that it has no more bits than these
  bool isPacked;
};
} // namespace

static Ints intsOf(Compression format) {
  return format == Compression::Int4 ? Ints{7, 8, true} : Ints{127, 0, false};
}

bool shard::isOver(const lang::Compress &plan, dist::CollectiveOp op, dist::MeshAttr mesh) {
  return llvm::all_of(dist::axesOf(op.getAxes()), [&](StringAttr axis) {
    return llvm::is_contained(plan.axes, mesh.planAxisOf(axis));
  });
}

DimAttr Wire::dim(StringRef name, int64_t size) {
  return DimAttr::get(b.getContext(), name, size, false);
}

bool Wire::hasBlocksInOrder(Tensor x) {
  if (!op.getDim()) // rows
    return true;
  ArrayRef<DimAttr> before = x.getDims().take_front(x.find(*op.getDim()));
  return llvm::all_of(before, [](DimAttr dim) { return dim.getSize() == 1; });
}

int64_t Wire::blockOf(int64_t elements) const {
  if (plan.format == Compression::BF16)
    return std::gcd(elements, kRowOfBF16);
  return elements % plan.block ? 0 : plan.block;
}

/// x with its last dimension called `last` and of another size and element type.
Value Wire::reshape(Value x, StringRef last, int64_t size, Type element) {
  SmallVector<DimAttr> dims(typeOf(x).getDims().drop_back());
  dims.push_back(dim(last, size));
  return b.create<dist::ReshapeOp>(Tensor::get(b.getContext(), dims, element), x);
}

Value Wire::scaled(Value ints, Value scale, int64_t bias) {
  if (bias)
    ints = b.sub(ints, b.like(ints, bias));
  return b.mul(b.cast(ints, b.getF32Type()), scale);
}

Sent Wire::encodeInts(Value x) {
  Ints form = intsOf(plan.format);
  Value most = b.reduce(ReduceKind::max, b.max(x, b.neg(x)), {kBlock});
  Value scale = b.div(most, b.like(most, form.most));
  Value isSmall = b.compare(CmpKind::lt, most, b.like(most, kLeastMagnitude));
  Value perScale = b.select(isSmall, b.like(most, 0), b.div(b.like(most, form.most), most));
  Value ints = b.cast(b.mul(x, perScale), b.getI8Type());
  if (form.bias)
    ints = b.add(ints, b.like(ints, form.bias));
  Value read = scaled(ints, scale, form.bias);
  if (!form.isPacked)
    return {{ints, scale}, read};
  Value words = reshape(ints, kWords, plan.block / 8, b.getI64Type());
  Value packed = b.create<PackOp>(typeOf(words).withElement(b.getI32Type()), words);
  return {{packed, scale}, read};
}

Sent Wire::encode(Value x) {
  if (plan.format != Compression::BF16)
    return encodeInts(x);
  Value narrow = b.cast(x, b.getBF16Type());
  return {{narrow}, b.cast(narrow, b.getF32Type())};
}

Value Wire::decode(ArrayRef<Value> parts) {
  if (plan.format == Compression::BF16)
    return b.cast(parts[0], b.getF32Type());
  Ints form = intsOf(plan.format);
  Value ints = parts[0];
  if (form.isPacked) {
    Value words = b.create<UnpackOp>(typeOf(ints).withElement(b.getI64Type()), ints);
    ints = reshape(words, kBlock, plan.block, b.getI8Type());
  }
  return scaled(ints, parts[1], form.bias);
}

Value Wire::exchange(Value part, dist::CollectiveKind kind) {
  bool scatters = kind == dist::CollectiveKind::AllToAll;
  SmallVector<DimAttr> dims(typeOf(part).getDims());
  for (DimAttr &each : dims)
    if (each.getName() == kFrom || each.getName() == kTo)
      each = dim(each.getName(), (each.getName() == kFrom) == scatters ? ranks : 1);
  return b.create<dist::CollectiveOp>(
      Tensor::get(b.getContext(), dims, typeOf(part).getElementType()), kind, part, op.getAxes(),
      ReduceKind::sum, b.getStringAttr(scatters ? kFrom : kTo),
      scatters ? b.getStringAttr(kTo) : StringAttr(), DenseI32ArrayAttr());
}

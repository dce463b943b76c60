//===- Kernels/Pairs.cpp - vectors of even columns, then odd ones ---------===//
//
// A word of memory holds two bf16. The even one becomes f32 by a shift, the odd one by
// a mask, and back by a shift and a mask: one instruction for each register of f32,
// where unpacking in order costs two and packing three. Between load and store all
// lanes are alike, so their order does not matter; sums over a row put it right when
// they add.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static Value shuffle(ImplicitLocOpBuilder &b, Value x, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(b, x, x, lanes);
}

/// From the order of memory to that of lanes.
Value Body::inLanes(Value x) {
  if (!plan.evenOdd)
    return x;
  SmallVector<int64_t> from;
  for (int64_t l = 0; l < plan.lanes; ++l)
    from.push_back(plan.columnOf(l));
  return shuffle(b, x, from);
}

Value Body::inOrder(Value x) {
  if (!plan.evenOdd)
    return x;
  SmallVector<int64_t> from(plan.lanes);
  for (int64_t l = 0; l < plan.lanes; ++l)
    from[plan.columnOf(l)] = l;
  return shuffle(b, x, from);
}

Value Body::loadAs(Value memref, Value at, Type element, Type as) {
  if (!plan.evenOdd || !element.isBF16() || !as.isF32())
    return widen(load(memref, at, element, width), as);
  auto words = VectorType::get({plan.lanes / 2}, b.getI32Type());
  auto number = [&](int32_t n) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(words, n));
  };
  Value pairs = vector::BitCastOp::create(b, words, loadRun(memref, at, element, width));
  Value even = arith::ShLIOp::create(b, pairs, number(16));
  Value odd = arith::AndIOp::create(b, pairs, number(-65536));
  auto wide = words.clone(b.getF32Type());
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, plan.lanes));
  return vector::ShuffleOp::create(b, arith::BitcastOp::create(b, wide, even),
                                   arith::BitcastOp::create(b, wide, odd), all);
}

Value Body::widen(Value x, Type as) {
  auto type = cast<VectorType>(x.getType());
  return type.getElementType() == as ? x : arith::ExtFOp::create(b, type.clone(as), x).getResult();
}

/// A vector of f32 as bf16 in the order of memory.
Value Body::narrowPairs(Value x) {
  int64_t half = plan.lanes / 2;
  auto words = VectorType::get({half}, b.getI32Type());
  auto part = [&](int64_t from) -> Value {
    Value y = vector::ExtractStridedSliceOp::create(b, x, ArrayRef<int64_t>{from},
                                                    ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
    y = arith::TruncFOp::create(b, words.clone(b.getBF16Type()), y);
    y = arith::BitcastOp::create(b, words.clone(b.getI16Type()), y);
    return arith::ExtUIOp::create(b, words, y);
  };
  Value sixteen = arith::ConstantOp::create(b, DenseElementsAttr::get(words, int32_t(16)));
  Value pairs = arith::OrIOp::create(b, part(0), arith::ShLIOp::create(b, part(half), sixteen));
  return vector::BitCastOp::create(b, VectorType::get({plan.lanes}, b.getBF16Type()), pairs);
}

// A tail is in the order of memory, which it does not fill.
Value Body::loadSum(Value memref, Value at, Type element) {
  return width == plan.lanes ? loadRun(memref, at, element, width)
                             : load(memref, at, element, width);
}

void Body::storeSum(Value memref, Value at, Value x) {
  if (width == plan.lanes)
    storeRun(memref, at, x, width, /*streams=*/false);
  else
    store(memref, at, x, width);
}

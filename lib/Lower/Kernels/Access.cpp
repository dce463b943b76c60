//===- Kernels/Access.cpp - loads and stores of a kernel's operands -------===//
//
// Contiguous along the columns: vector loads and stores; anything else: gathers
// with an offset per lane. A tail is loaded and stored at its own odd width and
// computed at full width.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "lib/Lower/Kernels/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// sum + the weighted indices; null stands for zero.
Value Body::weigh(ValueRange indices, ArrayRef<int64_t> strides, Value sum) {
  for (auto [i, stride] : llvm::zip(indices, strides)) {
    if (!stride)
      continue;
    Value term = stride == 1 ? Value(i) : arith::MulIOp::create(b, i, index(stride)).getResult();
    sum = sum ? arith::AddIOp::create(b, sum, term).getResult() : term;
  }
  return sum;
}

/// Where the id leads: below zero (padding) to element 0, so that reads stay
/// inside; what they read becomes zero, and scatters skip such rows.
Value Body::idScalar(const OperandPlan &o) {
  if (!scalars.count(o.id))
    evaluateScalar(o.id);
  Value id = arith::IndexCastOp::create(b, b.getIndexType(), scalar(o.id));
  id = arith::MaxSIOp::create(b, id, index(0));
  return arith::MulIOp::create(b, id, index(o.idStride));
}

/// Offset of the operand's element at the row and column 0; without the id where
/// each column has its own.
Value Body::rowOffset(const OperandPlan &o) {
  Value sum = weigh(rowIndex, o.strides.rows, nullptr);
  if (o.id && !(plan.at(o.id).rate & PerColumn)) {
    Value id = idScalar(o);
    sum = sum ? arith::AddIOp::create(b, sum, id).getResult() : id;
  }
  if (o.taskStride)
    sum = weigh(ValueRange{task}, o.taskStride, sum);
  if (layer)
    sum = weigh(ValueRange{layer}, o.layerStride, sum);
  return sum ? sum : index(0);
}

/// The same at the first lane.
Value Body::offset(const OperandPlan &o) {
  Value at = rowOffset(o);
  return col && o.strides.alongCols() ? weigh(colIndex, o.strides.cols, at) : at;
}

Body::Layout Body::layout(const Strides &s) const {
  if (!s.alongCols())
    return Layout::Splat;
  int64_t run = 1, contiguous = 0;
  for (auto [size, stride] : llvm::zip(llvm::reverse(plan.cols), llvm::reverse(s.cols))) {
    if (stride)
      break;
    run *= size;
  }
  if (run > 1)
    return run % plan.lanes ? Layout::Scattered : Layout::Splat;
  // Inner loops that the operand walks element by element, as one.
  for (auto [size, stride] : llvm::zip(llvm::reverse(plan.cols), llvm::reverse(s.cols))) {
    if (stride != run)
      break;
    run *= size, ++contiguous;
  }
  bool whole = contiguous == static_cast<int64_t>(plan.cols.size());
  if (whole || (contiguous && run % plan.lanes == 0))
    return Layout::Contiguous;
  return Layout::Scattered;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Weighted indices of the column loops in each lane.
Value Body::laneOffsets(ArrayRef<int64_t> strides, Type element) {
  Type unit = element ? element : b.getIndexType();
  auto type = VectorType::get({plan.lanes}, unit);
  auto constant = [&](int64_t i) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(unit, i)));
  };
  SmallVector<Attribute> numbers;
  for (int64_t l = 0; l < plan.lanes; ++l)
    numbers.push_back(b.getIntegerAttr(unit, plan.columnOf(l)));
  Value steps = arith::ConstantOp::create(b, DenseElementsAttr::get(type, numbers));
  Value first = element ? arith::IndexCastOp::create(b, element, col).getResult() : col;
  Value rest = arith::AddIOp::create(b, splat(first, plan.lanes), steps), sum;
  for (unsigned i = strides.size(); i-- > 0;) {
    Value here = rest;
    if (i > 0) {
      here = arith::RemUIOp::create(b, rest, constant(plan.cols[i]));
      rest = arith::DivUIOp::create(b, rest, constant(plan.cols[i]));
    }
    if (!strides[i])
      continue;
    if (strides[i] != 1)
      here = arith::MulIOp::create(b, here, constant(strides[i]));
    sum = sum ? arith::AddIOp::create(b, sum, here).getResult() : here;
  }
  return sum ? sum : constant(0);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value Body::fromMemory(Value x, Type element) {
  if (!element.isInteger(1))
    return x;
  TypedAttr zero = b.getI8IntegerAttr(0);
  if (auto vec = dyn_cast<VectorType>(x.getType()))
    zero = DenseElementsAttr::get(vec, zero);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, arith::ConstantOp::create(b, zero));
}

/// What loads and stores may count on, where it is more than an element.
llvm::MaybeAlign Body::alignment(Type element, int64_t w) const {
  if (!plan.alignedVectors || w != plan.lanes)
    return {};
  return llvm::MaybeAlign(std::min<int64_t>(16, w * nn::elementBytes(element)));
}

/// In the order of memory, as memory holds it.
Value Body::loadRun(Value memref, Value at, Type element, int64_t w) {
  auto part = VectorType::get({w}, element);
  Value x = vector::LoadOp::create(b, part, memref, ValueRange{at}, /*nontemporal=*/false,
                                   alignment(element, w));
  if (w == plan.lanes)
    return x;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({plan.lanes}, element)));
  return vector::InsertStridedSliceOp::create(b, x, zero, ArrayRef<int64_t>{0},
                                              ArrayRef<int64_t>{1});
}

Value Body::load(Value memref, Value at, Type element, int64_t w) {
  return fromMemory(inLanes(loadRun(memref, at, stored(element), w)), element);
}

void Body::storeRun(Value memref, Value at, Value x, int64_t w, bool streams) {
  auto type = cast<VectorType>(x.getType());
  Type element = type.getElementType();
  if (w != type.getNumElements())
    x = vector::ExtractStridedSliceOp::create(b, x, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{w},
                                              ArrayRef<int64_t>{1});
  llvm::MaybeAlign align = alignment(element, w);
  if (streams)
    align = llvm::MaybeAlign(w * nn::elementBytes(element));
  vector::StoreOp::create(b, x, memref, ValueRange{at}, streams, align);
}

void Body::store(Value memref, Value at, Value x, int64_t w, bool streams) {
  auto type = cast<VectorType>(x.getType());
  auto rounded = x.getDefiningOp<arith::TruncFOp>();
  bool pairs = plan.evenOdd && rounded && type.getElementType().isBF16() &&
               getElementTypeOrSelf(rounded.getIn()).isF32();
  if (type.getElementType().isInteger(1))
    x = arith::ExtUIOp::create(b, VectorType::get(type.getShape(), b.getI8Type()), x);
  storeRun(memref, at, pairs ? narrowPairs(rounded.getIn()) : inOrder(x), w, streams);
}

Value Body::gather(unsigned number, Value at, Value lanes) {
  Type element = plan.operands[number].type.getElementType();
  auto type = VectorType::get({plan.lanes}, stored(element));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value x =
      vector::GatherOp::create(b, type, memory[number], ValueRange{at}, lanes, laneMask(), none);
  return fromMemory(x, element);
}

/// What a gather reads by an id below zero is zero, as its gradient is.
Value Body::zeroWithoutId(const OperandPlan &o, Value x) {
  if (!o.id)
    return x;
  bool perLane = plan.at(o.id).rate & PerColumn;
  Value id = perLane ? vector(o.id) : scalar(o.id);
  auto zero = [&](Type type) { return arith::ConstantOp::create(b, b.getZeroAttr(type)); };
  Value used =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, id, zero(id.getType()).getResult());
  return arith::SelectOp::create(b, used, x, zero(x.getType()));
}

Value Body::loadScalar(unsigned number) {
  return zeroWithoutId(plan.operands[number], loadScalarAnyId(number));
}

/// The operand as another type of float.
Value Body::loadVector(unsigned number, Type as) {
  return zeroWithoutId(plan.operands[number], loadVectorAnyId(number, as));
}

Value Body::loadScalarAnyId(unsigned number) {
  const OperandPlan &o = plan.operands[number];
  Value at = offset(o), first;
  if (o.half) {
    first = inFirstHalf(o, weigh(rowIndex, o.along.rows, nullptr));
    at = arith::AddIOp::create(b, at, stepByHalf(o, first));
  }
  Value x = memref::LoadOp::create(b, memory[number], ValueRange{at});
  x = fromMemory(x, o.type.getElementType());
  return o.half ? turn(o, x, first) : x;
}

Value Body::loadVectorAnyId(unsigned number, Type as) {
  const OperandPlan &o = plan.operands[number];
  Type element = o.type.getElementType();
  Value at = offset(o);
  if (o.half)
    return loadByHalf(number, at, as);
  if (o.id && (plan.at(o.id).rate & PerColumn)) {
    auto indices = VectorType::get({plan.lanes}, b.getIndexType());
    Value ids = arith::IndexCastOp::create(b, indices, vector(o.id));
    ids = arith::MaxSIOp::create(b, ids, splat(index(0), plan.lanes));
    Value lanes = arith::MulIOp::create(b, ids, splat(index(o.idStride), plan.lanes));
    // The lanes' own columns count from column 0, the offset from the first
    // lane.
    Value base = weigh(rowIndex, o.strides.rows, nullptr);
    lanes = arith::AddIOp::create(b, lanes, laneOffsets(o.strides.cols));
    return widen(gather(number, base ? base : index(0), lanes), as);
  }
  switch (layout(o.strides)) {
  case Layout::Splat: {
    Value x = memref::LoadOp::create(b, memory[number], ValueRange{at});
    return widen(splat(fromMemory(x, element), plan.lanes), as);
  }
  case Layout::Contiguous:
    return loadAs(memory[number], at, element, as);
  case Layout::Scattered:
    break;
  }
  return widen(gather(number, rowOffset(o), laneOffsets(o.strides.cols)), as);
}

//===----------------------------------------------------------------------===//
// Halves of a loop: turned, or one memory for both
//===----------------------------------------------------------------------===//

Value Body::flipSign(Value x, Value negate) {
  auto element = cast<FloatType>(getElementTypeOrSelf(x.getType()));
  Type bits = b.getIntegerType(element.getWidth());
  APInt sign = APInt::getSignMask(element.getWidth());
  bool onVectors = isa<VectorType>(x.getType());
  auto shaped = [&](Type t) -> Type { return onVectors ? VectorType::get({plan.lanes}, t) : t; };
  Value set = arith::ConstantOp::create(b, b.getIntegerAttr(bits, sign));
  Value clear = arith::ConstantOp::create(b, b.getIntegerAttr(bits, 0));
  if (isa<VectorType>(negate.getType()))
    set = splat(set, plan.lanes), clear = splat(clear, plan.lanes);
  Value mask = arith::SelectOp::create(b, negate, set, clear);
  if (onVectors && !isa<VectorType>(negate.getType()))
    mask = splat(mask, plan.lanes);
  Value flipped = arith::XOrIOp::create(b, arith::BitcastOp::create(b, shaped(bits), x), mask);
  return arith::BitcastOp::create(b, shaped(element), flipped);
}

/// Whether the loop is in its first half, at an index of it or at one in each lane; null is zero.
Value Body::inFirstHalf(const OperandPlan &o, Value i) {
  Value half = index(o.half);
  if (i && isa<VectorType>(i.getType()))
    half = splat(half, plan.lanes);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, i ? i : index(0), half);
}

/// From the loops' own place to where the element lies: in the other half where it is turned, in
/// the first where both are one.
Value Body::stepByHalf(const OperandPlan &o, Value first) {
  Value forth = index(o.isRepeat() ? 0 : o.half), back = index(-o.half);
  if (isa<VectorType>(first.getType()))
    forth = splat(forth, plan.lanes), back = splat(back, plan.lanes);
  return arith::SelectOp::create(b, first, forth, back);
}

/// The sign that a turned element has.
Value Body::turn(const OperandPlan &o, Value x, Value first) {
  if (o.isRepeat())
    return x;
  if (!o.access.getBy())
    return flipSign(x, first);
  Value one = arith::ConstantIntOp::create(b, 1, 1);
  if (isa<VectorType>(first.getType()))
    one = splat(one, plan.lanes);
  return flipSign(x, arith::XOrIOp::create(b, first, one));
}

Value Body::loadByHalf(unsigned number, Value at, Type as) {
  const OperandPlan &o = plan.operands[number];
  bool whole = o.half % plan.lanes == 0; // a vector never crosses the middle
  if (whole || !o.along.alongCols()) {
    Value first = inFirstHalf(o, weigh(colIndex, o.along.cols, weigh(rowIndex, o.along.rows, {})));
    Value from = arith::AddIOp::create(b, at, stepByHalf(o, first));
    Value x;
    if (layout(o.strides) == Layout::Contiguous)
      x = loadAs(memory[number], from, o.type.getElementType(), as);
    else
      x = widen(gather(number,
                       arith::SubIOp::create(b, from, weigh(colIndex, o.strides.cols, nullptr)),
                       laneOffsets(o.strides.cols)),
                as);
    return turn(o, x, first);
  }
  Value first = inFirstHalf(o, laneOffsets(o.along.cols));
  Value lanes = arith::AddIOp::create(b, laneOffsets(o.strides.cols), stepByHalf(o, first));
  return turn(o, widen(gather(number, rowOffset(o), lanes), as), first);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void Body::storeVector(unsigned output, Value x) {
  const OperandPlan &o = plan.output(output);
  unsigned number = plan.numInputs() + output;
  Type element = o.type.getElementType();
  if (o.isScatter()) {
    Value id = scalar(o.id);
    Value zero = arith::ConstantIntOp::create(b, 0, 32);
    Value used = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, id, zero);
    auto branch = scf::IfOp::create(b, used, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value at = offset(o);
    Value old = load(memory[number], at, element, width);
    if (nn::isNarrow(element)) {
      auto wide = VectorType::get({plan.lanes}, b.getF32Type());
      Value sum = arith::AddFOp::create(b, arith::ExtFOp::create(b, wide, old),
                                        arith::ExtFOp::create(b, wide, x));
      x = arith::TruncFOp::create(b, x.getType(), sum);
    } else {
      x = arith::AddFOp::create(b, old, x);
    }
    store(memory[number], at, x, width);
    return;
  }
  if (layout(o.strides) == Layout::Contiguous)
    return store(memory[number], offset(o), x, width, o.streams);
  if (element.isInteger(1))
    x = arith::ExtUIOp::create(b, VectorType::get({plan.lanes}, b.getI8Type()), x);
  vector::ScatterOp::create(b, Type(), memory[number], ValueRange{rowOffset(o)},
                            laneOffsets(o.strides.cols), laneMask(), x);
}

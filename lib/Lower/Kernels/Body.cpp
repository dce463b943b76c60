//===- Kernels/Body.cpp - values of a kernel's body at a place in the loops ===//
//
// Order: places, scalars, vectors, stores. What touches memory with strides is
// in Access.cpp.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

Type lower::stored(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

MemRefType lower::memoryOf(nn::Tensor type) {
  return MemRefType::get({std::max<int64_t>(1, type.getNumElements())},
                         stored(type.getElementType()));
}

SmallVector<Value> lower::delinearise(ImplicitLocOpBuilder &b, Value flat,
                                      ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  Value rest = flat;
  for (unsigned i = sizes.size(); i-- > 0;) {
    if (i == 0) {
      indices[0] = rest;
      break;
    }
    Value size = arith::ConstantIndexOp::create(b, sizes[i]);
    indices[i] = arith::RemUIOp::create(b, rest, size);
    rest = arith::DivUIOp::create(b, rest, size);
  }
  return indices;
}

Body::Body(ImplicitLocOpBuilder &b, const KernelPlan &plan, ValueRange memory, Value task)
    : b(b), plan(plan), memory(memory), task(task) {}

Value Body::index(int64_t i) { return arith::ConstantIndexOp::create(b, i); }

void Body::atRow(Value row) { rowIndex = delinearise(b, row, plan.rows); }

void Body::atColumn(Value c, int64_t w) {
  col = c, width = w;
  colIndex = delinearise(b, c, plan.cols);
  vectors.clear();
  if (!staysInSegment)
    segments.clear();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

void Body::evaluateScalar(Value v) {
  if (auto arg = dyn_cast<BlockArgument>(v))
    scalars[v] = loadScalar(arg.getArgNumber());
  else
    for (unsigned i = 0; i < v.getDefiningOp()->getNumResults(); ++i)
      clone(v.getDefiningOp(), i, false);
}

void Body::scalarsOfRate(unsigned rate, unsigned pass) {
  auto visit = [&](Value v) {
    const ValuePlan &p = plan.at(v);
    Operation *op = v.getDefiningOp();
    bool reduction = isa_and_nonnull<rt::RowReduceOp, rt::SegmentReduceOp, rt::ColReduceOp>(op);
    if (p.rate == rate && p.pass == pass && !p.final && !reduction && !scalars.count(v))
      evaluateScalar(v);
  };
  for (BlockArgument arg : plan.block().getArguments())
    visit(arg);
  for (Operation &op : plan.block().without_terminator())
    for (Value v : op.getResults())
      visit(v);
}

void Body::finalScalars() {
  for (Operation &op : plan.block().without_terminator())
    for (Value v : op.getResults()) {
      const ValuePlan &p = plan.at(v);
      if (p.final && p.rate == Uniform && !scalars.count(v) && !isa<rt::ColReduceOp>(op))
        evaluateScalar(v);
    }
}

/// The op on scalars or on vectors; all of its results become known.
Value Body::clone(Operation *op, unsigned result, bool onVectors) {
  auto &known = onVectors ? vectors : scalars;
  if (isa<rt::PositionOp>(op))
    return known[op->getResult(0)] = position(op, onVectors);
  auto shape = [&](Type t) -> Type { return onVectors ? VectorType::get({plan.lanes}, t) : t; };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    TypedAttr value = constant.getValue();
    if (onVectors)
      value = DenseElementsAttr::get(cast<VectorType>(shape(constant.getType())), value);
    return known[op->getResult(0)] = arith::ConstantOp::create(b, value);
  }
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, onVectors ? vector(operand) : scalar(operand));
  Operation *copy = b.clone(*op, map);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults())) {
    to.setType(shape(from.getType()));
    known[from] = to;
  }
  return known[op->getResult(result)];
}

Value Body::position(Operation *op, bool onVectors) {
  const Strides &s = plan.positions.find(op)->second;
  Value at = weigh(rowIndex, s.rows, nullptr);
  Type i32 = b.getI32Type();
  if (!onVectors)
    return arith::IndexCastOp::create(b, i32, at ? at : index(0));
  Value lanes = laneOffsets(s.cols, i32);
  if (at)
    lanes =
        arith::AddIOp::create(b, lanes, splat(arith::IndexCastOp::create(b, i32, at), plan.lanes));
  return lanes;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Body::splat(Value x, int64_t n) {
  return vector::BroadcastOp::create(b, VectorType::get({n}, x.getType()), x);
}

Value Body::inSegment(Value v) {
  if (!plan.at(v).inSegment)
    return scalar(v);
  if (Value known = segments.lookup(v))
    return known;
  if (auto arg = dyn_cast<BlockArgument>(v))
    return segments[v] = loadScalar(arg.getArgNumber());
  Operation *op = v.getDefiningOp();
  if (auto reduce = dyn_cast<rt::SegmentReduceOp>(op))
    return segments[v] = foldSegment(*this, reduce.getKind(), vector(reduce.getX()));
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, inSegment(operand));
  Operation *copy = b.clone(*op, map);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    segments[from] = to;
  return segments.lookup(v);
}

Value Body::vector(Value v) {
  if (Value known = vectors.lookup(v))
    return known;
  if (plan.at(v).inSegment)
    return vectors[v] = splat(inSegment(v), plan.lanes);
  if (Value known = scalars.lookup(v))
    return vectors[v] = splat(known, plan.lanes);
  if (Value kept = buffers.lookup(v))
    return vectors[v] = loadSum(kept, col, v.getType());
  if (auto arg = dyn_cast<BlockArgument>(v))
    return vectors[v] = loadVector(arg.getArgNumber(), v.getType());
  // Widened where it is loaded, unless the narrow value is there already.
  if (auto wide = v.getDefiningOp<arith::ExtFOp>(); wide && plan.evenOdd)
    if (auto arg = dyn_cast<BlockArgument>(wide.getIn()))
      if (!vectors.count(arg) && !scalars.count(arg))
        return vectors[v] = loadVector(arg.getArgNumber(), v.getType());
  return clone(v.getDefiningOp(), cast<OpResult>(v).getResultNumber(), true);
}

Value Body::neutral(nn::ReduceKind kind, Type type) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  APFloat zero = APFloat::getZero(element.getFloatSemantics());
  APFloat least = APFloat::getInf(element.getFloatSemantics(), /*Negative=*/true);
  TypedAttr value = b.getFloatAttr(element, kind == nn::ReduceKind::sum ? zero : least);
  if (auto vec = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vec, value);
  return arith::ConstantOp::create(b, value);
}

/// A maximum keeps a NaN from either side; two instructions beside the compare,
/// where arith.maximumf also orders the zeros.
Value Body::combine(nn::ReduceKind kind, Value acc, Value x) {
  if (kind == nn::ReduceKind::sum)
    return arith::AddFOp::create(b, acc, x);
  Value more = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, acc);
  Value larger = arith::SelectOp::create(b, more, x, acc);
  Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(b, nan, x, larger);
}

Value Body::laneMask() {
  SmallVector<bool> bits(plan.lanes);
  for (int64_t i = 0; i < plan.lanes; ++i)
    bits[i] = plan.columnOf(i) < width;
  auto type = VectorType::get({plan.lanes}, b.getI1Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<bool>(bits)));
}

Value Body::maskTail(nn::ReduceKind kind, Value x) {
  if (width == plan.lanes)
    return x;
  return arith::SelectOp::create(b, laneMask(), x, neutral(kind, x.getType()));
}

Value Body::buffer(Type element, int64_t size) {
  // On the stack of the task, at the entry: never inside a loop.
  OpBuilder::InsertionGuard guard(b);
  Block *entry = cast<BlockArgument>(task).getOwner();
  b.setInsertionPointToStart(entry);
  auto type = MemRefType::get({size}, stored(element));
  return memref::AllocaOp::create(b, type, b.getI64IntegerAttr(64));
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void Body::accumulate(nn::ReduceKind kind, Value memref, Value at, Value x) {
  Type element = cast<VectorType>(x.getType()).getElementType();
  Value old = loadSum(memref, at, element);
  storeSum(memref, at, combine(kind, old, x));
}

void Body::storeScalar(unsigned output, Value x) {
  const OperandPlan &o = plan.output(output);
  if (x.getType().isInteger(1))
    x = arith::ExtUIOp::create(b, b.getI8Type(), x);
  memref::StoreOp::create(b, x, memory[plan.numInputs() + output], ValueRange{offset(o)});
}

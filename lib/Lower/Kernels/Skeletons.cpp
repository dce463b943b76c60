//===- Kernels/Skeletons.cpp - loops and ranges that the skeletons share --===//
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

Value lower::runTimeRows(Body &body, Value count) {
  auto &b = body.b;
  Value n = memref::LoadOp::create(b, count, ValueRange{body.index(0)});
  Value rows = arith::IndexCastOp::create(b, b.getIndexType(), n);
  rows = arith::MulIOp::create(b, rows, body.index(body.plan.boundedRows));
  return arith::MinSIOp::create(b, rows, body.index(body.plan.numRows));
}

Values lower::loop(Body &outer, Value from, Value to, int64_t by, ValueRange init,
                   function_ref<Values(Body &, Value, ValueRange)> step) {
  auto &b = outer.b;
  auto loop = scf::ForOp::create(b, from, to, outer.index(by), init,
                                 [&](OpBuilder &, Location, Value i, ValueRange carried) {
                                   Body inner = outer;
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(cast<BlockArgument>(i).getOwner());
                                   scf::YieldOp::create(b, step(inner, i, carried));
                                 });
  return Values(loop.getResults());
}

Values lower::forColumns(Body &outer, ValueRange init, Step step) {
  int64_t cols = outer.plan.numCols, lanes = outer.plan.lanes, whole = cols - cols % lanes;
  Values carried(init);
  auto at = [&](Body &body, Value c, int64_t width, ValueRange carried) {
    body.atColumn(c, width);
    return step(body, carried);
  };
  if (whole == lanes) {
    Body inner = outer;
    carried = at(inner, outer.index(0), lanes, carried);
  } else if (whole) {
    carried = loop(outer, outer.index(0), outer.index(whole), lanes, carried,
                   [&](Body &b, Value c, ValueRange v) { return at(b, c, lanes, v); });
  }
  if (whole == cols)
    return carried;
  Body inner = outer;
  return at(inner, outer.index(whole), cols - whole, carried);
}

Span lower::taskRows(Body &body, Value rowCount) {
  auto &b = body.b;
  const KernelPlan &plan = body.plan;
  auto min = [&](Value x) -> Value {
    return arith::MinSIOp::create(b, x, rowCount ? rowCount : body.index(plan.numRows));
  };
  if (plan.tasks == 1)
    return {body.index(0), min(body.index(plan.numRows))};
  int64_t loops = const_cast<rt::KernelOp &>(plan.op).getNumRows();
  if (plan.numRows != loops) { // a row loop became the columns: the tasks share what is left
    Value n = body.index(plan.numRows), tasks = body.index(plan.tasks);
    auto bound = [&](Value t) -> Value {
      return arith::DivUIOp::create(b, arith::MulIOp::create(b, t, n), tasks);
    };
    return {bound(body.task), bound(arith::AddIOp::create(b, body.task, body.index(1)))};
  }
  Value from = arith::MulIOp::create(b, body.task, body.index(plan.grain));
  Value to = arith::AddIOp::create(b, from, body.index(plan.grain));
  if (!rowCount && plan.grain * plan.tasks == plan.numRows)
    return {from, to};
  return {min(from), min(to)};
}

Span lower::taskColumns(Body &body) {
  auto &b = body.b;
  const KernelPlan &plan = body.plan;
  if (plan.tasks == 1)
    return {body.index(0), body.index(plan.numCols)};
  // A map over all loops counts its grain in rows.
  int64_t grain = plan.grain;
  auto op = const_cast<rt::KernelOp &>(plan.op);
  if (op.getSkeleton() != rt::Skeleton::Column)
    grain *= op.getNumCols();
  if (grain % plan.lanes == 0 && grain * plan.tasks == plan.numCols) {
    Value from = arith::MulIOp::create(b, body.task, body.index(grain));
    return {from, arith::AddIOp::create(b, from, body.index(grain))};
  }
  auto bound = [&](Value t) -> Value {
    Value at = arith::MulIOp::create(b, t, body.index(grain));
    at = arith::AddIOp::create(b, at, body.index(plan.lanes - 1));
    at = arith::AndIOp::create(b, at, body.index(-plan.lanes));
    return arith::MinSIOp::create(b, at, body.index(plan.numCols));
  };
  return {bound(body.task), bound(arith::AddIOp::create(b, body.task, body.index(1)))};
}

void lower::forRange(Body &outer, Span range, int64_t unroll,
                     function_ref<void(Body &, ArrayRef<Value>, int64_t)> step) {
  auto &b = outer.b;
  int64_t lanes = outer.plan.lanes, cols = outer.plan.numCols, tail = cols % lanes;
  auto vectors = [&](Value from, Value to, int64_t n) {
    loop(outer, from, to, n * lanes, {}, [&](Body &inner, Value c, ValueRange) {
      Values starts;
      for (int64_t i = 0; i < n; ++i)
        starts.push_back(i ? arith::AddIOp::create(b, c, inner.index(i * lanes)).getResult() : c);
      step(inner, starts, lanes);
      return Values();
    });
  };
  Value whole =
      tail ? arith::MinSIOp::create(b, range.to, outer.index(cols - tail)).getResult() : range.to;
  if (unroll > 1 && cols >= unroll * lanes) {
    Value length = arith::SubIOp::create(b, whole, range.from);
    length = arith::MaxSIOp::create(b, length, outer.index(0));
    Value rest = arith::RemUIOp::create(b, length, outer.index(unroll * lanes));
    Value middle = arith::SubIOp::create(b, arith::AddIOp::create(b, range.from, length), rest);
    vectors(range.from, middle, unroll);
    range.from = middle;
  }
  if (cols >= lanes)
    vectors(range.from, whole, 1);
  if (!tail)
    return;
  Value last = outer.index(cols - tail);
  Value mine = arith::AndIOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, range.from, last),
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, last, range.to));
  auto branch = scf::IfOp::create(b, mine, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Body inner = outer;
  step(inner, {last}, tail);
}

/// The machine's max knows no NaN: any lane that is one is found beside it.
Value lower::foldMaximum(Body &body, Value acc, Value nans) {
  auto &b = body.b;
  auto type = cast<FloatType>(getElementTypeOrSelf(acc));
  Value most = vector::ReductionOp::create(b, type, vector::CombiningKind::MAXNUMF, acc,
                                           /*acc=*/Value(), arith::FastMathFlags::nnan);
  Value any =
      vector::ReductionOp::create(b, b.getI1Type(), vector::CombiningKind::OR, nans, Value());
  Value nan =
      arith::ConstantOp::create(b, b.getFloatAttr(type, APFloat::getNaN(type.getFloatSemantics())));
  return arith::SelectOp::create(b, any, nan, most);
}

Value lower::fold(Body &body, nn::ReduceKind kind, Value acc) {
  auto &b = body.b;
  if (kind == nn::ReduceKind::max)
    return foldMaximum(body, acc, arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, acc, acc));
  int64_t n = cast<VectorType>(acc.getType()).getNumElements();
  auto half = [&](int64_t from, int64_t size) -> Value {
    return vector::ExtractStridedSliceOp::create(b, acc, ArrayRef<int64_t>{from},
                                                 ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
  };
  for (n /= 2; n; n /= 2)
    acc = arith::AddFOp::create(b, half(0, n), half(n, n));
  return vector::ExtractOp::create(b, acc, ArrayRef<int64_t>{0});
}

/// Whether an output has an element for each segment.
static bool isOfSegments(const KernelPlan &plan, unsigned i) {
  return plan.at(plan.yielded(i)).inSegment && plan.output(i).strides.cols.back() == 0;
}

void lower::storeElements(Body &body) {
  const KernelPlan &plan = body.plan;
  SmallVector<std::pair<unsigned, Value>> writes;
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (plan.writesElements(i))
      writes.push_back({i, isOfSegments(plan, i) ? body.inSegment(plan.yielded(i))
                                                 : body.vector(plan.yielded(i))});
  for (auto [i, x] : writes)
    if (isOfSegments(plan, i))
      body.storeScalar(i, x);
    else
      body.storeVector(i, x);
}

/// A page ahead, where the hardware's own prefetch ends. No bits depend on it.
static constexpr int64_t kAheadBytes = 4096;

void lower::prefetchAhead(Body &body) {
  const KernelPlan &plan = body.plan;
  if (body.width < plan.lanes)
    return;
  for (unsigned i = 0; i < plan.numInputs(); ++i) {
    const OperandPlan &o = plan.operands[i];
    bool oneRowAfterTheOther = !o.strides.rows.empty() && o.strides.rows.back() == plan.numCols;
    if (o.id || o.half || o.type.getBytes() < kStreamBytes || !oneRowAfterTheOther ||
        body.layout(o.strides) != Body::Layout::Contiguous)
      continue;
    int64_t ahead = kAheadBytes / nn::elementBytes(o.type.getElementType());
    Value there = arith::AddIOp::create(body.b, body.offset(o), body.index(ahead));
    memref::PrefetchOp::create(body.b, body.memory[i], ValueRange{there}, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
}

SmallVector<unsigned> lower::scalarOutputs(const KernelPlan &plan, bool final) {
  SmallVector<unsigned> found;
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (!plan.output(i).strides.alongCols() && !plan.writesElements(i) &&
        plan.at(plan.yielded(i)).final == final)
      found.push_back(i);
  return found;
}

void lower::storeScalars(Body &body, bool final) {
  for (unsigned i : scalarOutputs(body.plan, final))
    body.storeScalar(i, body.scalar(body.plan.yielded(i)));
}

void lower::storeSums(Body &body) {
  const KernelPlan &plan = body.plan;
  SmallVector<std::pair<unsigned, Value>> writes;
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (plan.at(plan.yielded(i)).final)
      writes.push_back({i, body.vector(plan.yielded(i))});
  for (auto [i, x] : writes) {
    if (plan.output(i).strides.alongCols()) {
      body.storeVector(i, x);
      continue;
    }
    // The same in every column: the first one writes it.
    auto &b = body.b;
    Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, body.col, body.index(0));
    auto branch = scf::IfOp::create(b, first, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body.storeScalar(i, vector::ExtractOp::create(b, x, ArrayRef<int64_t>{0}));
  }
}

//===- Kernels/Row.cpp - reductions along a row, sums over a task's rows --===//
//
// A row is read once per pass: every pass but the last ends in reductions, the
// last writes elements. Sums over the task's rows stay in its row of the output
// (a few kB, in the nearest cache), scalars in registers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
/// A sum over the task's rows of values along the columns.
struct ColumnSum {
  rt::ColReduceOp op;
  Value memory, offset; ///< where its element of column 0 is
};

class RowEmitter {
public:
  RowEmitter(Body &body) : body(body), plan(body.plan), b(body.b) {}
  LogicalResult run(Value rowCount);

private:
  LogicalResult findSums();
  void clear(ColumnSum &sum);
  Values row(Body &at, ValueRange carried);
  Values overlappedRows(Span rows, Values init);
  Values endRow(Body &at, ValueRange carried);
  void pass(Body &at, unsigned number);
  Values segmentsInTurn(Body &at, Values accs, Step step);
  void findSegment(Body &in, Value from, Value to);
  Values neutrals(Body &at, MutableArrayRef<rt::RowReduceOp> reductions);
  Values reduceInto(Body &in, MutableArrayRef<rt::RowReduceOp> reductions, ValueRange carried);
  Values foldAll(Body &at, MutableArrayRef<rt::RowReduceOp> reductions, ValueRange accs);
  void writeElements(Body &in);
  void finish(ValueRange carried);
  void putInOrder(ColumnSum &sum);

  Body &body;
  const KernelPlan &plan;
  ImplicitLocOpBuilder &b;
  SmallVector<ColumnSum> sums;
  SmallVector<rt::ColReduceOp> scalarSums;
  /// Outputs that a sum is kept in.
  llvm::DenseSet<unsigned> direct;
};
} // namespace

/// Rows of a task's sums on its stack, at most.
static constexpr int64_t kBufferBytes = 1 << 20;

std::optional<unsigned> lower::outputOfSum(const KernelPlan &plan, rt::ColReduceOp sum) {
  Strides rowMajor;
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(plan.cols)) {
    rowMajor.cols.insert(rowMajor.cols.begin(), stride);
    stride *= size;
  }
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (plan.yielded(i) == sum.getResult() && plan.output(i).strides.cols == rowMajor.cols)
      return i;
  return std::nullopt;
}

LogicalResult RowEmitter::findSums() {
  for (Operation &o : plan.block())
    if (auto sum = dyn_cast<rt::ColReduceOp>(o)) {
      if (!(plan.at(sum.getX()).rate & PerColumn)) {
        scalarSums.push_back(sum);
        continue;
      }
      ColumnSum s{sum, nullptr, body.index(0)};
      if (std::optional<unsigned> i = outputOfSum(plan, sum)) {
        s.memory = body.memory[plan.numInputs() + *i];
        s.offset = body.offset(plan.output(*i));
        direct.insert(*i);
      } else {
        int64_t bytes = plan.numCols * nn::elementBytes(sum.getType());
        if (bytes > kBufferBytes)
          return sum.emitOpError("keeps sums over rows on the stack, at most 1 MiB; found ")
                 << bytes << " bytes: yield it to an output of its own type";
        s.memory = body.buffer(sum.getType(), plan.numCols);
        body.setBuffer(sum.getResult(), s.memory);
      }
      sums.push_back(s);
    }
  return success();
}

void RowEmitter::clear(ColumnSum &sum) {
  forColumns(body, {}, [&](Body &at, ValueRange) {
    auto type = VectorType::get({plan.lanes}, sum.op.getType());
    Value to = arith::AddIOp::create(b, sum.offset, at.col);
    at.storeSum(sum.memory, to, at.neutral(sum.op.getKind(), type));
    return Values();
  });
}

/// Columns [from, from + n) of a vector; where it holds pairs, even ones first too.
static Value partOf(ImplicitLocOpBuilder &b, Value x, const KernelPlan &plan, int64_t from,
                    int64_t n) {
  SmallVector<int64_t> lanes;
  for (int64_t l = 0; l < plan.lanes; ++l)
    if (int64_t column = plan.columnOf(l); column >= from && column < from + n)
      lanes.push_back(l);
  return vector::ShuffleOp::create(b, x, x, lanes);
}

/// Accumulators in the order of columns.
static Value ascending(ImplicitLocOpBuilder &b, Value acc, const KernelPlan &plan) {
  if (!plan.evenOdd)
    return acc;
  SmallVector<int64_t> lanes;
  int64_t n = cast<VectorType>(acc.getType()).getNumElements();
  for (int64_t i = 0; i < n; ++i)
    lanes.push_back(i % 2 ? n / 2 + i / 2 : i / 2);
  return vector::ShuffleOp::create(b, acc, acc, lanes);
}

/// A maximum carries beside it the lanes that met a NaN: then each element waits for one compare
/// only.
Values RowEmitter::neutrals(Body &at, MutableArrayRef<rt::RowReduceOp> reductions) {
  Values init;
  for (rt::RowReduceOp r : reductions) {
    auto type = VectorType::get({lanesOf(r.getType())}, r.getType());
    init.push_back(at.neutral(r.getKind(), type));
    if (r.getKind() == nn::ReduceKind::max)
      init.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type.clone(b.getI1Type()))));
  }
  return init;
}

/// Folds the columns at which the body stands into the accumulators.
Values RowEmitter::reduceInto(Body &in, MutableArrayRef<rt::RowReduceOp> reductions,
                              ValueRange carried) {
  Values next;
  for (rt::RowReduceOp r : reductions) {
    Value x = in.maskTail(r.getKind(), in.vector(r.getX()));
    int64_t own = lanesOf(r.getType()); // wider than the register: ascending, part by part
    Value acc = carried[next.size()], nans;
    if (r.getKind() == nn::ReduceKind::max)
      nans = carried[next.size() + 1];
    for (int64_t from = 0; from < plan.lanes; from += own) {
      Value part = own == plan.lanes ? x : partOf(b, x, plan, from, own);
      if (!nans) {
        acc = in.combine(r.getKind(), acc, part);
        continue;
      }
      Value more = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, part, acc);
      acc = arith::SelectOp::create(b, more, part, acc);
      Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, part, part);
      nans = arith::OrIOp::create(b, nans, nan);
    }
    next.push_back(acc);
    if (nans)
      next.push_back(nans);
  }
  return next;
}

/// The results, from the accumulators of a whole row.
Values RowEmitter::foldAll(Body &at, MutableArrayRef<rt::RowReduceOp> reductions, ValueRange accs) {
  unsigned n = 0;
  Values results;
  for (rt::RowReduceOp r : reductions) {
    Value acc = accs[n++];
    if (r.getKind() == nn::ReduceKind::max)
      results.push_back(foldMaximum(at, acc, accs[n++]));
    else
      results.push_back(fold(at, r.getKind(), ascending(b, acc, plan)));
  }
  return results;
}

/// One way through the row: reductions of values of this pass, elements in the last.
void RowEmitter::pass(Body &at, unsigned number) {
  SmallVector<rt::RowReduceOp> reductions = plan.reductionsOf(number);
  auto step = [&](Body &in, ValueRange carried) {
    Values next = reduceInto(in, reductions, carried);
    if (number == plan.elementPass)
      writeElements(in);
    return next;
  };
  bool bySegment = plan.segment > plan.lanes && number == plan.elementPass;
  Values accs = bySegment ? segmentsInTurn(at, neutrals(at, reductions), step)
                          : forColumns(at, neutrals(at, reductions), step);
  Values results = foldAll(at, reductions, accs);
  for (auto [r, x] : llvm::zip(reductions, results))
    at.setScalar(r.getResult(), x);
}

/// The maxima of the segment that a body stands in, and what follows from them.
void RowEmitter::findSegment(Body &in, Value from, Value to) {
  SmallVector<rt::SegmentReduceOp> reductions(plan.block().getOps<rt::SegmentReduceOp>());
  Values init;
  for (rt::SegmentReduceOp r : reductions)
    init.push_back(in.neutral(r.getKind(), VectorType::get({plan.lanes}, r.getType())));
  Values most = loop(in, from, to, plan.lanes, init, [&](Body &at, Value c, ValueRange accs) {
    at.atColumn(c, plan.lanes);
    Values next;
    for (auto [r, acc] : llvm::zip(reductions, accs))
      next.push_back(at.combine(r.getKind(), acc, at.vector(r.getX())));
    return next;
  });
  in.atColumn(from, plan.lanes);
  in.staysInSegment = true;
  for (auto [r, x] : llvm::zip(reductions, most))
    in.setInSegment(r.getResult(), fold(in, r.getKind(), x));
  for (Operation &op : plan.block().without_terminator())
    if (plan.at(op.getResult(0)).inSegment && plan.at(op.getResult(0)).afterSegments)
      in.inSegment(op.getResult(0));
}

/// A segment is read twice: for its maxima, and for its elements.
Values RowEmitter::segmentsInTurn(Body &at, Values accs, Step step) {
  return loop(at, body.index(0), body.index(plan.numCols), plan.segment, accs,
              [&](Body &in, Value from, ValueRange carried) {
                Value to = arith::AddIOp::create(b, from, body.index(plan.segment));
                findSegment(in, from, to);
                return loop(in, from, to, plan.lanes, carried,
                            [&](Body &each, Value c, ValueRange accs) {
                              each.atColumn(c, plan.lanes);
                              return step(each, accs);
                            });
              });
}

void RowEmitter::writeElements(Body &in) {
  SmallVector<Value> added;
  for (ColumnSum &s : sums)
    added.push_back(in.vector(s.op.getX()));
  storeElements(in);
  for (auto [s, x] : llvm::zip(sums, added))
    in.accumulate(s.op.getKind(), s.memory, arith::AddIOp::create(b, s.offset, in.col), x);
}

/// What is known of a row when its elements are written.
Values RowEmitter::endRow(Body &at, ValueRange carried) {
  at.scalarsOfRate(PerRow, plan.passes());
  storeScalars(at, false);
  Values next;
  for (auto [sum, acc] : llvm::zip(scalarSums, carried))
    next.push_back(at.combine(sum.getKind(), acc, at.scalar(sum.getX())));
  return next;
}

Values RowEmitter::row(Body &at, ValueRange carried) {
  for (unsigned p = 0; p < plan.passes(); ++p) {
    at.scalarsOfRate(PerRow, p);
    pass(at, p);
  }
  return endRow(at, carried);
}

/// Two passes, of two rows at once: while a row's elements are computed, the next one comes
/// from memory and is reduced, so that neither waits for the other.
Values RowEmitter::overlappedRows(Span rows, Values init) {
  SmallVector<rt::RowReduceOp> reductions = plan.reductionsOf(0);
  Value last = body.index(plan.numRows - 1);
  auto standAt = [&](Value r) {
    Body at = body;
    at.atRow(arith::MinSIOp::create(b, r, last));
    at.scalarsOfRate(PerRow, 0);
    return at;
  };
  Body first = standAt(rows.from);
  pass(first, 0);
  for (rt::RowReduceOp r : reductions)
    init.push_back(first.scalar(r.getResult()));
  return loop(body, rows.from, rows.to, 1, init, [&](Body &at, Value r, ValueRange carried) {
    at.atRow(r);
    at.scalarsOfRate(PerRow, 0);
    for (auto [reduction, x] : llvm::zip(reductions, carried.take_back(reductions.size())))
      at.setScalar(reduction.getResult(), x);
    at.scalarsOfRate(PerRow, 1);
    Body ahead = standAt(arith::AddIOp::create(b, r, body.index(1)));
    Values accs = forColumns(at, neutrals(at, reductions), [&](Body &in, ValueRange accs) {
      Body next = ahead;
      next.atColumn(in.col, in.width);
      prefetchAhead(next);
      Values reduced = reduceInto(next, reductions, accs);
      writeElements(in);
      return reduced;
    });
    Values next = endRow(at, carried.drop_back(reductions.size()));
    llvm::append_range(next, foldAll(at, reductions, accs));
    return next;
  });
}

/// What is computed from sums over the rows.
void RowEmitter::finish(ValueRange carried) {
  for (auto [sum, x] : llvm::zip(scalarSums, carried))
    body.setScalar(sum.getResult(), x);
  body.finalScalars();
  SmallVector<unsigned> rest;
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (plan.at(plan.yielded(i)).final && plan.output(i).strides.alongCols() && !direct.count(i))
      rest.push_back(i);
  if (!rest.empty())
    forColumns(body, {}, [&](Body &at, ValueRange) {
      SmallVector<Value> values;
      for (ColumnSum &s : sums)
        at.setVector(
            s.op.getResult(),
            at.loadSum(s.memory, arith::AddIOp::create(b, s.offset, at.col), s.op.getType()));
      for (unsigned i : rest)
        values.push_back(at.vector(plan.yielded(i)));
      for (auto [i, x] : llvm::zip(rest, values))
        at.storeVector(i, x);
      return Values();
    });
  for (ColumnSum &s : sums)
    if (plan.evenOdd && !body.isBuffer(s.op.getResult()))
      putInOrder(s);
  storeScalars(body, true);
}

/// Sums that grew in an output had their lanes' order.
void RowEmitter::putInOrder(ColumnSum &s) {
  forColumns(body, {}, [&](Body &at, ValueRange) {
    Value place = arith::AddIOp::create(b, s.offset, at.col);
    at.store(s.memory, place, at.loadSum(s.memory, place, s.op.getType()), at.width);
    return Values();
  });
}

LogicalResult RowEmitter::run(Value rowCount) {
  body.foldSegment = fold; // where a vector holds a segment
  if (failed(findSums()))
    return failure();
  for (ColumnSum &s : sums)
    clear(s);
  Values init;
  for (rt::ColReduceOp sum : scalarSums)
    init.push_back(body.neutral(sum.getKind(), sum.getType()));
  Span rows = taskRows(body, rowCount);
  // Rows past a run-time count may hold invalid ids, so with a count no row is read ahead.
  if (plan.reducePasses == 1 && plan.elementPass == 1 && !rowCount && !plan.segment) {
    finish(ValueRange(overlappedRows(rows, init)).take_front(scalarSums.size()));
    return success();
  }
  Values carried =
      loop(body, rows.from, rows.to, 1, init, [&](Body &at, Value r, ValueRange carried) {
        at.atRow(r);
        return row(at, carried);
      });
  finish(carried);
  return success();
}

LogicalResult lower::emitRow(Body &body, Value rowCount) { return RowEmitter(body).run(rowCount); }

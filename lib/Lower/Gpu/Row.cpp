//===- Gpu/Row.cpp - reductions along a row on GPUs -----------------------===//
//
// A row belongs to a group of threads: lanes of a warp, or a block. Where the row is short enough a
// thread keeps its part in registers, so that memory is read once; otherwise each pass reads it
// again. A kernel with sums over rows takes a task's rows one by one; the sums of a short row are
// in registers, those of a long one in the output. Where columns have nothing to do with each
// other, several blocks share those of a task.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
/// A vector of the row that a thread keeps.
struct Slot {
  Value col;    ///< a column in the row, whether or not the vector is in it
  Value inside; ///< null: always
};

class RowGpu {
public:
  explicit RowGpu(Thread &t)
      : t(t), plan(t.plan), b(t.b), keeps(t.spread.keepsRow(t.plan)), lane(t.id) {}
  LogicalResult run();

private:
  LogicalResult findSums();
  void findSlots();
  void eachRow();
  void taskRowsInTurn();
  Values row(Body at, Value active, ValueRange carried);
  std::vector<Body> readRow(Body &at);
  void keptPasses(Body &at, Value active, MutableArrayRef<Value> carried);
  void walkedPass(Body &at, Value active, unsigned number);
  Values reduceInto(Body &in, MutableArrayRef<rt::RowReduceOp> reductions, ValueRange accs,
                    Value inside);
  void finishReductions(Body &at, MutableArrayRef<rt::RowReduceOp> reductions, ValueRange accs);
  void finish(ValueRange carried);
  bool hasSums() const { return !columnSums.empty() || !scalarSums.empty(); }

  Thread &t;
  const KernelPlan &plan;
  ImplicitLocOpBuilder &b;
  bool keeps;
  Value lane; ///< the thread's number in its group
  SmallVector<Slot> slots;
  SmallVector<rt::ColReduceOp> columnSums, scalarSums;
};
} // namespace

LogicalResult RowGpu::findSums() {
  for (Operation &o : plan.block())
    if (auto sum = dyn_cast<rt::ColReduceOp>(o)) {
      bool alongColumns = plan.at(sum.getX()).rate & PerColumn;
      (alongColumns ? columnSums : scalarSums).push_back(sum);
      if (alongColumns && !keeps && !outputOfSum(plan, sum))
        return sum.emitOpError("keeps sums over rows in registers, at most ")
               << Spread::kMaxSlots * t.spread.classes << " columns; found " << plan.numCols
               << ": yield it to an output of its own type";
    }
  return success();
}

/// Threads past the end of the row, or of the group, stand at column 0.
void RowGpu::findSlots() {
  bool idle = hasSums() && t.spread.block > t.spread.group;
  int64_t ofTile = t.spread.classes * t.spread.slots(plan);
  int64_t lastTile = (t.spread.tiles - 1) * ofTile;
  Value first = t.times(lane, plan.lanes);
  if (t.spread.tiles > 1)
    first = t.sum(first, t.times(t.split(t.block, t.spread.tiles).second, ofTile));
  for (int64_t k = 0; keeps && k < t.spread.slots(plan); ++k) {
    Slot s{t.sum(first, t.body.index(k * t.spread.classes)), nullptr};
    if (lastTile + (k + 1) * t.spread.classes > plan.numCols || idle) {
      s.inside = t.less(s.col, t.body.index(plan.numCols));
      if (idle)
        s.inside = t.both(s.inside, t.less(lane, t.body.index(t.spread.group)));
      s.col = arith::SelectOp::create(b, s.inside, s.col, t.body.index(0));
    }
    slots.push_back(s);
  }
}

/// A thread's next elements into its accumulators.
Values RowGpu::reduceInto(Body &in, MutableArrayRef<rt::RowReduceOp> reductions, ValueRange accs,
                          Value inside) {
  Values next;
  for (auto [r, acc] : llvm::zip(reductions, accs)) {
    Value x = in.vector(r.getX());
    if (inside)
      x = arith::SelectOp::create(b, inside, x, in.neutral(r.getKind(), x.getType()));
    next.push_back(in.combine(r.getKind(), acc, x));
  }
  return next;
}

void RowGpu::finishReductions(Body &at, MutableArrayRef<rt::RowReduceOp> reductions,
                              ValueRange accs) {
  for (auto [r, acc] : llvm::zip(reductions, accs))
    at.setScalar(r.getResult(), t.reduce(r.getKind(), acc));
}

static Values neutrals(Body &body, MutableArrayRef<rt::RowReduceOp> reductions) {
  Values init;
  for (rt::RowReduceOp r : reductions)
    init.push_back(body.neutral(r.getKind(), VectorType::get({body.plan.lanes}, r.getType())));
  return init;
}

/// What the passes read of a row, before the first of them: none of their barriers then waits for
/// memory.
std::vector<Body> RowGpu::readRow(Body &at) {
  std::vector<Body> known(slots.size(), at);
  for (auto [slot, in] : llvm::zip(slots, known)) {
    in.atColumn(slot.col, plan.lanes);
    for (BlockArgument x : plan.block().getArguments())
      if (plan.at(x).rate & PerColumn && !x.use_empty())
        in.vector(x);
  }
  return known;
}

/// All threads of a warp meet in the maximum of a segment, also those that store nothing.
static void findSegments(Body &in) {
  for (Operation &o : in.plan.block())
    if (isa<rt::SegmentReduceOp>(o))
      in.inSegment(o.getResult(0));
}

/// All passes over a row in registers; `carried` holds the sums of each slot.
void RowGpu::keptPasses(Body &at, Value active, MutableArrayRef<Value> carried) {
  std::vector<Body> known = readRow(at);
  for (unsigned p = 0; p < plan.passes(); ++p) {
    at.scalarsOfRate(PerRow, p);
    SmallVector<rt::RowReduceOp> reductions = plan.reductionsOf(p);
    Values accs = neutrals(at, reductions);
    for (auto [k, slot] : llvm::enumerate(slots)) {
      Body in = at;
      in.atColumn(slot.col, plan.lanes);
      in.shareVectors(known[k]);
      accs = reduceInto(in, reductions, accs, slot.inside);
      if (p == plan.elementPass) {
        findSegments(in);
        for (auto [i, sum] : llvm::enumerate(columnSums)) {
          Value &acc = carried[k * columnSums.size() + i];
          acc = in.combine(sum.getKind(), acc, in.vector(sum.getX()));
        }
        t.when(t.both(active, slot.inside), [&, &in = in] { storeElements(in); });
      }
      known[k].shareVectors(in);
    }
    finishReductions(at, reductions, accs);
  }
}

/// One way through a row that is too long to keep. Where threads meet at segments, all of them take
/// the last step, those past the end of the row at its first column.
void RowGpu::walkedPass(Body &at, Value active, unsigned number) {
  SmallVector<rt::RowReduceOp> reductions = plan.reductionsOf(number);
  Value first = t.times(lane, plan.lanes);
  bool meets = plan.segment && plan.numCols % t.spread.classes;
  int64_t steps = (plan.numCols + t.spread.classes - 1) / t.spread.classes;
  Value end =
      meets ? t.sum(first, t.body.index(steps * t.spread.classes)) : t.body.index(plan.numCols);
  auto step = [&](Body &in, Value c, ValueRange accs) {
    Value inside = meets ? t.less(c, t.body.index(plan.numCols)) : Value();
    if (inside)
      c = arith::SelectOp::create(b, inside, c, t.body.index(0));
    in.atColumn(c, plan.lanes);
    Values next = reduceInto(in, reductions, accs, inside);
    if (number != plan.elementPass)
      return next;
    findSegments(in);
    t.when(inside, [&] {
      for (rt::ColReduceOp sum : columnSums) {
        unsigned i = *outputOfSum(plan, sum);
        Value to = t.sum(t.body.offset(plan.output(i)), c);
        in.accumulate(sum.getKind(), in.memory[plan.numInputs() + i], to, in.vector(sum.getX()));
      }
      t.when(active, [&] { storeElements(in); });
    });
    return next;
  };
  Values accs = loop(at, first, end, t.spread.classes, neutrals(at, reductions), step);
  finishReductions(at, reductions, accs);
}

Values RowGpu::row(Body at, Value active, ValueRange carried) {
  Values next(carried);
  if (keeps)
    keptPasses(at, active, next);
  else
    for (unsigned p = 0; p < plan.passes(); ++p) {
      at.scalarsOfRate(PerRow, p);
      walkedPass(at, active, p);
    }
  at.scalarsOfRate(PerRow, plan.passes());
  // No reduction has held the other warps, and a number of the row may lie where it is read.
  if (!plan.reducePasses && t.spread.group > kWarp && !scalarOutputs(plan, false).empty())
    t.barrier();
  t.when(t.both(active, t.isZero(lane)), [&] { storeScalars(at, false); });
  unsigned n = next.size() - scalarSums.size();
  for (rt::ColReduceOp sum : scalarSums) {
    next[n] = at.combine(sum.getKind(), next[n], at.scalar(sum.getX()));
    ++n;
  }
  return next;
}

/// Without sums over rows, each group has one row. What is past the last row is
/// computed from the last one and not stored.
void RowGpu::eachRow() {
  int64_t rowsOfBlock = t.spread.block / t.spread.group;
  Value place;
  std::tie(place, lane) =
      rowsOfBlock == 1 ? std::pair(t.body.index(0), t.id) : t.split(t.id, t.spread.group);
  findSlots();
  Value r = t.sum(t.times(t.block, rowsOfBlock), place), active;
  if (t.rowCount || plan.numRows % rowsOfBlock) {
    // Rows past a count have no ids.
    Value rows = t.rowCount ? t.rowCount : t.body.index(plan.numRows), one = t.body.index(1);
    Value last = arith::SubIOp::create(b, arith::MaxSIOp::create(b, rows, one), one);
    active = t.less(r, rows);
    r = arith::MinUIOp::create(b, r, last);
  }
  Body at = t.body;
  at.atRow(r);
  row(at, active, {});
}

void RowGpu::taskRowsInTurn() {
  findSlots();
  Values init;
  for (size_t k = 0; k < slots.size(); ++k)
    for (rt::ColReduceOp sum : columnSums)
      init.push_back(t.body.neutral(sum.getKind(), VectorType::get({plan.lanes}, sum.getType())));
  for (rt::ColReduceOp sum : scalarSums)
    init.push_back(t.body.neutral(sum.getKind(), sum.getType()));
  if (!keeps)
    for (rt::ColReduceOp sum : columnSums) {
      unsigned i = *outputOfSum(plan, sum);
      auto type = VectorType::get({plan.lanes}, sum.getType());
      loop(t.body, t.times(lane, plan.lanes), t.body.index(plan.numCols), t.spread.classes, {},
           [&](Body &in, Value c, ValueRange) {
             in.store(in.memory[plan.numInputs() + i], t.sum(in.offset(plan.output(i)), c),
                      in.neutral(sum.getKind(), type), plan.lanes);
             return Values();
           });
    }
  Span rows = taskRows(t.body, t.rowCount);
  finish(loop(t.body, rows.from, rows.to, 1, init, [&](Body &at, Value r, ValueRange carried) {
    at.atRow(r);
    Values next = row(at, nullptr, carried);
    if (plan.reducePasses && t.spread.group > kWarp)
      t.barrier(); // the next row's warps meet in the same memory
    return next;
  }));
}

/// What is computed from sums over the rows.
void RowGpu::finish(ValueRange carried) {
  Body &body = t.body;
  for (auto [sum, x] : llvm::zip(scalarSums, carried.take_back(scalarSums.size())))
    body.setScalar(sum.getResult(), x);
  body.finalScalars();
  for (auto [k, slot] : llvm::enumerate(slots)) {
    Body in = body;
    in.atColumn(slot.col, plan.lanes);
    for (auto [i, sum] : llvm::enumerate(columnSums))
      in.setVector(sum.getResult(), carried[k * columnSums.size() + i]);
    t.when(slot.inside, [&, &in = in] {
      for (unsigned i = 0; i < plan.numOutputs(); ++i)
        if (plan.at(plan.yielded(i)).final && plan.output(i).strides.alongCols())
          in.storeVector(i, in.vector(plan.yielded(i)));
    });
  }
  t.when(t.isZero(t.id), [&] { storeScalars(body, true); });
}

LogicalResult RowGpu::run() {
  t.body.foldSegment = [this](Body &in, nn::ReduceKind kind, Value x) {
    return t.reduce(kind, x, in.plan.segment / in.plan.lanes);
  };
  if (failed(findSums()))
    return failure();
  if (hasSums())
    taskRowsInTurn();
  else
    eachRow();
  return success();
}

LogicalResult lower::emitRowGpu(Thread &t) { return RowGpu(t).run(); }

//===- Gpu/Column.cpp - sums over all rows on GPUs ------------------------===//
//
// A thread has one vector of columns and every `slices`th row, in ascending order;
// the slices are folded in halves, the upper onto the lower, in shared memory.
//
// Rows that are scattered by an id have owners instead: a block adds the rows whose ids are its
// own, in ascending order. So each element has the additions of a single block in their order,
// whatever the number of blocks. Each warp reads all ids, a lane up to four at once.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Groups of ids that a warp reads at once, so that it waits for memory once for all of them.
static constexpr int64_t kGroups = 4;

namespace {
class ColumnGpu {
public:
  ColumnGpu(Thread &t, ArrayRef<rt::ColReduceOp> sums)
      : t(t), plan(t.plan), sums(sums), across(t.spread.block / t.spread.slices) {}
  void run();

private:
  void findColumns(Value vector);
  void scatter(Value id);
  Values ownRows(ArrayRef<Value> firsts, Value rows, Value id);
  Values walkRows();
  Value fold(rt::ColReduceOp sum, Value acc);
  void write(ValueRange done);

  Thread &t;
  const KernelPlan &plan;
  SmallVector<rt::ColReduceOp> sums;
  int64_t across; ///< vectors of a block
  Value slice, col, inside;
  llvm::DenseMap<Type, Value> buffers;
};
} // namespace

Values ColumnGpu::walkRows() {
  Values init;
  for (rt::ColReduceOp sum : sums)
    init.push_back(t.body.neutral(sum.getKind(), VectorType::get({plan.lanes}, sum.getType())));
  Value rows = t.rowCount ? t.rowCount : t.body.index(plan.numRows);
  return loop(t.body, slice, rows, t.spread.slices, init,
              [&](Body &at, Value r, ValueRange carried) {
                at.atRow(r);
                at.scalarsOfRate(PerRow, 0);
                Body in = at;
                in.atColumn(col, plan.lanes);
                Values next;
                for (auto [sum, acc] : llvm::zip(sums, carried))
                  next.push_back(in.combine(sum.getKind(), acc, in.vector(sum.getX())));
                t.when(inside, [&] {
                  if (hasRowOutputs(plan))
                    storeElements(in);
                  if (plan.numCols == 1)
                    storeScalars(at, /*final=*/false);
                });
                return next;
              });
}

/// Slice 0 gets the sum of all.
Value ColumnGpu::fold(rt::ColReduceOp sum, Value acc) {
  if (t.spread.slices == 1)
    return acc;
  Type element = sum.getType();
  Value &buffer = buffers[element];
  if (!buffer)
    buffer = t.shared(element, t.spread.block * plan.lanes);
  else
    t.barrier(); // the last sum has been read
  Value mine = t.times(t.id, plan.lanes);
  t.body.store(buffer, mine, acc, plan.lanes);
  for (int64_t half = t.spread.slices / 2; half; half /= 2) {
    t.barrier();
    t.when(t.less(slice, t.body.index(half)), [&] {
      Value other = t.sum(mine, t.body.index(half * across * plan.lanes));
      Value x = t.body.combine(sum.getKind(), t.body.load(buffer, mine, element, plan.lanes),
                               t.body.load(buffer, other, element, plan.lanes));
      t.body.store(buffer, mine, x, plan.lanes);
    });
  }
  return t.body.load(buffer, mine, element, plan.lanes);
}

void ColumnGpu::write(ValueRange done) {
  Body in = t.body;
  in.atColumn(col, plan.lanes);
  for (auto [sum, x] : llvm::zip(sums, done))
    in.setVector(sum.getResult(), x);
  storeSums(in);
}

/// Threads past the last vector stand at column 0.
void ColumnGpu::findColumns(Value vector) {
  int64_t vectors = plan.numCols / plan.lanes;
  if (vectors % across) {
    inside = t.less(vector, t.body.index(vectors));
    vector = arith::SelectOp::create(t.b, inside, vector, t.body.index(0));
  }
  col = t.times(vector, plan.lanes);
}

/// For each group of 32 rows, which of them have ids that are this block's, a bit each: a lane
/// looks at one row, and all lanes get all bits.
Values ColumnGpu::ownRows(ArrayRef<Value> firsts, Value rows, Value id) {
  auto &b = t.b;
  Value lane = t.split(t.id, kWarp).second, owner = t.split(t.block, t.spread.owners).second;
  Type i32 = b.getI32Type();
  SmallVector<std::pair<Value, Value>> read; // the id, and whether there is such a row
  for (Value first : firsts) {
    Value row = t.sum(first, lane), there = t.less(row, rows);
    Body at = t.body;
    at.atRow(arith::SelectOp::create(b, there, row, t.body.index(0)));
    at.scalarsOfRate(PerRow, 0);
    read.push_back({arith::IndexCastOp::create(b, b.getIndexType(), at.scalar(id)), there});
  }
  Values bits;
  for (auto [x, there] : read) {
    // A row whose id is below zero goes nowhere.
    Value used = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x, t.body.index(0));
    Value own = t.both(t.both(there, used), t.equal(t.split(x, t.spread.owners).second, owner));
    bits.push_back(arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i32, own),
                                         arith::IndexCastOp::create(b, i32, lane)));
  }
  for (int64_t distance = 1; distance < kWarp; distance *= 2)
    for (Value &x : bits)
      x = arith::OrIOp::create(b, x, exchange(b, x, distance));
  return bits;
}

void ColumnGpu::scatter(Value id) {
  auto &b = t.b;
  findColumns(t.sum(t.times(t.split(t.block, t.spread.owners).first, across), t.id));
  Value rows = t.rowCount ? t.rowCount : t.body.index(plan.numRows);
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  int64_t groups = std::min<int64_t>(kGroups, (plan.numRows + kWarp - 1) / kWarp);
  auto isSet = [&](Value bits) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits, none);
  };
  auto addRow = [&](Value r) {
    Body in = t.body;
    in.atRow(r);
    in.scalarsOfRate(PerRow, 0);
    in.atColumn(col, plan.lanes);
    t.when(inside, [&] { storeElements(in); });
  };
  auto addRows = [&](Value first, Value bits) {
    loop(t.body, t.body.index(0), t.body.index(kWarp), 1, {}, [&](Body &, Value i, ValueRange) {
      Value bit = arith::ShLIOp::create(b, arith::ConstantIntOp::create(b, 1, 32),
                                        arith::IndexCastOp::create(b, b.getI32Type(), i));
      t.when(isSet(arith::AndIOp::create(b, bits, bit)), [&] { addRow(t.sum(first, i)); });
      return Values();
    });
  };
  loop(t.body, t.body.index(0), rows, groups * kWarp, {}, [&](Body &, Value r, ValueRange) {
    Values firsts;
    for (int64_t g = 0; g < groups; ++g)
      firsts.push_back(t.sum(r, t.body.index(g * kWarp)));
    for (auto [first, bits] : llvm::zip(firsts, ownRows(firsts, rows, id)))
      t.when(isSet(bits), [&, first = first, bits = bits] { addRows(first, bits); });
    return Values();
  });
}

void ColumnGpu::run() {
  if (t.spread.owners)
    return scatter(idOfScatters(plan));
  Value x;
  std::tie(slice, x) = t.split(t.id, across);
  findColumns(t.sum(t.times(t.block, across), x));
  Values done = walkRows();
  for (auto [sum, x] : llvm::zip(sums, done))
    x = fold(sum, x);
  Value first = t.spread.slices > 1 ? t.isZero(slice) : Value();
  if (!sums.empty())
    t.when(t.both(first, inside), [&] { write(done); });
}

LogicalResult lower::emitColumnGpu(Thread &t) {
  FailureOr<SmallVector<rt::ColReduceOp>> sums = sumsOfColumns(t.plan);
  if (failed(sums))
    return failure();
  ColumnGpu(t, *sums).run();
  return success();
}

//===- Gpu/Column.cpp - sums over all rows on GPUs ------------------------===//
//
// A thread has one vector of columns and every `slices`th row, in ascending order;
// the slices are folded in halves, the upper onto the lower, in shared memory.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
class ColumnGpu {
public:
  ColumnGpu(Thread &t, ArrayRef<rt::ColReduceOp> sums)
      : t(t), plan(t.plan), sums(sums), across(t.spread.block / t.spread.slices) {}
  void run();

private:
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

void ColumnGpu::run() {
  Value x;
  std::tie(slice, x) = t.split(t.id, across);
  Value vector = t.sum(t.times(t.block, across), x);
  int64_t vectors = plan.numCols / plan.lanes;
  if (vectors % across) {
    inside = t.less(vector, t.body.index(vectors));
    vector = arith::SelectOp::create(t.b, inside, vector, t.body.index(0));
  }
  col = t.times(vector, plan.lanes);
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

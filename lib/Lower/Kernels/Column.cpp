//===- Kernels/Column.cpp - sums over all rows, parallel over columns -----===//
//
// A task owns a block of columns and walks all rows in ascending order, a few
// vectors of columns at a time with their sums in registers.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Skeletons.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Vectors of columns that walk the rows together.
static constexpr int64_t kUnroll = 4;

bool lower::hasRowOutputs(const KernelPlan &plan) {
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (plan.writesElements(i))
      return true;
  return false;
}

/// All rows of some vectors of columns.
static void walkRows(Body &outer, ArrayRef<Value> starts, int64_t width,
                     ArrayRef<rt::ColReduceOp> sums, Span rows) {
  const KernelPlan &plan = outer.plan;
  Values init;
  for (size_t i = 0; i < starts.size(); ++i)
    for (rt::ColReduceOp sum : sums)
      init.push_back(outer.neutral(sum.getKind(), VectorType::get({plan.lanes}, sum.getType())));
  Values done = loop(outer, rows.from, rows.to, 1, init, [&](Body &at, Value r, ValueRange accs) {
    at.atRow(r);
    at.scalarsOfRate(PerRow, 0);
    Values next;
    for (Value start : starts) {
      Body in = at;
      in.atColumn(start, width);
      for (rt::ColReduceOp sum : sums)
        next.push_back(in.combine(sum.getKind(), accs[next.size()], in.vector(sum.getX())));
      if (hasRowOutputs(plan))
        storeElements(in);
    }
    if (plan.numCols == 1)
      storeScalars(at, /*final=*/false);
    return next;
  });
  for (auto [i, start] : llvm::enumerate(starts)) {
    Body in = outer;
    in.atColumn(start, width);
    size_t next = i * sums.size();
    for (rt::ColReduceOp sum : sums)
      in.setVector(sum.getResult(), done[next++]);
    storeSums(in);
  }
}

FailureOr<SmallVector<rt::ColReduceOp>> lower::sumsOfColumns(const KernelPlan &plan) {
  SmallVector<rt::ColReduceOp> sums;
  for (Operation &o : plan.block())
    if (auto sum = dyn_cast<rt::ColReduceOp>(o))
      sums.push_back(sum);
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (!plan.at(plan.yielded(i)).final && !plan.writesElements(i) && plan.numCols > 1)
      return plan.op->emitOpError("writes a value of a row from every block of columns: output ")
             << i << "; make it a row kernel";
  return sums;
}

LogicalResult lower::emitColumn(Body &body, Value rowCount) {
  const KernelPlan &plan = body.plan;
  FailureOr<SmallVector<rt::ColReduceOp>> sums = sumsOfColumns(plan);
  if (failed(sums))
    return failure();
  int64_t count = plan.numRows;
  Span rows{body.index(0), rowCount ? rowCount : body.index(count)};
  forRange(body, taskColumns(body), kUnroll,
           [&](Body &inner, ArrayRef<Value> starts, int64_t width) {
             walkRows(inner, starts, width, *sums, rows);
           });
  return success();
}

//===- Kernels/Map.cpp - element by element -------------------------------===//
//
// Where all operands walk all loops as one, a task is a range of elements, and
// rows leave no tails.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Kernels/Skeletons.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

LogicalResult lower::emitMap(Body &body, Value rowCount) {
  const KernelPlan &plan = body.plan;
  if (!plan.flat) {
    Span rows = taskRows(body, rowCount);
    loop(body, rows.from, rows.to, 1, {}, [&](Body &inner, Value row, ValueRange) {
      inner.atRow(row);
      inner.scalarsOfRate(PerRow, 0);
      forColumns(inner, {}, [&](Body &at, ValueRange) {
        storeElements(at);
        return Values();
      });
      storeScalars(inner, false);
      return Values();
    });
    return success();
  }
  if (plan.numCols == 1) {
    storeScalars(body, false);
    return success();
  }
  forRange(body, taskColumns(body), 1, [&](Body &inner, ArrayRef<Value> starts, int64_t width) {
    inner.atColumn(starts.front(), width);
    storeElements(inner);
  });
  return success();
}

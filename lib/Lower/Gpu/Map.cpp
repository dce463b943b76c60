//===- Gpu/Map.cpp - element by element on GPUs ---------------------------===//
//
// A thread has one vector.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "lib/Lower/Kernels/Skeletons.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

/// Vectors of one long row; the last one may be shorter.
static void emitFlat(Thread &t, Value vector) {
  int64_t lanes = t.plan.lanes, cols = t.plan.numCols, tail = cols % lanes;
  auto at = [&](int64_t width) {
    Body in = t.body;
    in.atColumn(t.times(vector, lanes), width);
    storeElements(in);
  };
  Value whole = t.body.index(cols / lanes);
  t.when(t.less(vector, whole), [&] { at(lanes); });
  if (tail)
    t.when(t.equal(vector, whole), [&] { at(tail); });
}

LogicalResult lower::emitMapGpu(Thread &t) {
  const KernelPlan &plan = t.plan;
  Value vector = t.sum(t.times(t.block, t.spread.block), t.id);
  if (plan.flat && plan.numCols == 1) {
    t.when(t.isZero(vector), [&] { storeScalars(t.body, false); });
    return success();
  }
  if (plan.flat) {
    emitFlat(t, vector);
    return success();
  }
  auto [row, v] = t.split(vector, plan.numCols / plan.lanes);
  Value rows = t.rowCount ? t.rowCount : t.body.index(plan.numRows);
  t.when(t.less(row, rows), [&, row = row, v = v] {
    Body in = t.body;
    in.atRow(row);
    in.scalarsOfRate(PerRow, 0);
    Body at = in;
    at.atColumn(t.times(v, plan.lanes), plan.lanes);
    storeElements(at);
    t.when(t.isZero(v), [&] { storeScalars(in, false); });
  });
  return success();
}

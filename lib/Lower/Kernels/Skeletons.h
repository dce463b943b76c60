//===- Kernels/Skeletons.h - the loops of each kind of kernel -------------===//
//
// Each emits the loops of one task at the builder's place. What they share is
// here: walking columns, the range of a task, folding lanes.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_KERNELS_SKELETONS_H
#define TPLAN_LOWER_KERNELS_SKELETONS_H

#include "lib/Lower/Kernels/Body.h"

namespace tplan::lower {

/// `rowCount` is the number of rows in use, or null where it is plan.numRows.
mlir::LogicalResult emitMap(Body &body, mlir::Value rowCount);
mlir::LogicalResult emitRow(Body &body, mlir::Value rowCount);
mlir::LogicalResult emitColumn(Body &body, mlir::Value rowCount);
mlir::LogicalResult emitTranspose(Body &body, mlir::Value rowCount);

/// Rows in use: the count that comes with the data, times the rows of each.
mlir::Value runTimeRows(Body &body, mlir::Value count);

using Values = llvm::SmallVector<mlir::Value>;
using Step = llvm::function_ref<Values(Body &, mlir::ValueRange carried)>;

/// A loop in [from, to) by `by`; `step` gets a copy of the body, and the index as its last value.
Values loop(Body &outer, mlir::Value from, mlir::Value to, int64_t by, mlir::ValueRange init,
            llvm::function_ref<Values(Body &, mlir::Value, mlir::ValueRange)> step);

/// All columns: whole vectors, then the tail.
Values forColumns(Body &outer, mlir::ValueRange init, Step step);

struct Span {
  mlir::Value from, to;
};
/// Rows of the task.
Span taskRows(Body &body, mlir::Value rowCount);
/// Columns of the task, from a multiple of lanes on; the last task has the
/// tail.
Span taskColumns(Body &body);
/// Vectors in a range of columns, `unroll` at a time, then one by one, then the
/// tail. The step stands at no column yet: it gets the first and the width of
/// each.
void forRange(
    Body &outer, Span range, int64_t unroll,
    llvm::function_ref<void(Body &, llvm::ArrayRef<mlir::Value> starts, int64_t width)> step);

/// The largest lane; NaN if a lane of `nans` is set. Lanes of `acc` that are NaN are lanes of
/// `nans`.
mlir::Value foldMaximum(Body &body, mlir::Value acc, mlir::Value nans);

/// A vector of partial results in one. A sum is folded in halves, the upper onto the lower.
mlir::Value fold(Body &body, nn::ReduceKind kind, mlir::Value acc);

/// Row: the output in which a sum over rows can be kept while it grows: of the sum's type,
/// row-major along the columns.
std::optional<unsigned> outputOfSum(const KernelPlan &plan, rt::ColReduceOp sum);
/// Column: its sums, or failure where it cannot write what it yields.
mlir::FailureOr<llvm::SmallVector<rt::ColReduceOp>> sumsOfColumns(const KernelPlan &plan);
/// Column: whether an output is written at every row.
bool hasRowOutputs(const KernelPlan &plan);
/// Transpose: whether an operand runs along the last row loop.
bool isTurned(const Body &body, const OperandPlan &o);

/// Computes the values of all outputs that have columns and are not final, then
/// stores them: an operand in place is read before it is written.
void storeElements(Body &body);
/// Calls what comes from memory into the second cache before it is read.
void prefetchAhead(Body &body);
/// The outputs that have no columns, either those that are final or the others.
llvm::SmallVector<unsigned> scalarOutputs(const KernelPlan &plan, bool final);
/// Stores them.
void storeScalars(Body &body, bool final);
/// Column: stores the outputs that are final, where the body stands and knows its sums.
void storeSums(Body &body);

} // namespace tplan::lower

#endif // TPLAN_LOWER_KERNELS_SKELETONS_H

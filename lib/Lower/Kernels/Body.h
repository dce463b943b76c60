//===- Kernels/Body.h - the scalar body of a kernel, on vectors -----------===//
//
// Skeletons walk the loops; a Body stands at one place in them and gives the
// value of anything in the kernel's body there: as a scalar where it does not
// change along the columns, else as a vector of `lanes` columns.
//
// One decision: a Body is copied when a loop is entered, so that what it has
// computed outside is known inside, and never the other way round.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_KERNELS_BODY_H
#define TPLAN_LOWER_KERNELS_BODY_H

#include "lib/Lower/Kernels/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <functional>

namespace tplan::lower {

class Body {
public:
  Body(mlir::ImplicitLocOpBuilder &b, const KernelPlan &plan, mlir::ValueRange memory,
       mlir::Value task);

  /// Stands at row `row` (index); computes nothing.
  void atRow(mlir::Value row);
  /// The same by the indices of the row loops, the last one apart.
  void atRow(mlir::ValueRange outer, mlir::Value last) {
    rowIndex.assign(outer.begin(), outer.end());
    rowIndex.push_back(last);
  }
  /// Stands at `width` columns (at most `lanes`) from `col` on.
  void atColumn(mlir::Value col, int64_t width);

  /// Computes, here, all scalars of a rate and pass that are not known yet.
  void scalarsOfRate(unsigned rate, unsigned pass);
  /// Computes the scalars that are known when all rows of the task are done.
  void finalScalars();

  mlir::Value scalar(mlir::Value v) const { return scalars.lookup(v); }
  void setScalar(mlir::Value v, mlir::Value x) { scalars[v] = x; }
  /// The value in the columns where the body stands; lanes past the width hold
  /// anything.
  mlir::Value vector(mlir::Value v);
  void setVector(mlir::Value v, mlir::Value x) { vectors[v] = x; }
  /// Takes over what another body has computed in the same columns.
  void shareVectors(const Body &other) { vectors = other.vectors, segments = other.segments; }
  /// A value that is the same in the segment where the body stands, which a vector holds, or those
  /// of several threads.
  mlir::Value inSegment(mlir::Value v);
  void setInSegment(mlir::Value v, mlir::Value x) { segments[v] = x; }
  /// Whether columns that follow are in the same segment.
  bool staysInSegment = false;
  /// Values along the columns kept in a buffer of the task, one element a
  /// column.
  void setBuffer(mlir::Value v, mlir::Value memref) { buffers[v] = memref; }
  bool isBuffer(mlir::Value v) const { return buffers.count(v); }

  void storeScalar(unsigned output, mlir::Value x);
  /// Stores, or adds where the output is scattered.
  void storeVector(unsigned output, mlir::Value x);
  /// Adds a vector of columns into the task's row of sums, which is an output's
  /// or a buffer.
  void accumulate(nn::ReduceKind kind, mlir::Value memref, mlir::Value offset, mlir::Value x);

  // Building blocks.
  mlir::Value index(int64_t i);
  mlir::Value rowOffset(const OperandPlan &o);
  mlir::Value offset(const OperandPlan &o);
  mlir::Value splat(mlir::Value scalar, int64_t n);
  mlir::Value neutral(nn::ReduceKind kind, mlir::Type type);
  mlir::Value combine(nn::ReduceKind kind, mlir::Value acc, mlir::Value x);
  /// Lanes past the width become neutral.
  mlir::Value maskTail(nn::ReduceKind kind, mlir::Value x);
  mlir::Value load(mlir::Value memref, mlir::Value offset, mlir::Type element, int64_t width);
  void store(mlir::Value memref, mlir::Value offset, mlir::Value x, int64_t width,
             bool streams = false);
  /// Sums over rows keep the order of lanes while they grow.
  mlir::Value loadSum(mlir::Value memref, mlir::Value offset, mlir::Type element);
  void storeSum(mlir::Value memref, mlir::Value offset, mlir::Value x);
  /// Columns of a vector in ascending order.
  mlir::Value inOrder(mlir::Value x);
  mlir::Value buffer(mlir::Type element, int64_t size);

  /// The reduction of a vector over the segment that it is in.
  std::function<mlir::Value(Body &, nn::ReduceKind, mlir::Value)> foldSegment;

  mlir::ImplicitLocOpBuilder &b;
  const KernelPlan &plan;
  mlir::ValueRange memory;
  mlir::Value task;
  mlir::Value layer; ///< the layer, in a launch for several; else null
  mlir::Value col;
  int64_t width = 0;

  /// How an operand lies along the columns where the body stands.
  enum class Layout { Splat, Contiguous, Scattered };
  Layout layout(const Strides &s) const;
  /// What memory holds as the element that the body computes with (i1 from bytes).
  mlir::Value fromMemory(mlir::Value x, mlir::Type element);

private:
  mlir::Value weigh(mlir::ValueRange indices, llvm::ArrayRef<int64_t> strides, mlir::Value sum);
  mlir::Value laneOffsets(llvm::ArrayRef<int64_t> strides, mlir::Type element = {});
  mlir::Value laneMask();
  llvm::MaybeAlign alignment(mlir::Type element, int64_t width) const;
  mlir::Value idScalar(const OperandPlan &o);
  mlir::Value loadScalar(unsigned number);
  mlir::Value loadVector(unsigned number, mlir::Type as);
  mlir::Value loadScalarAnyId(unsigned number);
  mlir::Value loadVectorAnyId(unsigned number, mlir::Type as);
  mlir::Value zeroWithoutId(const OperandPlan &o, mlir::Value x);
  mlir::Value loadByHalf(unsigned number, mlir::Value at, mlir::Type as);
  mlir::Value inFirstHalf(const OperandPlan &o, mlir::Value i);
  mlir::Value stepByHalf(const OperandPlan &o, mlir::Value first);
  mlir::Value turn(const OperandPlan &o, mlir::Value x, mlir::Value first);
  mlir::Value loadRun(mlir::Value memref, mlir::Value at, mlir::Type element, int64_t width);
  void storeRun(mlir::Value memref, mlir::Value at, mlir::Value x, int64_t width, bool streams);
  mlir::Value loadAs(mlir::Value memref, mlir::Value at, mlir::Type element, mlir::Type as);
  mlir::Value widen(mlir::Value x, mlir::Type as);
  mlir::Value inLanes(mlir::Value x);
  mlir::Value narrowPairs(mlir::Value x);
  mlir::Value gather(unsigned number, mlir::Value at, mlir::Value lanes);
  mlir::Value flipSign(mlir::Value x, mlir::Value negate);
  mlir::Value clone(mlir::Operation *op, unsigned result, bool vectors);
  mlir::Value position(mlir::Operation *op, bool vector);
  void evaluateScalar(mlir::Value v);

  llvm::SmallVector<mlir::Value> rowIndex, colIndex;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars, vectors, segments, buffers;
};

/// Memory of a tensor as kernels see it: flat, i1 as bytes.
mlir::MemRefType memoryOf(nn::Tensor type);
/// Element type in memory.
mlir::Type stored(mlir::Type element);

/// The indices of loops of the given sizes at a flat position, outermost first.
llvm::SmallVector<mlir::Value> delinearise(mlir::ImplicitLocOpBuilder &b, mlir::Value flat,
                                           llvm::ArrayRef<int64_t> sizes);

} // namespace tplan::lower

#endif // TPLAN_LOWER_KERNELS_BODY_H

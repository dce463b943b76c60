//===- Gpu/Thread.h - kernels on warps and blocks -------------------------===//
//
// The same rt.kernel, plan and scalar body as on the CPU: a thread stands at a few
// columns, as a vector there, and blocks take the place of tasks.
//
// One decision: the order of additions follows from the loops of the kernel alone, never from the
// width of a thread's vectors: element i of a row belongs to class i mod `classes`, a class adds
// its elements in ascending order, and neighbouring classes are folded first. So neither what else
// is fused into the kernel nor the chip changes a sum.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_GPU_THREAD_H
#define TPLAN_LOWER_GPU_THREAD_H

#include "lib/Lower/Gpu/Module.h"
#include "lib/Lower/Kernels/Body.h"

namespace tplan::lower {

/// How a kernel lies on blocks and threads: a fact of its loops.
struct Spread {
  int64_t block = 256, grid = 1; ///< threads of a block, blocks
  int64_t classes = 1;           ///< row: accumulators of a row's reduction
  int64_t group = 1;             ///< row: threads of a row
  int64_t tiles = 1;             ///< row: blocks that share the columns of a task
  int64_t slices = 1;            ///< column: threads that share the rows of a column
  int64_t owners = 0;            ///< column: blocks that share the ids of scattered rows; 0: none
  int64_t tile = 32;             ///< transpose: side of a block's square
  bool takesRegisters = false;   ///< spills none to leave room for further blocks

  /// Row: vectors of a row that a thread has.
  int64_t slots(const KernelPlan &plan) const;
  /// Row: what a thread can keep of a row in registers.
  static constexpr int64_t kMaxSlots = 4;
  bool keepsRow(const KernelPlan &plan) const { return slots(plan) <= kMaxSlots; }
};

/// Column: the id by which all that the kernel writes is scattered, one for each row; else null.
mlir::Value idOfScatters(const KernelPlan &plan);

/// Chooses the vectors of `plan` and lays the kernel on threads.
Spread spreadOverThreads(KernelPlan &plan);

/// What the emitters of all skeletons share: a thread of the kernel.
class Thread {
public:
  /// `block` is the block's number; the body's task follows from it.
  Thread(Body &body, mlir::gpu::GPUFuncOp func, const Spread &spread, mlir::Value block,
         mlir::Value rowCount);

  /// Memory of the block.
  mlir::Value shared(mlir::Type element, int64_t size);
  void barrier();
  /// Runs `step` where the condition holds; null means always.
  void when(mlir::Value condition, llvm::function_ref<void()> step);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value isZero(mlir::Value x);
  /// The two digits of x: x / n and x mod n.
  std::pair<mlir::Value, mlir::Value> split(mlir::Value x, int64_t n);
  mlir::Value sum(mlir::Value x, mlir::Value y);
  mlir::Value times(mlir::Value x, int64_t n);
  /// The reduction of a thread's accumulators over the threads of its row; all get it.
  mlir::Value reduce(nn::ReduceKind kind, mlir::Value acc);
  /// The same over a number of threads side by side, a power of two within a warp.
  mlir::Value reduce(nn::ReduceKind kind, mlir::Value acc, int64_t threads);

  Body &body;
  const KernelPlan &plan;
  mlir::ImplicitLocOpBuilder &b;
  mlir::gpu::GPUFuncOp func;
  Spread spread;
  mlir::Value id, block;
  /// Rows in use, or null where it is plan.numRows.
  mlir::Value rowCount;

private:
  mlir::Value combine(nn::ReduceKind kind, mlir::Value x, mlir::Value y);
};

mlir::LogicalResult emitMapGpu(Thread &thread);
mlir::LogicalResult emitRowGpu(Thread &thread);
mlir::LogicalResult emitColumnGpu(Thread &thread);
mlir::LogicalResult emitTransposeGpu(Thread &thread);

} // namespace tplan::lower

#endif // TPLAN_LOWER_GPU_THREAD_H

//===- Frames.h - values of a function, and the memory they share ---------===//
//
// PlanFrames.cpp: groups of values and their places. NestBlocks.cpp: values that are a block of
// another one's memory.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_MEMORY_FRAMES_H
#define TPLAN_LIB_MEMORY_FRAMES_H

#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <string>
#include <vector>

namespace tplan::memory {

/// Values that share one piece of memory, in the order of their definition.
struct Group {
  llvm::SmallVector<mlir::Value> values;
  int64_t begin = 0, end = 0; // numbers of operations, both included
  int64_t bytes = 0;
  std::optional<sched::PlaceKind> kind = sched::PlaceKind::Frame; // none: a block of another
  int64_t n = 0; // offset in the frame, or number of the argument or result
};

/// A value that is a block of another value's memory: the rank's own, or that of a rank after it.
/// Over no axes it is block `shift`, and without an attribute all of the memory.
struct Nested {
  mlir::Value of;
  mlir::ArrayAttr axes;
  int64_t bytes; // of one block
  int64_t shift = 0;
};

class FramePlanner {
public:
  explicit FramePlanner(rt::FuncOp func) : func(func) {}

  /// Places all values; inserts copies until every place is legal.
  void plan() {
    while (!analyse())
      ;
    packFrame();
    writeAttributes();
  }

private:
  rt::FuncOp func;
  llvm::DenseMap<mlir::Operation *, int64_t> number;
  llvm::DenseMap<mlir::Value, int64_t> lastUse;      // the last op that reads it
  llvm::DenseMap<mlir::Value, int64_t> liveUntil;    // the op at which the last reader is complete
  llvm::DenseMap<mlir::Operation *, int64_t> begins; // where collectives that wait for others begin
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Value, size_t> groupOf;
  llvm::DenseMap<mlir::Value, Nested> blocks;

  std::optional<Nested> blockOfSum(rt::CollectiveOp sum);
  std::optional<Nested> blockOfSlice(rt::SliceOp slice);
  bool nestBlock(mlir::Operation *op, mlir::OpResult result);
  bool nestParts();
  bool nestPart(rt::JoinOp join, unsigned i);
  bool viewIsReadFrom(mlir::BlockArgument arg, int64_t begin);
  void nestOperands();
  void nestOperand(rt::CollectiveOp gather);
  sched::PlaceAttr placeOf(mlir::Value value);
  bool analyse();
  void numberOps();
  /// The number of the op at which a call is complete: its own, or that of its await.
  int64_t completion(mlir::Operation *op);
  void findBuckets();
  bool formGroups();
  bool isInFlight(mlir::Value value, mlir::Operation *except);
  bool placeReturns();
  bool checkAccumulators();
  bool mayOverwrite(const Group &group, mlir::BlockArgument arg);
  void packFrame();
  void writeAttributes();
  mlir::Value copyBefore(mlir::Operation *op, mlir::Value value);
};

/// The slice, if the op is one that is a view; or null.
inline rt::SliceOp asView(mlir::Operation *op) {
  auto slice = mlir::dyn_cast_or_null<rt::SliceOp>(op);
  return slice && slice.getView() ? slice : rt::SliceOp();
}

/// The operand in whose memory the call may write the result, or -1.
inline int64_t aliasOf(mlir::Operation *op, unsigned result) {
  auto call = mlir::dyn_cast<rt::Call>(op);
  return call ? call.getAlias(result) : -1;
}

} // namespace tplan::memory

#endif // TPLAN_LIB_MEMORY_FRAMES_H

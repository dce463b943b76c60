//===- Units.h - which ops become one kernel ------------------------------===//
//
// A unit is a set of ops of one function that will be one kernel or one library
// call. Every op begins as its own unit; units merge where their loops agree and
// no path leads from one through a third back (so the units stay in some order).
//
// One decision: merging never changes a value. Element types, rounding and the
// order of sums are those of the single ops, so fusion on and off give equal bits.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_FUSE_UNITS_H
#define TPLAN_LIB_FUSE_UNITS_H

#include "dialects/dist/Dist.h"
#include "dialects/nn/NN.h"
#include <optional>

namespace tplan::fuse {

struct Unit {
  enum Kind {
    Fusible, // element-wise, row sums, partial column sums: a map or row kernel
    Column,  // sums over all rows: a column kernel
    Single   // GEMM, attention, scattered sum; with the sum onto an accumulator
  };
  Kind kind = Fusible;
  llvm::SmallVector<mlir::Operation *> ops; // in program order
  llvm::SmallVector<nn::DimAttr> dims;      // loops, rows then columns
  std::optional<unsigned> rows;             // how many of dims are rows, once a sum fixes it
  std::optional<unsigned> segments; // how many are not within a segment, where there are some
  bool alone = false;               // numbers in f64 that depend on no array

  bool isMap() const { return kind == Fusible && !rows; }
};

/// Ops so cheap that every kernel that reads one computes it itself: constants, indices and
/// positions, scalars except those in f64, comparisons and casts of arguments.
bool isCloned(mlir::Operation *op);

/// Whether the plan has kernels of several ops: all but `fuse off`.
bool isOn(mlir::ModuleOp module);

/// Whether this use reads the value from memory, and could not compute it on the way: library
/// calls, other ranks, the caller, and ops that read at other places than they compute.
bool needsMemory(mlir::OpOperand &use);

/// Marks an op that is there for its reader alone: it merges with no unit that it reads.
inline constexpr llvm::StringLiteral kReplica = "fuse.replica";

/// Whether `add` adds a GEMM or a scattered sum onto an accumulator of the layer's
/// caller: then the library or kernel adds in place.
bool addsOnto(nn::AddOp add);

/// Pairs of a result and the argument in whose memory it is, ascending.
llvm::SmallVector<std::pair<unsigned, unsigned>> updatesInPlace(nn::LayerOp layer);

/// The units of a layer, in an order in which each can run. With `merge` off every
/// op is a unit.
llvm::SmallVector<Unit> formUnits(nn::LayerOp layer, bool merge);

/// Whether the op's result is in its operand's memory: a slice that is contiguous and all of it
/// there, or other dimensions.
bool isView(mlir::Operation *op);

} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_UNITS_H

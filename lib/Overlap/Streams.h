//===- Streams.h - which stream runs what is exchanged ----------------------===//
//
// Streams follow from starts and awaits: a stream for the collectives of each group, and for the
// messages of each channel. Collectives that are issued together have one turn: an event before
// them and one after them. `assign-streams` writes this down, `check-streams` holds what is written
// against it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_STREAMS_H
#define TPLAN_OVERLAP_STREAMS_H

#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace tplan::overlap {

struct Streams {
  /// Computes them for a module.
  explicit Streams(mlir::ModuleOp module);

  llvm::MapVector<mlir::Operation *, sched::Turn> turns; // of what is exchanged or started
  llvm::MapVector<mlir::Operation *, int64_t> homes;     // streams of functions that are started
  std::vector<sched::StreamAttr> all; // streams 1, 2, ..., in the order in which they are asked for
  int64_t events = 0;

  /// Whether the module needs streams: on a CPU only where something is started.
  static bool areNeeded(mlir::ModuleOp module);

private:
  int64_t of(mlir::ArrayAttr axes, int64_t from = 0, int64_t to = 0);
  void add(rt::FuncOp func);
  void add(sched::CallOp call);
  void add(sched::Step step);
};

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_STREAMS_H

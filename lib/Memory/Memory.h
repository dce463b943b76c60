//===- Memory.h - the passes of `memory`, and what they report ------------===//
#ifndef TPLAN_MEMORY_MEMORY_H
#define TPLAN_MEMORY_MEMORY_H

#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <vector>

namespace tplan::memory {
#define GEN_PASS_DECL
#include "lib/Memory/Passes.h.inc"

/// A piece of the arena. Bytes count padding to 64. The slots of a family may lie apart:
/// `offset` is that of the first.
struct OwnerReport {
  std::string name; // key of the value, or name of the family
  sched::Owner owner;
  int64_t offset, bytes;
  int64_t atPeak;     // of its bytes, live at the peak
  mlir::Location loc; // in the source, of what it belongs to
};
struct FrameReport {
  std::string function;
  int64_t bytes, live; // live: largest sum of live temporaries
};
struct Report {
  int64_t arena = 0;               // bytes that the binary asks for
  int64_t live = 0;                // largest sum of bytes live at once
  int64_t least = 0;               // that any placement needs, as far as is known
  std::string peak;                // where that is: "F of stage 0, microbatch 3, block[0..7]"
  std::vector<OwnerReport> owners; // by offset
  std::vector<FrameReport> frames;
};

/// What the arena of a program holds, read off the IR. Valid after --plan-arena.
Report getReport(sched::ProgramOp program);

/// What a GPU captures of a step: the graphs of `number-graphs`, and the calls in all of them. An
/// attention of the library counts once for each chunk.
struct GraphCounts {
  int64_t graphs = 0, calls = 0;
};
GraphCounts countGraphs(sched::ProgramOp program);

} // namespace tplan::memory

#endif // TPLAN_MEMORY_MEMORY_H

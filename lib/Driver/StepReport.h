//===- StepReport.h - what a plan costs, as data --------------------------===//
//
// Report.cpp reads it off the IR; Report.cpp and Summary.cpp print it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_STEPREPORT_H
#define TPLAN_DRIVER_STEPREPORT_H

#include "lib/Driver/Attention.h"
#include "lib/Driver/Regions.h"
#include "lib/Driver/StepTime.h"
#include "lib/Memory/Memory.h"
#include "tplan/runtime.h"
#include <map>
#include <string>
#include <vector>

namespace tplan {

/// What people ask first of a plan.
struct Summary {
  int64_t parameters = 0;            // those trained, of the whole model, unpadded
  int64_t sequences = 0, tokens = 0; // of a step, over all ranks
  int64_t steps = 0;                 // of the training
  int64_t memoryLimit = 0;           // bytes of a rank that the plan may use; 0: no limit is given
  std::string precision;             // "bf16"
  std::string lossy;                 // what else rounds gradients; empty: nothing
  std::string mesh;                  // "dp = 2, tp = 4"; empty: one rank
  std::vector<int64_t> stages;       // layers of lists in each
};

/// Calls, floating-point operations and bytes moved of one training step. A step of the largest
/// plans has more than 2^63 operations: those are numbers of 53 bits and an exponent.
struct Work {
  int64_t calls = 0;
  double flops = 0, bytes = 0;
  Work &operator+=(const Work &other);
  Work times(int64_t n) const {
    auto factor = static_cast<double>(n);
    return {calls * n, flops * factor, bytes * factor};
  }
};

/// Bytes beside the arena, at most: for all threads together, and for each.
struct Beside {
  std::string owner, what;
  int64_t once, perThread;
};

/// Bytes of a GPU that the driver and libraries of a major version hold beside the arena.
struct BesideGpu {
  std::string library, what;
  int64_t version, bytes;
};

/// A collective, as one rank takes part in it.
struct Collective {
  std::string in; // what the rank is doing: "step", "metrics" after it, "preparation" of the first
  std::string kind, axes, function,
      type; // "all_reduce sum", "dp, tp", "block.B", "[V 61, D 24], f32"
  std::string file;
  int64_t line = 0, calls = 0;
  int64_t bytes = 0;  // sent by one call
  int64_t staged = 0; // copied by one call into and out of the buffers of MPI; threads have none
  // The time of all calls in a step, where the cluster says what its devices do. Messages between
  // tasks have none, because a pipeline waits for them.
  std::optional<cost::Exchange> predicted;
};

/// A call of a step that only copies.
struct Copy {
  std::string kind, function, file; // "slice", "block.U"
  int64_t line = 0, calls = 0;
  int64_t bytes = 0;      // read and written by one call
  bool isStaging = false; // copies to where a collective takes the value, or from where one left it
};

struct StepReport {
  Summary summary;
  StepTime time; // where the cluster says what its devices do
  std::string plan, policy;
  int64_t stages = 0, microbatches = 0;
  std::string tasks;                      // "0F0 0F1 0B0 ...": stage, kind, microbatch
  std::string updates;                    // when they are, if gradients are summed beside them
  int64_t merged = 0, forwards = 0;       // F of all stages in a function with a backward; all
  std::map<std::string, Work> categories; // "gemm", "attention", "kernel", "copy"
  std::map<std::string, Work> functions;  // "block.F"
  Work total;
  memory::Report memory;
  std::vector<Beside> beside;
  std::vector<BesideGpu> besideGpu; // where the target is one
  memory::GraphCounts graphs;       // of a GPU
  int64_t mostGraphCalls = 0;       // of any rank
  int64_t ranks = 1;
  int64_t channels = 0; // of NCCL, for a group, at most; 0: the plan does not say
  std::string reduce;   // whose order the sums of ranks have: "ordered", "native"
  std::vector<Collective> collectives;
  std::vector<Copy> copies;
  std::vector<FusedRegion> regions;
  std::vector<std::string> approximations; // what the plan asks for beside its element types
  std::vector<AttentionCall> attention;    // on a GPU
  std::vector<int64_t> holds;              // stages of the rank, where ranks hold some
  /// Where stages lie on several ranks: a report for each coordinate along their axis, in order.
  /// The fields above are then those of the ranks that need most memory.
  std::vector<StepReport> ofStages;
};

/// Whether the sections of a step are graphs, on ranks with a process of their own or on a single
/// rank: for all ranks or for none.
inline bool isCaptured(const StepReport &report) {
  return report.mostGraphCalls > 0 && report.mostGraphCalls <= TP_GRAPH_CALLS;
}

} // namespace tplan

#endif // TPLAN_DRIVER_STEPREPORT_H

//===- Report.h - what a plan costs, read off the IR ----------------------===//
//
// After `memory`: bytes by owner, work by category, tasks in order. Nothing here is
// estimated: the numbers are those of the ops that are lowered. What libraries hold
// beside the arena is theirs to say: for that there are measured bounds.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_REPORT_H
#define TPLAN_DRIVER_REPORT_H

#include "lib/Driver/Attention.h"
#include "lib/Driver/Regions.h"
#include "lib/Driver/Summary.h"
#include "lib/Memory/Memory.h"
#include <map>
#include <string>

namespace tplan {

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
  std::string in; // what the rank is doing: "step", "metrics" behind it, "preparation" of the first
  std::string kind, axes, function,
      type; // "all_reduce sum", "dp, tp", "block.B", "[V 61, D 24], f32"
  std::string file;
  int64_t line = 0, calls = 0;
  int64_t bytes = 0;  // sent by one call
  int64_t staged = 0; // copied by one call into and out of the buffers of MPI; threads have none
};

/// A call of a step that only copies.
struct Copy {
  std::string kind, function, file; // "slice", "block.U"
  int64_t line = 0, calls = 0;
  int64_t bytes = 0;      // read and written by one call
  bool isStaging = false; // to where a collective takes it, or from where one has left it
};

struct StepReport {
  Summary summary;
  std::string plan, policy;
  int64_t stages = 0, microbatches = 0;
  std::string tasks;                      // "F0.0 F0.1 B0.0 ...": kind, stage, microbatch
  std::map<std::string, Work> categories; // "gemm", "attention", "kernel", "copy"
  std::map<std::string, Work> functions;  // "block.F"
  Work total;
  memory::Report memory;
  std::vector<Beside> beside;
  std::vector<BesideGpu> besideGpu; // where the target is one
  int64_t graphCalls = 0;           // of a step on a GPU, as they count for a graph
  int64_t ranks = 1;
  std::string reduce; // whose order sums of ranks have: "ordered", "native"
  std::vector<Collective> collectives;
  std::vector<Copy> copies;
  std::vector<FusedRegion> regions;
  std::vector<std::string> approximations; // that the plan asks for, beside its element types
  std::vector<AttentionCall> attention;    // on a GPU
};

/// Whether ranks of their own process, or one alone, have a step as a graph.
bool isCaptured(const StepReport &report);

/// Valid after `memory`. Errors, at the program: a chain that does not bind.
mlir::FailureOr<StepReport> getStepReport(mlir::ModuleOp module);

/// For people: the summary, and every table in plain text.
void printReport(const StepReport &report, llvm::raw_ostream &os);
/// For programs: the same numbers, whole (bytes, operations).
void printReportAsJson(const StepReport &report, llvm::raw_ostream &os);

} // namespace tplan

#endif // TPLAN_DRIVER_REPORT_H

//===- Overlap/Passes.td - what a step waits for ---------------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/overlap.md is written of these
// declarations and of the tests in test/overlap.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_PASSES
#define TPLAN_OVERLAP_PASSES

include "mlir/Pass/PassBase.td"

def OverlapPass : Pass<"overlap", "::mlir::ModuleOp"> {
  let summary = "a call that would need a wait is refused";
  let description = [{
    Refuses what would run without being awaited: a function may hold only calls that are
    complete when they return, a section only ops that are complete where they stand. Waits are
    not built; on a GPU `order-streams` orders the calls that run at once.
  }];
}

def WarnWaitsPass : Pass<"warn-waits", "::mlir::ModuleOp"> {
  let summary = "what a step waits for, though another plan would not, is a warning";
  let description = [{
    Warns, at the lines of the plan, of collectives of activations that no line asks for, and of
    those that cross nodes, with the bytes and seconds that they take in a step. Less than a
    millisecond a step is no warning, nor is what no line asks for and takes less than a tenth of
    all that ranks wait for each other. It changes nothing.
  }];
}

#endif // TPLAN_OVERLAP_PASSES

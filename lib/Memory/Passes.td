//===- Memory/Passes.td - places, and what a GPU does at once --------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/memory.md is written of these
// declarations and of the tests in test/memory.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_MEMORY_PASSES
#define TPLAN_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def PlanFramesPass : Pass<"plan-frames", "::mlir::ModuleOp"> {
  let summary = "a place for each value inside its function";
  let description = [{
    Gives each value inside a function its place: in the function's frame, in the memory of an
    argument that it updates, or in the caller's memory for a result. Calls that may work in
    place share memory. Where the in-place rule would overwrite what is still read, a copy is
    inserted. Frames are packed by what is live at once.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def CheckAwaitsPass : Pass<"check-awaits", "::mlir::ModuleOp"> {
  let summary = "what is started shares no bytes with other calls before its await";
  let description = [{
    Refuses a function in which a call between the start of a collective and its await writes bytes
    that the collective reads, or touches bytes that it writes. A plan never fails it: it finds
    a wrong place, or a start or await that was moved.
  }];
}

def RepeatUpdatesPass : Pass<"repeat-updates", "::mlir::ModuleOp"> {
  let summary = "updates of equal layers become one launch for all of them";
  let description = [{
    On a GPU the update of equal layers becomes one launch for all of them: their weights,
    states and gradients lie at constant strides, and the second number of a block is the layer.
    A function qualifies where each call is a kernel whose operands are all of an argument's
    memory or numbers of the step. Its call leaves the run of layers, with `layers` as many as
    the run has.
  }];
}

def PlanArenaPass : Pass<"plan-arena", "::mlir::ModuleOp"> {
  let summary = "a place for everything else in one arena; over budget is refused";
  let description = [{
    Places everything that functions are given in one arena: first what lives from step to step
    (weights, gradients, states, rows of tokens, scalars), then what lives in a step, packed by
    what is live at once over all entries. For a GPU it adds staging, workspace and scratch. A
    plan that needs more than its `memory` is refused, with what is largest at the peak.
  }];
}

def NumberGraphsPass : Pass<"number-graphs", "::mlir::ModuleOp"> {
  let summary = "which graph of a GPU a section is for each microbatch";
  let description = [{
    On a GPU each section of a step is captured as a graph, without its head, and replayed. Two
    microbatches have the same graph of a section where all that it touches has the same slots and
    instances for both. So the number of graphs grows with the slots, which a schedule needs, and
    not with the microbatches.
  }];
}

#endif // TPLAN_MEMORY_PASSES

//===- Schedule/Passes.td - the program of a step --------------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/schedule.md is written of these
// declarations and of the tests in test/schedule.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_PASSES
#define TPLAN_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def OrderTasksPass : Pass<"order-tasks", "::mlir::ModuleOp"> {
  let summary = "a policy orders the tasks; the chains move into the program";
  let description = [{
    Asks the plan's policy, or orders of the user's, for the order of tasks (F, B, or I and W of a
    stage and a microbatch), and makes a `sched.program` of it with the chains inside: one for a
    rank with all stages, or one for each coordinate along the axis of the stages, with messages
    among the tasks, and awaits of those where messages are started (`overlap pp`; without the line,
    where the step then takes less time, or on a GPU whose costs nobody knows). The order is checked. What the backwards of a stage leave to be summed over
    ranks is summed by a task of its own, R, after the last of them; only weights that several stages
    read wait for the end of the step. A stage whose backwards are cut for some microbatches
    has them cut for all. Functions that no task runs are erased.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def FormProgramPass : Pass<"form-program", "::mlir::ModuleOp"> {
  let summary = "the chains become sections of work, entries that execute them, and values";
  let description = [{
    The chains in a program become values, sections of work on these, and entries that execute
    the sections. What a step does between and after its tasks (counts, cotangents of losses, sums
    of what several stages add to, norm, updates, states) is decided here and nowhere again. No later phase
    asks by name who makes a value, because its uses say it. Where layers have a part `early_reduce`, tasks R get a second section
    with it, and the step a second entry, of early steps.
  }];
}

def StepKernelsPass : Pass<"step-kernels", "::mlir::ModuleOp"> {
  let summary = "what a step computes between its functions, as kernels";
  let description = [{
    What a step computes of its own numbers becomes kernels: the cotangents of losses from their
    counts, the norm of the gradients, and what becomes of the scale of a scaled loss. They are
    no host code, so no number of a step leaves the device, and a step can be captured.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FormSumsPass : Pass<"form-sums", "::mlir::ModuleOp"> {
  let summary = "a kernel for each kind of sum over ranks";
  let description = [{
    On a GPU what ranks have is added up by kernels of ours, so that the order of a sum is the same on
    every transport. Adds an `rt.sum` for each element type and reduction of the program's
    collectives: those in functions, those of the step, and the sums of losses and counts, which the
    runtime makes when it reads them.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect"];
}

def HoistInputsPass : Pass<"hoist-inputs", "::mlir::ModuleOp"> {
  let summary = "what a microbatch alone has comes first in its sections";
  let description = [{
    On a GPU the sections of a step are captured as graphs. What a section reads by the number of
    its microbatch (rows of tokens, the first row for dropout) is copied first, to one place for
    all microbatches, and these copies are the section's head, which is issued by itself. The rest
    can then be one graph for all microbatches that have their memory in the same places.
  }];
}

def CountSlotsPass : Pass<"count-slots", "::mlir::ModuleOp"> {
  let summary = "what is kept for a microbatch gets slots, as many as are live at once";
  let description = [{
    Values that one task touches first and another one last are a family. The order of tasks
    says how many microbatches have a family live at once: so many slots it gets, and each
    microbatch one of them. Lives are read off uses, completions and order, so every policy is
    served by the same code. What a step does once may touch no such value.
  }];
}

def CheckMessagesPass : Pass<"check-messages", "::mlir::ModuleOp"> {
  let summary = "the programs of all ranks meet in their messages, and in sums over stages";
  let description = [{
    Plays the programs of all ranks together, entry by entry: each send meets the receive of the
    other rank with the same types in the same order, each sum over stages meets those of the
    other stages, and all come to their end. A send waits for its receive here, one that is started
    where it is awaited, so what ends here ends on every transport. It changes nothing.
  }];
}

#endif // TPLAN_SCHEDULE_PASSES

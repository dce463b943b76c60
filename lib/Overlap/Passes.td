//===- Overlap/Passes.td - what a step waits for ---------------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/overlap.md is written of these
// declarations and of the tests in test/overlap.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_PASSES
#define TPLAN_OVERLAP_PASSES

include "mlir/Pass/PassBase.td"

def MergePairsPass : Pass<"merge-pairs", "::mlir::ModuleOp"> {
  let summary = "a forward and a backward that are done together call their layers in pairs";
  let description = [{
    Where the schedule does F of one microbatch and a backward of another together (`F 0 3 with I 3 1`:
    DualPipe, 1F1B with `ahead`), both tasks get a section in common (`overlap pairs`; without the
    line, where costs say that a pair of layers gains by it): the first layer of the one with the
    first of the other, and so on, as one function that has the calls of both. `order-calls` then
    runs what the one exchanges beside what the other computes. Functions that exchange weights
    or gradients (ZeRO 2 and 3) stay apart, because `cut-exchanges` hides these under whole layers.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect", "::tplan::rt::RTDialect"];
}

def MergeReductionsPass : Pass<"merge-reductions", "::mlir::ModuleOp"> {
  let summary = "sums of gradients that compute run under the last backward";
  let description = [{
    A sum of gradients that is compressed has kernels between its exchanges, so it has no stream of
    its own. Where the sums of a stage follow its last backward (R), that of a layer becomes one
    function with what the backward does next (`overlap dp`; without the line, where costs say that
    it gains), and `order-calls` runs what it sends beside that. The sum of the last layer follows
    alone, and sums that are exchanges alone are left to `start-reductions`. The last backward gets a section of its own. In a pipeline sums stay in R, because what a backward
    leaves to another stage would wait for them; so do they where memory is short.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect", "::tplan::rt::RTDialect"];
}

def ChunkExchangesPass : Pass<"chunk-exchanges", "::mlir::ModuleOp"> {
  let summary = "activations are gathered and summed in chunks, beside the GEMMs that read or make them";
  let description = [{
    A gather of activations that GEMMs read, or a sum of what GEMMs make, becomes one for each
    part, and so do the GEMMs: one part is multiplied while another is exchanged (`overlap tp`;
    without the line, where costs say that the layer gains by it). Where the blocks of ranks are the
    outermost pieces, a part is the block of one rank, and each rank begins with its own (gather) or
    ends with it (reduce-scatter). Blocks that are to be added are kept until all have come, and
    added in the order of the members. Else a part is one of up to four of the outermost dimension.
    Kernels between GEMMs and a sum are cut with them, if they compute row by row. So are, where all
    exchange a part of the outermost dimension together, kernels and tiles of attention that read
    what comes in parts or make what goes in parts: then a chunk goes from one exchange to the next
    while others are under way, which costs weigh as a whole against chunks of some exchanges. A
    GEMM of a part has the tiles and the algorithm of the whole, and a kernel's tasks end where
    parts do, so no bit changes.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect", "::mlir::arith::ArithDialect"];
}

def OrderCallsPass : Pass<"order-calls", "::mlir::ModuleOp"> {
  let summary = "within a function, collectives run beside other calls";
  let description = [{
    Starts a collective of a function as soon as what it reads is there, and awaits it before the
    first call that reads what it makes. Where a call would wait, a later one that need not wait
    comes before it, by the prices of the cluster; or what most work and waits depend on comes first
    anywhere, if that is faster. Which collectives may be started the plan says
    (`overlap tp`: activations, `zero`: weights and gradients in blocks; without the line, all that
    wins). A function in which nothing is gained stays as it is. With `tplan.keeps_memory` on the
    module, which the driver writes where a plan would need too much memory, the frame of a function
    grows only where the plan says what is started; with `tplan.room`, where a program that calls it
    has room, or by as many bytes as all that call it have to spare.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect"];
}

def CutExchangesPass : Pass<"cut-exchanges", "::mlir::ModuleOp"> {
  let summary = "what a layer exchanges for its weights leaves its function";
  let description = [{
    Cuts a function that gathers weights (ZeRO 3), or sums gradients in every microbatch (ZeRO 2 and
    3), into the gathers, the rest, the sums, and the additions onto the gradients, so that
    `rotate-layers` can call them apart (`overlap zero`; without the line, where costs say that the
    layer gains by it). What goes from one to another is in flight: values of the program with an
    owner of their own. A program that has no room for that (`tplan.room` on the module, which the driver writes
    where memory decides) calls a copy of the function that keeps its sums, or all.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def GatherAheadPass : Pass<"gather-ahead", "::mlir::ModuleOp"> {
  let summary = "weights of a task's first layers are gathered while its message is on its way";
  let description = [{
    Where a rank awaits, or receives, what a task needs of another stage, it first starts to gather the
    weights of the first layers of that task (`overlap zero`, ZeRO 3 in a pipeline): of as many as the memory of
    the plan has room for, and of two where it does not say. The task awaits each where the layer
    begins. When it is done, the gather of the next layer without memory starts, into the memory of this one. A
    backward of which the last one has a section of its own stays as it is.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def RotateLayersPass : Pass<"rotate-layers", "::mlir::ModuleOp"> {
  let summary = "a layer's weights are gathered, and its gradients summed, beside its neighbours";
  let description = [{
    Starts what a layer gathers before the layer before it, and awaits what it sums, and adds it,
    after the layer after it. In the loop of a run that is the next, or the last, period; the first and
    the last one become loops of their own, where the neighbour is in another run or there is none.
    What is in flight has two instances by turns. Additions onto a gradient keep their order: a sum
    that a neighbour would touch is awaited before that.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def KeepGatheredPass : Pass<"keep-gathered", "::mlir::ModuleOp"> {
  let summary = "weights of a forward's last layer stay for the backward that follows";
  let description = [{
    Where each forward of a stage is followed by the backward of the same microbatch, what
    `rotate-layers` gathers for the last layer of the forward (ZeRO 3: the head, as a rule) is not
    gathered again for the first one of the backward, if it is the same weight in the same type. It
    lives from one section to the other, in a family of one slot, until its last use. Other layers
    gather twice: their weights would take memory while all between them is computed.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def SplitReductionsPass : Pass<"split-reductions", "::mlir::ModuleOp"> {
  let summary = "sums of gradients that are to be started are over one group of ranks";
  let description = [{
    Where sums of gradients are started (`overlap dp`), those that a layer makes over another group than
    most bytes, or over one after the other, leave its function for one of their own, which is called
    where all sums were. A stream runs in order: in one function, the gradients of a norm, which are
    summed over dp and then over tp, would keep the stream of tp waiting for all sums over dp, and
    with it the backward of the layer before.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect", "::tplan::rt::RTDialect"];
}

def StartReductionsPass : Pass<"start-reductions", "::mlir::ModuleOp"> {
  let summary = "sums of gradients run under the last backward";
  let description = [{
    What ranks add up after the last backward of a stage is started in it, layer by layer
    (`overlap dp`; without the line, where costs are known). The last backward gets a section of its
    own. A layer's sums are awaited where the end of the step first touches them; on a GPU in R,
    after the message to another stage, or at the end of the section where there are no stages. Where the first steps have sums of their
    own, these are started in a last section of early steps, and both are awaited in R. Sums with
    other calls beside them stay where `merge-reductions` has left them.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def CutLastLayerPass : Pass<"cut-last-layer", "::mlir::ModuleOp"> {
  let summary = "the last sums of a backward begin within its last layer";
  let description = [{
    Nothing is computed after the last layer of a backward, so all that it gives to its gradients would
    be summed while ranks wait. Its function becomes two: the first has what some gradients need,
    whose sums are started after it, and the second one runs beside these. Which gradients
    come first costs say, by what is left to wait for at the end; a layer stays whole where nothing
    is gained. Both sums are awaited in one place.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect", "::tplan::rt::RTDialect"];
}

def DeferGathersPass : Pass<"defer-gathers", "::mlir::ModuleOp"> {
  let summary = "updated weights are gathered beside the next step's first forward";
  let description = [{
    Updates that gather what their ranks have computed (ZeRO 1 and 2 in a lower precision) no longer
    do so. The section of the first forward begins with what part `prepare` does, cut in two: what each rank makes of its rows of the masters, and the gathers,
    which are started for all layers and awaited before the first step that reads a layer (`overlap
    zero`; without the line, where costs are known). An evaluation prepares the copies first. In a
    pipeline a stage's gathers are started before it receives its first message. In a program in which
    anything else reads a copy at the end of the step or before a forward, all stays as it is.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def UpdateEarlyPass : Pass<"update-early", "::mlir::ModuleOp"> {
  let summary = "a layer is updated while the gradients of other layers are summed";
  let description = [{
    Where the end of a step awaits sums of gradients layer by layer, the update of a layer comes
    there, too, after the layer's norm (`overlap dp`, as for the sums), if nothing that comes of all
    gradients goes into it: with `clip` and with a scale of f16 updates come after the norm of all.
    Updates that exchange something (ZeRO 1 in f32) stay, because the stream has the sums to do.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def CheckStartsPass : Pass<"check-starts", "::mlir::ModuleOp"> {
  let summary = "what a step starts it awaits, and nothing touches it meanwhile";
  let description = [{
    Refuses an op that is neither complete where it stands nor awaited. Then plays the step,
    instance by instance, and refuses an event that is signalled twice before it is awaited, an
    await of what has not been started, an op that reads what a call in flight writes or writes what
    it reads, and a call that is in flight when the step ends. A plan never fails it.
  }];
}

def AssignStreamsPass : Pass<"assign-streams", "::mlir::ModuleOp"> {
  let summary = "a stream for the collectives of each group, and events around them";
  let description = [{
    Gives each collective and message a stream, by its group or channel, and two events: its stream
    waits for the first, which is recorded after all that was issued before it, and the second is
    recorded after it, for its await. Collectives that follow each other share their events. On a
    CPU there are streams only where something is started. On a GPU what a section starts for another one, and
    all that stands before it, is issued by itself (`head`), and so is its await: a graph ends when
    all in it has ended.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def CheckStreamsPass : Pass<"check-streams", "::mlir::ModuleOp"> {
  let summary = "streams and events are those that starts and awaits ask for";
  let description = [{
    Refuses what is exchanged in a stream other than that of its group or channel, because the
    operations of a group would have no order, and an event that is recorded again while a collective in
    flight holds it, because its await would wait for something else. A plan never fails it.
  }];
  let dependentDialects = ["::tplan::sched::SchedDialect"];
}

def WarnWaitsPass : Pass<"warn-waits", "::mlir::ModuleOp"> {
  let summary = "communication that another plan would not need is a warning";
  let description = [{
    Warns, at the lines of the plan, of collectives of activations that no line asks for, and of
    those that cross nodes, with the bytes and seconds that they take in a step, whether or not
    other work hides them. Less than a millisecond a step is no warning, nor is what no line asks
    for and takes less than a tenth of all communication. It changes nothing.
  }];
}

#endif // TPLAN_OVERLAP_PASSES

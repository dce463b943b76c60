//===- Shard/Passes.td - layouts, collectives, sizes of one rank -----------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/shard.md is written of these
// declarations and of the tests in test/shard.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_PASSES
#define TPLAN_SHARD_PASSES

include "mlir/Pass/PassBase.td"

def SplitMicrobatchesPass : Pass<"split-microbatches", "::mlir::ModuleOp"> {
  let summary = "the batch dimension becomes a microbatch of all ranks";
  let description = [{
    The dimension of the batch becomes that of one microbatch of all ranks together. Dimensions
    go by name, so this changes the size of one name. What is summed over it (losses, metrics,
    gradients) is added up over microbatches.
  }];
}

def SplitStagesPass : Pass<"split-stages", "::mlir::ModuleOp"> {
  let summary = "runs are cut at stage borders, by the plan or by cost";
  let description = [{
    Runs of layers are cut where a stage ends, so that each lies in one. The plan's `stages`
    says how many layers each stage has; where it says nothing and stages lie on ranks, they are
    cut so that the slowest stage is as fast as it can be, into as many as the schedule has. A
    schedule with two copies of all stages gets the runs twice, with stages of their own. A layer costs what its joint
    function multiplies and writes, which is known before any layout, so all targets have one
    cut.
  }];
}

def AssignLayoutsPass : Pass<"assign-layouts", "::mlir::ModuleOp"> {
  let summary = "a layout over the mesh for every value; changes of layout as dist.reshard";
  let description = [{
    Writes beside each value how ranks share it (`#dist.layout`), and a `dist.reshard` where an
    op takes a value in another layout than it is made in. Sizes stay global: without its
    layouts the module is the serial program. A value is converted where it is made, to the
    layout in which most of its readers take it.
  }];
  let dependentDialects = ["::tplan::dist::DistDialect"];
}

def CheckLayoutsPass : Pass<"check-layouts", "::mlir::ModuleOp"> {
  let summary = "every op, border and sum is judged by its layouts";
  let description = [{
    Judges each op, each border between functions and each sum of a step by the layouts that are
    written beside values: no sum may be left pending, added twice, or read as if it were
    complete. It reads no plan and changes nothing. It runs after `assign-layouts`, and again
    after `derive-collectives`.
  }];
}

def DeriveCollectivesPass : Pass<"derive-collectives", "::mlir::ModuleOp"> {
  let summary = "changes of layout become the cheapest collectives";
  let description = [{
    Each `dist.reshard` becomes the cheapest chain of collectives and slices that makes the
    change, over latency and bytes of the cluster's links. Collectives of activations are
    marked, and among them those that no line of the plan asks for, which `warn-waits` reads.
  }];
  let dependentDialects = ["::tplan::dist::DistDialect"];
}

def LocalizePass : Pass<"localize", "::mlir::ModuleOp"> {
  let summary = "global sizes become those of one rank";
  let description = [{
    Global sizes become those of one rank, and layouts go. One function serves all ranks: what
    depends on the rank is a scalar, its member number along the axes that cut a dimension.
    Where ranks do not divide a size, blocks are padded, and what sums or contracts the padding
    masks it.
  }];
  let dependentDialects = ["::tplan::dist::DistDialect"];
}

def CutMessagesPass : Pass<"cut-messages", "::mlir::ModuleOp"> {
  let summary = "what ranks have alike is sent in parts, where that is cheaper";
  let description = [{
    Ranks of a stage that have a value alike, as those along `tp` do, would each send it whole to the
    next stage. Where links between stages are slower than those between these ranks, each sends its
    part alone, and the receivers gather the whole. This makes the functions that cut and gather,
    and says of each result of a run how it is sent; `form-program` calls them with the message.
    Nothing is added up, so no bit changes.
  }];
  let dependentDialects = ["::tplan::dist::DistDialect"];
}

def SumStagesPass : Pass<"sum-stages", "::mlir::ModuleOp"> {
  let summary = "what adds up the parts that several stages have of a gradient";
  let description = [{
    Where layers of several stages read one weight, each stage has a part of its gradient. This
    makes the function that adds the part of one stage to that of another; `form-program` calls
    it, whether the part is on the same rank or comes in a message.
  }];
}

def CompressGradientsPass : Pass<"compress-gradients", "::mlir::ModuleOp"> {
  let summary = "what ranks add up of gradients is exchanged in fewer bytes";
  let description = [{
    With a line `compress gradients` a sum of gradients over its axes becomes an exchange of their
    compressed form: each rank sends each other one its block, which that decodes and adds in f32,
    in the order of the coordinates. Where all ranks want the sum, it is compressed again and
    gathered. Of a sum in two hops, the one between nodes is compressed.

    Once a step (part `reduce`), a rank adds to a gradient what earlier steps lost of it, and
    keeps what this one loses, of the sum that it compresses again as well: a state in f32, `error`,
    with the gradient's layout before the sum. In a backward, where each microbatch is summed, no
    rank has a whole gradient, and nothing is kept.

    With `powersgd` ranks add up two factors of each matrix instead, in steps after the first
    `start`. What these do stays as it was, as part `early_reduce`.

    A gradient whose blocks do not fill what a rank sends another one, or whose factors save less
    than half, is exchanged as before.
  }];
  let dependentDialects = ["::tplan::dist::DistDialect"];
}

def CompressWeightsPass : Pass<"compress-weights", "::mlir::ModuleOp"> {
  let summary = "what ranks gather of weights comes in fewer bytes";
  let description = [{
    With `compress weights` a gather of a weight over its axes becomes one of its compressed form:
    each rank encodes its block, all gather the parts, and decode them, their own block as well. So
    all compute with the same weight; the optimizer's is not rounded. Of gathers that follow each
    other the first is compressed. A weight whose blocks do not fill the rows of a rank is gathered
    as before.
  }];
  let dependentDialects = ["::tplan::dist::DistDialect"];
}

#endif // TPLAN_SHARD_PASSES

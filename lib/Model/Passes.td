//===- Model/Passes.td - from tplan to a chain of nn functions -------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/model.md is written of these
// declarations and of the tests in test/model.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_MODEL_PASSES
#define TPLAN_MODEL_PASSES

include "mlir/Pass/PassBase.td"

def InlineLayersPass : Pass<"inline-layers", "::mlir::ModuleOp"> {
  let summary = "calls of layers become their bodies";
  let description = [{
    Each call of a layer, and each list of layers, becomes the body of the layer. A weight gets
    the member's name as a prefix, so two calls of one member share it. A list stays one
    `tplan.for` whose region holds the inlined body once, however long it is.
  }];
}

def ExpandBuiltinsPass : Pass<"expand-builtins", "::mlir::ModuleOp"> {
  let summary = "built-in functions in nn primitives";
  let description = [{
    Each built-in function (`softmax`, `rms_norm`, `cross_entropy`, `rotary`, ...) becomes its
    formula in primitives of `nn`. What a formula needs for its numbers stands here and nowhere
    else: a softmax subtracts a maximum that counts as a constant, and a sigmoid has no exp of a
    large number.
  }];
}

def CutUpdatesPass : Pass<"cut-updates", "::mlir::ModuleOp"> {
  let summary = "updates of states and metrics are cut at their sums over the batch";
  let description = [{
    An update of a state, and a metric, is a function of states and of sums over the global
    batch. The sums stay in the layer as contributions, to which each microbatch adds. What
    reads them moves into a `tplan.once`, which runs when the step is through.
  }];
}

def HoistTablesPass : Pass<"hoist-tables", "::mlir::ModuleOp"> {
  let summary = "tables of sizes alone (rotary cosines) leave the lists";
  let description = [{
    What a list computes of sizes alone, such as the sines and cosines of positions, is the same
    in each of its layers. It is computed once before the list, which then reads it as an
    invariant value.
  }];
}

def OutlineLayersPass : Pass<"outline-layers", "::mlir::ModuleOp"> {
  let summary = "the model as a chain of layer functions";
  let description = [{
    The body of the model is cut at its lists. A list becomes a run of one function for each
    kind of layer, and the code between lists becomes a function that runs once: `nn.param`,
    `nn.layer` and the `nn.chain` that binds them. The length of the chain does not depend on
    how deep the model is. A value that several runs read gets a layer of its own that forks it,
    so that each cotangent of a value of the chain has one writer.
  }];
}

def MergeLayersPass : Pass<"merge-layers", "::mlir::ModuleOp"> {
  let summary = "equal layers are one function";
  let description = [{
    Layers with equal bodies are written once, whether they stand in two lists or are two
    members. Several runs then call one function, so code and the time to compile it follow what
    is distinct.
  }];
}

#endif // TPLAN_MODEL_PASSES

//===- Differentiate/Passes.td - joint layers and updates ------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/differentiate.md is written of these
// declarations and of the tests in test/differentiate.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIFFERENTIATE_PASSES
#define TPLAN_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiateLayersPass : Pass<"differentiate-layers", "::mlir::ModuleOp"> {
  let summary = "forward layers become joint layers";
  let description = [{
    The backward of each distinct layer is appended to its forward, in one graph. A joint layer
    takes the cotangents of what it hands on and emits, and gives those of what it reads. No
    residual is chosen here: `cut-joint` cuts the graph.
  }];
}

def AddProbesPass : Pass<"add-probes", "::mlir::ModuleOp"> {
  let summary = "each value leaves a number of itself, for tplanc verify";
  let description = [{
    Each value in floating point of a joint layer leaves one number: the sum over half of its
    elements, drawn by logical position, added to the gradient of a weight that nothing reads.
    These numbers go the way of all gradients, so two plans of one recipe have equal ones.
    `tplanc verify` asks for this pass where two trainings differ, and names the first value
    whose number differs.
  }];
}

def AddUpdatesPass : Pass<"add-updates", "::mlir::ModuleOp"> {
  let summary = "gradient norm and optimizer as layer functions";
  let description = [{
    Adds two parts to each layer with weights: `norm` adds the squares of its gradients to the
    norm of all, and `update` is the optimizer, which also writes zeros to the gradients that it
    has read. A weight that several runs bind is updated by the first of them. Where the loss is
    scaled, `update` multiplies gradients by the scalar `unscale`, and keeps the old values
    where it is 0.
  }];
}

#endif // TPLAN_DIFFERENTIATE_PASSES

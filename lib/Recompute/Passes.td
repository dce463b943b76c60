//===- Recompute/Passes.td - joint layers become parts ---------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/recompute.md is written of these
// declarations and of the tests in test/recompute.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RECOMPUTE_PASSES
#define TPLAN_RECOMPUTE_PASSES

include "mlir/Pass/PassBase.td"

def SplitPoliciesPass : Pass<"split-policies", "::mlir::ModuleOp"> {
  let summary = "a layer with two policies of recompute becomes two";
  let description = [{
    Runs are cut where the plan's policy of recompute changes. A layer with two policies gets a
    copy of its functions under another name, with the policy as an attribute that `cut-joint`
    reads.
  }];
}

def CutJointPass : Pass<"cut-joint", "::mlir::ModuleOp"> {
  let summary = "joint layers become parts: forward, backward and evaluate";
  let description = [{
    A joint layer becomes its parts: forward (F), backward in one (B) or cut in what the
    cotangents of inputs need (I) and the rest (W), and evaluate (E). What F leaves to I and W,
    and I to W, is three minimum cuts by bytes, in which what is cheap to compute again is not
    kept. Under `full` F leaves nothing but the layer's own inputs. What the backward contributes to
    states is in B and in I.
  }];
}

#endif // TPLAN_RECOMPUTE_PASSES

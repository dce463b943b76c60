//===- Precision/Passes.td - element types ---------------------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/precision.md is written of these
// declarations and of the tests in test/precision.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PRECISION_PASSES
#define TPLAN_PRECISION_PASSES

include "mlir/Pass/PassBase.td"

def WidenPrecisionPass : Pass<"widen-precision", "::mlir::ModuleOp"> {
  let summary = "precision f64: every f32 becomes f64";
  let description = [{
    With `precision f64` every f32 of the program becomes f64. The result is the same program
    with wider numbers, which other plans are compared with. `precision tf32` changes no type,
    and is refused for a CPU, which has no such GEMM.
  }];
}

def SplitPrecisionsPass : Pass<"split-precisions", "::mlir::ModuleOp"> {
  let summary = "precision of parts: runs are cut where layers compute in other precisions";
  let description = [{
    With `precision bf16, f32 for head, blocks[0]`, GEMMs that read the named weights, and those of
    their gradients, compute in another precision than the plan. Each joint function gets the
    attribute `precisions`, which names such weights. Where layers of a run are unlike, the run is
    cut, and the layer gets a copy, with its other parts, for each set of precisions.
  }];
}

def NarrowMastersPass : Pass<"narrow-masters", "::mlir::ModuleOp"> {
  let summary = "precision .., master bf16: weights that are kept in a narrow type";
  let description = [{
    With `precision bf16, master bf16` weights are stored in bf16 alone: widened where they are read,
    updated in f32, and rounded to nearest where they are written. GEMMs in bf16 read them as they
    are. Gradients stay f32.
  }];
}

def QuantiseGemmsPass : Pass<"quantise-gemms", "::mlir::ModuleOp"> {
  let summary = "precision fp8: operands of GEMMs in f8, with scales";
  let description = [{
    With `precision bf16, fp8(blockwise) for linear`, contractions that read such a weight, and those
    of its gradient, get operands in f8 with scales, by the recipe's row in Recipes.def. Where a scale
    is for a part of a dimension, that is split (`nn.split`). A value is quantised from f32, once
    for each direction in which contractions sum; a weight's codes and scales are working copies,
    which the part `update` writes. With `delayed` multipliers are states, which part `states` makes
    of the maxima that values contribute. What has no such blocks stays, with a remark.
  }];
}

def AuditScalesPass : Pass<"audit-scales", "::mlir::ModuleOp"> {
  let summary = "each scale, its maximum and the codes are recorded";
  let description = [{
    Each value in f8 goes through an `nn.audit`, with its scale and the largest magnitude that the
    scale is made of, and a weight's as it is updated; delayed scales where part `states` makes
    them. `tplanc --audit-scales` asks for this pass; the
    program then writes what they record (docs/fp8.md).
  }];
}

def NarrowPrecisionPass : Pass<"narrow-precision", "::mlir::ModuleOp"> {
  let summary = "precision bf16, f16: contractions, attention and what layers carry";
  let description = [{
    With `precision bf16` or `f16`, operands and results of contractions and attention, and what
    layers hand to each other, are rounded to the narrow type. All other arithmetic, losses,
    gradients of weights and the optimizer stay f32. Weights stay f32, unless `narrow-masters` keeps
    them narrow, and contractions read a narrow copy, which is an `nn.param` of its own that the part
    `update` writes. Contractions of a
    weight with a precision of its own (`split-precisions`) have that one.
  }];
}

def NarrowMomentsPass : Pass<"narrow-moments", "::mlir::ModuleOp"> {
  let summary = "precision .., moments bf16: states of the optimizer in a narrow type";
  let description = [{
    With `precision bf16, moments bf16` what part `update` keeps of past gradients is stored in bf16:
    widened where it is read, rounded to nearest where it is written. A weight is updated with
    moments in f32, before they are rounded. An optimizer without moments is an error, a beta under
    which a rounded moment need not decay a warning.
  }];
}

def WidenRoundingsPass : Pass<"widen-roundings", "::mlir::ModuleOp"> {
  let summary = "precision bf16 in f64, f16 in f64: the same program in f64, with its roundings";
  let description = [{
    With `precision bf16 in f64` or `f16 in f64`, what was of the narrow type is rounded to it
    and kept in f64, where the narrow plan rounds it. Such a program is the oracle of a narrow
    plan: a difference between the two is an error of its code, and no rounding that the plan
    chose.
  }];
}

#endif // TPLAN_PRECISION_PASSES

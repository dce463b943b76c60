//===- Parts.td - the parts of a layer ------------------------------------===//
//
// What a layer becomes: functions that run at different times of a step. The facts about each stand
// in one table, in Parts.h.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_NN_PARTS
#define TPLAN_NN_PARTS

include "mlir/IR/EnumAttr.td"

def NN_Part : I32EnumAttr<"Part", "a part of a layer", [
    I32EnumAttrCase<"Forward", 0, "forward">,
    I32EnumAttrCase<"Backward", 1, "backward">, // all of it in one
    I32EnumAttrCase<"BackwardInputs", 2, "backward_inputs">, // what the cotangents of inputs need
    I32EnumAttrCase<"BackwardWeights", 3, "backward_weights">, // the rest: cotangents of weights
    I32EnumAttrCase<"Evaluate", 4, "evaluate">, // the forward without residuals and dropout
    I32EnumAttrCase<"Norm", 5, "norm">,         // adds the squares of the gradients
    I32EnumAttrCase<"Update", 6, "update">,     // the optimizer
    I32EnumAttrCase<"Prepare", 7, "prepare">,   // writes working copies before the first step
    I32EnumAttrCase<"States", 8, "states">,     // updates the model's own states; metrics
    I32EnumAttrCase<"Reduce", 9, "reduce">,     // makes the sums over ranks that are pending
    // These two belong to a message between stages, not to a layer: what a rank sends of a value that others have, too,
    // and the whole again of what they have received.
    I32EnumAttrCase<"Cut", 10, "cut">,
    I32EnumAttrCase<"Gather", 11, "gather">,
    I32EnumAttrCase<"EarlyReduce", 12, "early_reduce"> // in place of `reduce` in the first steps
  ]> {
  let cppNamespace = "::tplan::nn";
  let genSpecializedAttr = 0;
}

#endif // TPLAN_NN_PARTS

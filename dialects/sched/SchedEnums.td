//===- SchedEnums.td - kinds of tasks, owners of memory --------------------===//
// Apart from Sched.td, which includes the enums of nn: each is generated once.
#ifndef TPLAN_SCHED_ENUMS
#define TPLAN_SCHED_ENUMS

include "mlir/IR/EnumAttr.td"

def Sched_TaskKind : I32EnumAttr<"TaskKind", "what a task runs", [
    I32EnumAttrCase<"F", 0>, // forward
    I32EnumAttrCase<"B", 1>, // backward in one
    I32EnumAttrCase<"I", 2>, // cotangents of carried and invariant values
    I32EnumAttrCase<"W", 3>  // cotangents of parameters
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_Owner : I32EnumAttr<"Owner", "what a piece of memory holds", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,
    I32EnumAttrCase<"Gradient", 1, "gradient">,
    I32EnumAttrCase<"State", 2, "state">,         // of the optimizer and of the model
    I32EnumAttrCase<"Copy", 3, "copy">,           // working copies of weights
    I32EnumAttrCase<"Input", 4, "input">,
    I32EnumAttrCase<"Scalar", 5, "scalar">,       // step scalars, losses, counts, metrics
    I32EnumAttrCase<"Residual", 6, "residual">,
    I32EnumAttrCase<"Carried", 7, "carried">,     // inputs of layers that the backward reads
    I32EnumAttrCase<"Cotangent", 8, "cotangent">,
    I32EnumAttrCase<"Chain", 9, "chain">,         // values between runs
    I32EnumAttrCase<"Frame", 10, "frame">,        // temporaries of functions
    I32EnumAttrCase<"Logits", 11, "logits">,
    I32EnumAttrCase<"Staging", 12, "staging">,    // of a device: the next step's inputs
    I32EnumAttrCase<"Workspace", 13, "workspace"> // of a device: for library calls
  ]> {
  let cppNamespace = "::tplan::sched";
}

#endif // TPLAN_SCHED_ENUMS

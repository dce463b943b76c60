//===- SchedEnums.td - kinds of tasks, owners of memory --------------------===//
// Apart from Sched.td, which includes the enums of nn, so that each enum is generated once.
#ifndef TPLAN_SCHED_ENUMS
#define TPLAN_SCHED_ENUMS

include "mlir/IR/EnumAttr.td"

def Sched_TaskKind : I32EnumAttr<"TaskKind", "what a task runs", [
    I32EnumAttrCase<"F", 0>, // forward
    I32EnumAttrCase<"B", 1>, // backward in one
    I32EnumAttrCase<"I", 2>, // cotangents of carried and invariant values
    I32EnumAttrCase<"W", 3>, // cotangents of parameters
    // Messages, with the stage whose task sends or receives: the results of F for the next stage,
    // and those of the backward for the one before.
    I32EnumAttrCase<"SendF", 4, "SF">,
    I32EnumAttrCase<"ReceiveF", 5, "RF">,
    I32EnumAttrCase<"SendB", 6, "SB">,
    I32EnumAttrCase<"ReceiveB", 7, "RB">,
    I32EnumAttrCase<"R", 8>, // sums over ranks of what the backwards of a stage leave in a step
    // Where messages are started: each is complete here.
    I32EnumAttrCase<"AwaitSendF", 9, "ASF">,
    I32EnumAttrCase<"AwaitReceiveF", 10, "ARF">,
    I32EnumAttrCase<"AwaitSendB", 11, "ASB">,
    I32EnumAttrCase<"AwaitReceiveB", 12, "ARB">
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
    I32EnumAttrCase<"Workspace", 13, "workspace">, // of a device: for library calls
    I32EnumAttrCase<"Event", 14, "event">,        // moments at which what was started is complete
    I32EnumAttrCase<"InFlight", 15, "in_flight">, // what ranks exchange while neighbouring layers run
    I32EnumAttrCase<"Error", 16, "error">         // what compression has lost of gradients so far
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_ValueKind : I32EnumAttr<"ValueKind", "what a value of the program is", [
    I32EnumAttrCase<"Parameter", 0, "parameter">,      // also a state of the model
    I32EnumAttrCase<"Gradient", 1, "gradient">,
    I32EnumAttrCase<"State", 2, "state">,              // of the optimizer, by name
    I32EnumAttrCase<"Rows", 3, "rows">,                // of tokens, as the host gives them
    I32EnumAttrCase<"Scalar", 4, "scalar">,            // a number that the host sets
    I32EnumAttrCase<"Member", 5, "member">,            // the rank's number in a group
    I32EnumAttrCase<"Loss", 6, "loss">,                // of a loss or metric: the sum
    I32EnumAttrCase<"LossCotangent", 7, "loss_cotangent">,
    I32EnumAttrCase<"StepNumber", 8, "number">,        // one that the step makes itself, for the log
    I32EnumAttrCase<"Sum", 9, "sum">,                  // of what all ranks have of a number
    I32EnumAttrCase<"Output", 10, "output">,           // for the runtime: logits
    I32EnumAttrCase<"Activation", 11, "activation">,   // of a layer, or between layers
    I32EnumAttrCase<"Frame", 12, "frame">,             // temporaries of functions
    I32EnumAttrCase<"Staging", 13, "staging">,         // of a device: the next step's inputs
    I32EnumAttrCase<"Workspace", 14, "workspace">,     // of a device: for library calls
    I32EnumAttrCase<"Scratch", 15, "scratch">,         // of a device: where parts of ranks meet
    I32EnumAttrCase<"GradientPart", 16, "gradient_part">, // of a weight of several stages: one's
    I32EnumAttrCase<"Term", 17, "term">,               // of a sum that the step makes itself: a stage's
    I32EnumAttrCase<"Count", 18, "count">,             // of the terms of a loss, or layers of a metric
    I32EnumAttrCase<"InUse", 19, "in_use">,            // how many elements of a dimension are in use
    I32EnumAttrCase<"Event", 20, "event">,             // when calls that were started are complete
    I32EnumAttrCase<"InFlight", 21, "in_flight">       // what a layer gathers, or adds up over ranks
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_PlaceKind : I32EnumAttr<"PlaceKind", "whose memory a value of a function has", [
    I32EnumAttrCase<"Frame", 0, "frame">,  // the function's own
    I32EnumAttrCase<"Arg", 1, "arg">,      // that of an argument
    I32EnumAttrCase<"Result", 2, "result"> // of a result: the caller's
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_Life : I32EnumAttr<"Life", "how long a value is kept", [
    I32EnumAttrCase<"Always", 0, "always">,         // from step to step
    I32EnumAttrCase<"Microbatch", 1, "microbatch">, // from its first writer to its last reader, of each
    I32EnumAttrCase<"Section", 2, "section">,       // within one execution of a section
    I32EnumAttrCase<"Entry", 3, "entry">            // until the entry that writes it has ended
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_EntryKind : I32EnumAttr<"EntryKind", "what the runtime calls of a program", [
    I32EnumAttrCase<"Prepare", 0, "prepare">,   // once before the first step
    I32EnumAttrCase<"Step", 1, "step">,         // a training step
    I32EnumAttrCase<"Evaluate", 2, "evaluate">, // a microbatch of an evaluation
    I32EnumAttrCase<"Predict", 3, "predict">,   // a microbatch of samples
    I32EnumAttrCase<"EarlyStep", 4, "early_step"> // one of the first steps, where these differ
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_Times : I32EnumAttr<"Times", "how often an entry executes a section", [
    I32EnumAttrCase<"Once", 0, "once">,
    I32EnumAttrCase<"EachMicrobatch", 1, "each_microbatch">,
    I32EnumAttrCase<"Tasks", 2, "tasks">
  ]> {
  let cppNamespace = "::tplan::sched";
}

def Sched_Border : I32EnumAttr<"Border", "the period of a run in which a use is of another value", [
    I32EnumAttrCase<"First", 0, "first">,
    I32EnumAttrCase<"Last", 1, "last">
  ]> {
  let cppNamespace = "::tplan::sched";
}

#endif // TPLAN_SCHED_ENUMS

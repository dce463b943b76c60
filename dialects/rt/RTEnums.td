//===- RTEnums.td - kinds of kernels ---------------------------------------===//
// Apart from RT.td, which includes the enums of nn, so that each enum is generated once.
#ifndef TPLAN_RT_ENUMS
#define TPLAN_RT_ENUMS

include "mlir/IR/EnumAttr.td"

def RT_Skeleton : I32EnumAttr<"Skeleton", "loop structure of a kernel", [
    I32EnumAttrCase<"Map", 0, "map">,             // element by element
    I32EnumAttrCase<"Row", 1, "row">,             // reductions along the columns; sums over a task's rows
    I32EnumAttrCase<"Column", 2, "column">,       // sums over all rows, parallel over columns
    I32EnumAttrCase<"Transpose", 3, "transpose">  // element by element, an operand with another innermost dimension
  ]> {
  let cppNamespace = "::tplan::rt";
}

// What each of them reads or adds to stands at rt.access.
def RT_AccessKind : I32EnumAttr<"AccessKind", "where a kernel reads an input, or adds to an output", [
    I32EnumAttrCase<"Identity", 0, "identity">, I32EnumAttrCase<"Rotate", 1, "rotate">,
    I32EnumAttrCase<"Repeat", 2, "repeat">, I32EnumAttrCase<"Gather", 3, "gather">,
    I32EnumAttrCase<"Scatter", 4, "scatter">]> {
  let cppNamespace = "::tplan::rt";
}

def RT_Category : I32EnumAttr<"Category", "what a call is, in report and profile", [
    I32EnumAttrCase<"Kernel", 0, "kernel">, I32EnumAttrCase<"Gemm", 1, "gemm">,
    I32EnumAttrCase<"Attention", 2, "attention">,
    I32EnumAttrCase<"Optimizer", 3, "optimizer">, // a kernel of an update; in the profile alone
    I32EnumAttrCase<"Copy", 4, "copy">, I32EnumAttrCase<"Collective", 5, "collective">]> {
  let cppNamespace = "::tplan::rt";
}

def RT_AttentionPass : I32EnumAttr<"AttentionPass", "which attention kernel", [
    I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Backward", 1, "backward">]> {
  let cppNamespace = "::tplan::rt";
}

#endif // TPLAN_RT_ENUMS

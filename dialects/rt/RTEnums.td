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

def RT_AttentionPass : I32EnumAttr<"AttentionPass", "which attention kernel", [
    I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Backward", 1, "backward">]> {
  let cppNamespace = "::tplan::rt";
}

#endif // TPLAN_RT_ENUMS

//===- DistEnums.td - kinds of collectives ----------------------------------===//
// Apart from Dist.td, which includes the enums of nn, so that each enum is generated once.
#ifndef TPLAN_DIST_ENUMS
#define TPLAN_DIST_ENUMS

include "mlir/IR/EnumAttr.td"

// What each kind does to blocks, and its name in the runtime, stands in Kinds.h.
//
// - all_reduce: a pending sum (maximum) over the axes is made.
// - reduce_scatter: the same, and each rank keeps its block of `dim` (or of the rows).
// - all_gather: blocks of `dim` (or of the rows) become the whole.
// - all_to_all: the axes leave `dim` and cut `to`.
// - permute: the blocks of `dim` go to other ranks of the same axes.
def Dist_CollectiveKind : I32EnumAttr<"CollectiveKind", "what the ranks of a group do together", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"Permute", 4, "permute">
  ]> {
  let cppNamespace = "::tplan::dist";
}

def Dist_Undone : I32EnumAttr<"Undone", "how a cut of the plan is undone", [
    I32EnumAttrCase<"Gathers", 0, "gathers">, // for work that no line cuts
    I32EnumAttrCase<"Sums", 1, "sums">        // by sums larger than what layers hand on
  ]> {
  let cppNamespace = "::tplan::dist";
}

#endif // TPLAN_DIST_ENUMS

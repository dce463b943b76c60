//===- DistEnums.td - kinds of collectives ----------------------------------===//
// Apart from Dist.td, which includes the enums of nn, so that each enum is generated once.
#ifndef TPLAN_DIST_ENUMS
#define TPLAN_DIST_ENUMS

include "mlir/IR/EnumAttr.td"

// Numbers and meanings are those of tp_collective_kind in include/tplan/runtime.h.
def Dist_CollectiveKind : I32EnumAttr<"CollectiveKind", "what the ranks of a group do together", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"Permute", 4, "permute">
  ]> {
  let cppNamespace = "::tplan::dist";
}

#endif // TPLAN_DIST_ENUMS

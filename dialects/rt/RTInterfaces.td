//===- RTInterfaces.td - what every call answers ---------------------------===//
#ifndef TPLAN_RT_INTERFACES
#define TPLAN_RT_INTERFACES

include "mlir/IR/OpBase.td"

def RT_Call : OpInterface<"Call"> {
  let cppNamespace = "::tplan::rt";
  let description = [{
    A call of the host program. The report, the profile and the memory phase
    read costs here and nowhere else.
  }];
  let methods = [
    InterfaceMethod<"floating-point operations of one call", "int64_t", "getFlops">,
    InterfaceMethod<"bytes read and written by one call, each operand once", "int64_t", "getBytes">,
    InterfaceMethod<"operand number whose memory result i may take over, or -1", "int64_t",
                    "getAlias", (ins "unsigned":$result), [{}], [{ return -1; }]>,
    InterfaceMethod<"whether result i must take over the memory of getAlias(i): an accumulator",
                    "bool", "mustAlias", (ins "unsigned":$result), [{}], [{ return false; }]>,
    InterfaceMethod<"bytes of the device's workspace without which it cannot run", "int64_t",
                    "getWorkspace", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<"category in the report", "::tplan::rt::Category", "getCategory">
  ];
}

#endif // TPLAN_RT_INTERFACES

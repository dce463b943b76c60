// RUN: tplan-opt --overlap %s | FileCheck %s
// On one rank there is nothing to cut: every call is complete when it returns.
!x = !nn.tensor<[B 2], f32>
// CHECK-LABEL: rt.func @f
// CHECK-NEXT:    rt.launch @k(%arg0)
// CHECK-NEXT:    rt.copy
// CHECK-NEXT:    rt.return
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) : (!x) -> !x
  %1 = rt.copy %0 : !x -> !x
  rt.return %1 : !x
}

// RUN: tplan-opt --overlap %s | FileCheck %s
// EXAMPLE
// Every call that is complete when it returns passes.
!x = !nn.tensor<[B 2], f32>
!m = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[V 3, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// CHECK-LABEL: rt.func @f
// CHECK-NEXT:    rt.launch @k(%arg0)
// CHECK-NEXT:    rt.copy
// CHECK-NEXT:    rt.matmul
// CHECK-NEXT:    rt.collective all_reduce
// CHECK-NEXT:    rt.slice
// CHECK-NEXT:    rt.place
// CHECK-NEXT:    rt.return
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %m: !m {nn.role = "carried", nn.name = "c1"},
           %w: !w {nn.role = "param", nn.name = "w"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) : (!x) -> !x
  %1 = rt.copy %0 : !x -> !x
  %2 = rt.matmul %m, %w : (!m, !w) -> !nn.tensor<[B 2, V 3], f32>
  %3 = rt.collective all_reduce sum %1 over ["dp"] : !x -> !x
  %4 = rt.slice %3 over ["dp"] dim "B" : !x -> !nn.tensor<[B 1], f32>
  %5 = rt.place %4 into %3 over ["dp"] : !nn.tensor<[B 1], f32>, !x -> !x
  rt.return %5 : !x
}
}
// END

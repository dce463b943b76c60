// RUN: tplan-opt --order-calls --split-input-file %s | FileCheck %s
// EXAMPLE
// The weight's gradient, which nobody waits for, is computed while ranks add up what the next layer reads.
!x = !nn.tensor<[B 4096, D 4096], f32>
!w = !nn.tensor<[D 4096, F 4096], f32>
!y = !nn.tensor<[B 4096, F 4096], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["tp"]}
rt.kernel @k map rows [] cols [#nn.dim<"B", 4096>, #nn.dim<"D", 4096>] grain 256 : (!x) -> !x access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}
// CHECK-LABEL: rt.func @f
// CHECK-NEXT:    %0 = rt.matmul %arg1, %arg2
// CHECK-NEXT:    %1, %event = rt.collective all_reduce sum %0
// CHECK-NEXT:    %2 = rt.matmul %arg0, %arg1 onto %arg3
// CHECK-NEXT:    rt.await %event
// CHECK-NEXT:    %3 = rt.launch @k(%1)
// CHECK-NEXT:    rt.return %3, %2
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %dy: !y {nn.role = "cot_carried", nn.name = "c0"},
           %w: !w {nn.role = "param", nn.name = "w"}, %dw: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!x {nn.role = "cot_carried", nn.name = "c0"}, !w {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.matmul %dy, %w : (!y, !w) -> !x
  %1 = rt.collective all_reduce sum %0 over ["tp"] {dist.activation} : !x -> !x
  %2 = rt.launch @k(%1) : (!x) -> !x
  %3 = rt.matmul %x, %dy onto %dw : (!x, !y, !w) -> !w
  rt.return %2, %3 : !x, !w
}
}
// END

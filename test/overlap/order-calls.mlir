// RUN: tplan-opt --order-calls --split-input-file %s | FileCheck %s
// RUN: sed 's/100000000>/0>/' %s | tplan-opt --order-calls --split-input-file | FileCheck %s --check-prefix NONE
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

// -----

// Where exchanges stay in functions, a program has bytes for one more gradient: the third one is computed when the first one is summed and added.
// With none to spare the second one is not summed before that, either.
!x = !nn.tensor<[B 4096, D 4096], f32>
!w = !nn.tensor<[D 4096, F 4096], f32>
!y = !nn.tensor<[B 4096, F 4096], f32>
!own = !nn.tensor<[own.rows 2048, F 4096], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, tplan.room = array<i64: 1, 2, 100000000>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["zero"]}
rt.kernel @add map rows [] cols [#nn.dim<"own.rows", 2048>, #nn.dim<"F", 4096>] grain 256 : (!own, !own) -> !own access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32, %b: f32):
  %0 = arith.addf %a, %b : f32
  rt.yield %0 : f32
}
// CHECK-LABEL: rt.func @f
// CHECK-NEXT:    %0 = rt.matmul %arg0, %arg1
// CHECK-NEXT:    %1, %event = rt.collective reduce_scatter sum %0
// CHECK-NEXT:    %2 = rt.matmul %arg0, %arg1
// CHECK-NEXT:    %3, %event_0 = rt.collective reduce_scatter sum %2
// CHECK-NEXT:    rt.await %event
// CHECK-NEXT:    rt.launch @add(%arg2, %1)
// CHECK-NEXT:    rt.matmul %arg0, %arg1
// CHECK:         rt.await %event_0
// NONE-LABEL: rt.func @f(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}})
// NONE:         rt.await %event
// NONE-NEXT:    rt.launch @add(%arg2, %1)
// NONE-NEXT:    rt.collective reduce_scatter sum %2
// NONE-NEXT:    rt.matmul
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %dy: !y {nn.role = "cot_carried", nn.name = "c0"}, %g: !own {nn.role = "cot_param", nn.name = "g"},
           %h: !own {nn.role = "cot_param", nn.name = "h"}, %i: !own {nn.role = "cot_param", nn.name = "i"})
    -> (!own {nn.role = "cot_param", nn.name = "g"}, !own {nn.role = "cot_param", nn.name = "h"}, !own {nn.role = "cot_param", nn.name = "i"}) {
  %0 = rt.matmul %x, %dy : (!x, !y) -> !w
  %1 = rt.collective reduce_scatter sum %0 over ["dp"] : !w -> !own
  %2 = rt.matmul %x, %dy : (!x, !y) -> !w
  %3 = rt.collective reduce_scatter sum %2 over ["dp"] : !w -> !own
  %4 = rt.matmul %x, %dy : (!x, !y) -> !w
  %5 = rt.collective reduce_scatter sum %4 over ["dp"] : !w -> !own
  %6 = rt.launch @add(%g, %1) {in_place = array<i64: 0, 0>} : (!own, !own) -> !own
  %7 = rt.launch @add(%h, %3) {in_place = array<i64: 0, 0>} : (!own, !own) -> !own
  %8 = rt.launch @add(%i, %5) {in_place = array<i64: 0, 0>} : (!own, !own) -> !own
  rt.return %6, %7, %8 : !own, !own, !own
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain always bytes 67108864 x 1
  %y = sched.value <activation "y"> cotangent always bytes 67108864 x 1
  %g = sched.value <gradient of @a.w> gradient always bytes 33554432 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 { sched.run "backward" "a[0]" x 1 { sched.call @f from(%x, %y, %g[0], %g[1], %g[2]) } }
  sched.entry step [#sched.execute<tasks>]
}
}

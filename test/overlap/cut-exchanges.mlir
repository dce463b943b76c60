// RUN: tplan-opt --cut-exchanges --split-input-file %s | FileCheck %s
// EXAMPLE
// The forward of a layer under ZeRO 3 gathers its weight in a function of its own.
!x = !nn.tensor<[B 4, D 8], f32>
!w = !nn.tensor<[D 8, F 8], f32>
!y = !nn.tensor<[B 4, F 8], f32>
!own = !nn.tensor<[own.rows 4, F 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["zero"]}
// CHECK:      rt.func @a.F.gather(%arg0: {{.*}} nn.role = "param"}) -> ({{.*}} nn.role = "in_flight"})
// CHECK-NEXT:   rt.collective all_gather sum %arg0
// CHECK:      rt.func @a.F(%arg0: {{.*}}"carried"}, %arg1: {{.*}}"in_flight"}) ->
// CHECK-NEXT:   rt.matmul %arg0, %arg1
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %w: !own {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "res_fw", nn.name = "r"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  %1 = rt.matmul %x, %0 : (!x, !w) -> !y
  rt.return %1 : !y
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain always bytes 128 x 1
  %y = sched.value <activation "y"> residual always bytes 128 x 2
  %w = sched.value <parameter of @a.w> parameter always bytes 128 x 2
  // CHECK: sched.run "forward"
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[W:.+]][period]) to(%[[A:.+]])
  // CHECK-NEXT:   sched.call @a.F from(%{{.+}}, %[[A]]) to(%{{.+}}[period])
  sched.section @F.0 task F 0 { sched.run "forward" "a[1..2]" x 2 { sched.call @a.F from(%x, %w[period]) to(%y[period]) } }
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
}
// END

// -----

// The backward also sums the gradient in a function of its own, and adds it in another.
!x = !nn.tensor<[B 4, D 8], f32>
!w = !nn.tensor<[D 8, F 8], f32>
!own = !nn.tensor<[own.rows 4, F 8], f32>
!y = !nn.tensor<[B 4, F 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["zero"]}
rt.kernel @add map rows [] cols [#nn.dim<"own.rows", 4>, #nn.dim<"F", 8>] grain 32 : (!own, !own) -> !own access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%g: f32, %d: f32):
  %0 = arith.addf %g, %d : f32
  rt.yield %0 : f32
}
// CHECK:      rt.func @a.B.gather(%arg0: {{.*}} nn.role = "param"}) -> ({{.*}}[D 8, F 8], f32> {nn.name = "w", nn.role = "in_flight"})
// CHECK-NEXT:   rt.collective all_gather
// CHECK:      rt.func @a.B(%arg0: {{.*}}"invariant"}, %arg1: {{.*}}"cot_carried"}, %arg2: {{.*}}"in_flight"})
// CHECK-SAME:   part = #nn.part<backward>
// CHECK-NEXT:   %0 = rt.matmul %arg1, %arg2
// CHECK-NEXT:   %1 = rt.matmul %arg0, %arg1
// CHECK-NEXT:   rt.return %0, %1
// CHECK:      rt.func @a.B.sum(%arg0: {{.*}}"in_flight"})
// CHECK-NEXT:   rt.collective reduce_scatter
// CHECK:      rt.func @a.B.add(%arg0: {{.*}}"cot_param"}, %arg1: {{.*}}"in_flight"})
// CHECK-NEXT:   rt.launch @add(%arg0, %arg1)
rt.func @a.B(%x: !x {nn.role = "invariant", nn.name = "i0"}, %w: !own {nn.role = "param", nn.name = "w"},
             %dy: !y {nn.role = "cot_carried", nn.name = "c0"}, %dw: !own {nn.role = "cot_param", nn.name = "w"})
    -> (!x {nn.role = "cot_carried", nn.name = "c0"}, !own {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @a, part = #nn.part<backward>} {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  %1 = rt.matmul %dy, %0 : (!y, !w) -> !x
  %2 = rt.matmul %x, %dy : (!x, !y) -> !w
  %3 = rt.collective reduce_scatter sum %2 over ["dp"] : !w -> !own
  %4 = rt.launch @add(%dw, %3) {in_place = array<i64: 0, 0>} : (!own, !own) -> !own
  rt.return %1, %4 : !x, !own
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain always bytes 128 x 1
  %w = sched.value <parameter of @a.w> parameter always bytes 128 x 3
  %g = sched.value <gradient of @a.w> gradient always bytes 128 x 3
  %h = sched.value <activation "h"> cotangent always bytes 128 x 4
  %f = sched.value <frame "a.B"> frame section bytes 0 x 1
  sched.section @F.0 task F 0 {}
  // CHECK:      %[[P:.+]] = sched.value <in_flight "a.B w"> in_flight section bytes 256 x 1
  // CHECK-NEXT: %[[S:.+]] = sched.value <in_flight "a.B.sum w"> in_flight section bytes 128 x 1
  // CHECK:      sched.run "backward" "a[0..2]" x 3 descending {
  // CHECK-NEXT:   sched.call @a.B.gather from(%[[W:.+]][period]) to(%[[A:.+]])
  // CHECK-NEXT:   sched.call @a.B from(%{{.+}}, %{{.+}}[period + 1], %[[A]]) to(%{{.+}}[period], %[[P]]) frame %[[F:.+]]
  // CHECK-NEXT:   sched.call @a.B.sum from(%[[P]]) to(%[[S]])
  // CHECK-NEXT:   sched.call @a.B.add from(%{{.+}}[period], %[[S]]) frame %[[F]]
  // CHECK-NEXT: }
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..2]" x 3 descending {
    sched.call @a.B from(%x, %w[period], %h[period + 1], %g[period]) to(%h[period]) frame %f
  } }
  sched.entry step [#sched.execute<tasks>]
}
}

// RUN: tplan-opt --merge-reductions --split-input-file %s | FileCheck %s
// RUN: sed 's/"dp", 2>>}/"dp", 2>>, tplan.room = array<i64: 2, 0, 0>}/' %s | tplan-opt --merge-reductions --split-input-file | FileCheck %s --check-prefix=ROOM
// EXAMPLE
// What a layer's gradients are summed by rounds them first, so it is no exchange alone: it becomes one function with the backward of the layer before.
!g = !nn.tensor<[D 8], f32>
!h = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.copy %g : !g -> !h %1 = rt.collective all_reduce sum %0 over ["dp"] : !h -> !h %2 = rt.copy %1 : !h -> !g rt.return %2 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1, R 0 0] {
  %g = sched.value <gradient of @a.w> gradient entry bytes 32 x 3
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0.last task B 0 last {
  // CHECK-NEXT:   sched.run "backward" "a[0..2]" x 1 descending {
  // CHECK-NEXT:     sched.call @a.B from(%[[G:.+]][2])
  // CHECK:        sched.run "backward" "a[0..2]" x 2 descending {
  // CHECK-NEXT:     sched.call @a.B.a.R from(%[[G]][period], %[[G]][period + 1])
  // CHECK:        sched.run "reduce" "a[0..2]" x 1 {
  // CHECK-NEXT:     sched.call @a.R from(%[[G]])
  // CHECK:      sched.section @R.0 task R 0 {
  // CHECK-NEXT: }
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..2]" x 3 descending { sched.call @a.B from(%g[period]) } }
  sched.section @R.0 task R 0 { sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%g[period]) } }
  sched.entry step [#sched.execute<tasks>]
}
}
// END
// A program whose memory has no room for the temporaries of both keeps them apart.
// ROOM:     tplan.room = array<i64: 2, 0, 0>
// ROOM-NOT: B.a.R

// -----

// The sum of one loop's layer runs beside the first layer of the next loop, past what touches nothing of it. Sums that are exchanges
// alone stay, because they are started; others run beside the layer that they are of.
!g = !nn.tensor<[D 8], f32>
!h = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.copy %g : !g -> !h
  %1 = rt.collective all_reduce sum %0 over ["dp"] : !h -> !h
  %2 = rt.copy %1 : !h -> !g
  rt.return %2 : !g
}
rt.func @b.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
// A function that no section calls any more is gone.
// CHECK:       rt.func @a.B.a.R(
// CHECK-NOT:   rt.func @a.R(
// CHECK-LABEL: sched.program @loops
sched.program @loops policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %a = sched.value <gradient of @a.w> gradient entry bytes 32 x 1
  %b = sched.value <gradient of @b.w> gradient entry bytes 32 x 1
  %c = sched.value <gradient of @c.w> gradient entry bytes 32 x 1
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK-NEXT:   sched.run "backward" "a" x 1 {
  // CHECK-NEXT:     sched.call @a.B from(%[[A:.+]])
  // CHECK:        sched.zero
  // CHECK-NEXT:   sched.run "backward" "c" x 1 {
  // CHECK-NEXT:     sched.call @a.B.a.R from(%[[C:.+]], %[[A]])
  // CHECK:        sched.run "backward" "b" x 1 {
  // CHECK-NEXT:     sched.call @a.B.a.R from(%{{.+}}, %[[C]])
  // CHECK-NOT:    sched.run
  sched.section @B.0 task B 0 {
    sched.run "backward" "a" x 1 { sched.call @a.B from(%a) }
    sched.zero to(%n)
    sched.run "backward" "c" x 1 { sched.call @a.B from(%c) }
    sched.run "backward" "b" x 1 { sched.call @a.B from(%b) }
  }
  // CHECK:      sched.section @R.0 task R 0 {
  // CHECK-NEXT:   sched.run "reduce" "b" x 1 {
  // CHECK-NEXT:     sched.call @b.R
  // CHECK-NOT:      sched.call
  sched.section @R.0 task R 0 {
    sched.run "reduce" "a" x 1 { sched.call @a.R from(%a) }
    sched.run "reduce" "c" x 1 { sched.call @a.R from(%c) }
    sched.run "reduce" "b" x 1 { sched.call @b.R from(%b) }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// Two kinds of layers in turn: the sum of each beside the other, in its turn or the next.
!g = !nn.tensor<[D 8], f32>
!h = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @b.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.copy %g : !g -> !h
  %1 = rt.collective all_reduce sum %0 over ["dp"] : !h -> !h
  %2 = rt.copy %1 : !h -> !g
  rt.return %2 : !g
}
// CHECK-LABEL: sched.program @kinds
sched.program @kinds policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %a = sched.value <gradient of @a.w> gradient entry bytes 32 x 2
  %b = sched.value <gradient of @b.w> gradient entry bytes 32 x 2
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK-NEXT:   sched.run "backward" "a+b" x 1 descending {
  // CHECK-NEXT:     sched.call @b.B from(%[[B:.+]][1])
  // CHECK-NEXT:     sched.call @a.B.a.R from(%[[A:.+]][1], %[[B]][1])
  // CHECK:        sched.run "backward" "a+b" x 1 descending {
  // CHECK-NEXT:     sched.call @b.B.a.R from(%[[B]], %[[A]][1])
  // CHECK-NEXT:     sched.call @a.B.a.R from(%[[A]], %[[B]])
  // CHECK:        sched.run "reduce" "a+b" x 1 {
  // CHECK-NEXT:     sched.call @a.R from(%[[A]])
  sched.section @B.0 task B 0 {
    sched.run "backward" "a+b" x 2 descending {
      sched.call @b.B from(%b[period])
      sched.call @a.B from(%a[period])
    }
  }
  sched.section @R.0 task R 0 {
    sched.run "reduce" "a+b" x 2 {
      sched.call @a.R from(%a[period])
      sched.call @a.R from(%b[period])
    }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// In a pipeline all stays: what a backward leaves to another stage would wait for the sum.
!g = !nn.tensor<[D 8], f32>
!h = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.copy %g : !g -> !h
  %1 = rt.collective all_reduce sum %0 over ["dp"] : !h -> !h
  %2 = rt.copy %1 : !h -> !g
  rt.return %2 : !g
}
// CHECK-LABEL: sched.program @stages
sched.program @stages policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0, R 1 0] {
  %g = sched.value <gradient of @a.w> gradient entry bytes 32 x 3
  %x = sched.value <output "x"> carried microbatch bytes 16 x 1
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  sched.section @F.1 task F 1 {}
  // CHECK: sched.run "backward" "a[0..2]" x 3 descending {
  sched.section @B.1 task B 1 { sched.run "backward" "a[0..2]" x 3 descending { sched.call @a.B from(%g[period]) } }
  sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
  // CHECK: sched.run "reduce" "a[0..2]" x 3 {
  sched.section @R.1 task R 1 { sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%g[period]) } }
  sched.entry step [#sched.execute<tasks>]
}
}

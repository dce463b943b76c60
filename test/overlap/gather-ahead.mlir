// RUN: tplan-opt --gather-ahead --split-input-file %s | FileCheck %s
// EXAMPLE
// The weight of a stage's first layer is gathered while the message from stage 0 is on its way.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">} {
rt.func @a.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  rt.return %0 : !w
}
rt.func @a.F(%x: !w {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "in_flight", nn.name = "w"}) -> (!w {nn.role = "carried", nn.name = "c0"}) { rt.return %x : !w }
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain always bytes 32 x 5
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 4
  %a = sched.value <in_flight "a.F.gather w"> in_flight section bytes 32 x 1
  // CHECK: sched.family @F.1.ahead from RF 1 to F 1 slots 1 bytes 64 slot_of [0]
  // CHECK: sched.call @a.F.gather from(%[[W:.+]]) to(%[[AHEAD:.+]], %[[E:.+]]) started
  // CHECK: sched.receive
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  // CHECK:      sched.await from(%[[E]])
  // CHECK-NEXT: sched.call @a.F from(%[[X:.+]], %[[AHEAD]]) to(%[[X]][1])
  // CHECK:      sched.call @a.F.gather from(%[[W]][period + 1]) to(%[[OWN:.+]])
  // CHECK-NEXT: sched.call @a.F from(%[[X]][period + 1], %[[OWN]]) to(%[[X]][period + 2])
  sched.section @F.1 task F 1 { sched.run "forward" "a[5..8]" x 4 {
    sched.call @a.F.gather from(%w[period]) to(%a) sched.call @a.F from(%x[period], %a) to(%x[period + 1])
  } }
  sched.section @B.1 task B 1 {} sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
  sched.entry step [#sched.execute<tasks>]
}
}
// END

// -----

// With room for three layers: all of the first run, in its own order, and one of the second one, where two gather in each period. The
// message is awaited elsewhere than posted. Nothing is left in flight of the first run alone.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">, tplan.room = array<i64: 3, 3>} {
// CHECK: tplan.room = array<i64: 3, 2>
rt.func @a.B.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  rt.return %0 : !w
}
rt.func @a.B(%w: !w {nn.role = "in_flight", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !w }
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, ASF 0 0, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain always bytes 32 x 1
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 8
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 8
  // CHECK-NOT: "a.B.gather w"
  %a = sched.value <in_flight "a.B.gather w"> in_flight section bytes 32 x 1
  // CHECK: in_flight "a.B.gather w, call 2"
  %b = sched.value <in_flight "a.B.gather w, call 2"> in_flight section bytes 32 x 1
  %c = sched.value <in_flight "a.B.gather w, call 3"> in_flight section bytes 32 x 1
  %e = sched.value <event "RB.0"> event always bytes 64 x 1
  %s = sched.value <event "SF.0"> event always bytes 64 x 1
  // CHECK: sched.family @B.0.ahead from ARB 0 to B 0 slots 1 bytes 128 slot_of [0]
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) to(%s[microbatch]) started }
  sched.section @ASF.0 task ASF 0 { sched.await from(%s[microbatch]) }
  sched.section @RB.0 task RB 0 { sched.receive "B of stage 1" from rank 1 to(%x, %e[microbatch]) started }
  // CHECK:      sched.section @ARB.0
  // CHECK-NEXT:   sched.run "backward" "a[6..7]" x 2 descending {
  // CHECK-NEXT:     sched.call @a.B.gather from(%[[W:.+]][period + 6]) to(%[[A:.+]][period], %[[E:.+]][period]) started
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.await
  sched.section @ARB.0 task ARB 0 { sched.await from(%e[microbatch]) }
  // CHECK:      sched.section @B.0
  // CHECK-NEXT:   sched.run "backward" "a[6..7]" x 2 descending {
  // CHECK-NEXT:     sched.await from(%[[E]][period])
  // CHECK-NEXT:     sched.call @a.B from(%[[A]][period], %[[G:.+]][period + 6])
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.run "backward" "ab" x 3 descending {
  // CHECK-NEXT:     sched.call @a.B.gather from(%[[W]][period * 2 + 1])
  sched.section @B.0 task B 0 {
    sched.run "backward" "a[6..7]" x 2 descending {
      sched.call @a.B.gather from(%w[period + 6]) to(%a)
      sched.call @a.B from(%a, %g[period + 6])
    }
    sched.run "backward" "ab" x 3 descending {
      sched.call @a.B.gather from(%w[period * 2 + 1]) to(%b)
      sched.call @a.B from(%b, %g[period * 2 + 1])
      sched.call @a.B.gather from(%w[period * 2]) to(%c)
      sched.call @a.B from(%c, %g[period * 2])
    }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// What the task writes before a layer is not gathered ahead of that; nor is anything where the message of the next microbatch comes
// before the task of this one.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">} {
// CHECK-LABEL: rt.func @b.F.gather(
rt.func @b.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  rt.return %0 : !w
}
rt.func @b.F(%w: !w {nn.role = "in_flight", nn.name = "w"}) { rt.return }
sched.program @step.0 policy "p" stages 3 microbatches 2 rank 1 holds [1]
    tasks [RF 1 0, RF 1 1, F 1 0, SF 1 0, F 1 1, SF 1 1, RB 1 0, B 1 0, SB 1 0, RB 1 1, B 1 1, SB 1 1] {
  %x = sched.value <activation "x"> chain always bytes 32 x 1
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 1
  %a = sched.value <in_flight "b.F.gather w"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "b.F.gather w, call 2"> in_flight section bytes 32 x 1
  // CHECK-NOT: sched.family
  // CHECK-NOT: started
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  sched.section @F.1 task F 1 { sched.run "forward" "b" x 1 {
    sched.call @b.F.gather from(%w) to(%a)
    sched.call @b.F from(%a)
  } }
  sched.section @SF.1 task SF 1 { sched.send "F of stage 1" to rank 2 from(%x) }
  sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
  sched.section @RB.1 task RB 1 { sched.receive "B of stage 2" from rank 2 to(%x) }
  sched.section @B.1 task B 1 {
    sched.zero to(%w)
    sched.run "backward" "b" x 1 {
      sched.call @b.F.gather from(%w) to(%b)
      sched.call @b.F from(%b)
    }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

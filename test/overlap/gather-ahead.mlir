// RUN: tplan-opt --gather-ahead --check-starts --split-input-file %s | FileCheck %s
// EXAMPLE
// The weights of a stage's first two layers are gathered while the message from stage 0 is on its way.
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
  // CHECK: sched.call @a.F.gather from(%[[W:.+]][period]) to(%[[A:.+]][period mod 2], %[[E:.+]][period mod 2]) started
  // CHECK: sched.receive
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  // CHECK:      sched.run "forward" "a[5..8]" x 2 {
  // CHECK-NEXT: sched.await from(%[[E]][period mod 2])
  // CHECK-NEXT: sched.call @a.F from(%[[X:.+]][period], %[[A]][period mod 2]) to(%[[X]][period + 1])
  // CHECK-NEXT: sched.call @a.F.gather from(%[[W]][period + 2]) to(%[[A]][period mod 2], %[[E]][period mod 2]) started
  // CHECK:      sched.await from(%[[E]][period mod 2])
  // CHECK-NEXT: sched.call @a.F from(%[[X]][period + 2], %[[A]][period mod 2]) to(%[[X]][period + 3])
  sched.section @F.1 task F 1 { sched.run "forward" "a[5..8]" x 4 {
    sched.call @a.F.gather from(%w[period]) to(%a) sched.call @a.F from(%x[period], %a) to(%x[period + 1]) } }
  sched.section @B.1 task B 1 {} sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
  sched.entry step [#sched.execute<tasks>]
}
}
// END

// -----

// With room for five layers: both of the first run, and three of five of the second one, backward. There is none for the third run. The message is awaited elsewhere than posted.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">, tplan.room = array<i64: 3, 5, 0>} {
// CHECK: tplan.room = array<i64: 3, 5, 0>
rt.func @a.B.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  rt.return %0 : !w
}
rt.func @a.B(%w: !w {nn.role = "in_flight", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !w }
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, ASF 0 0, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain always bytes 4 x 1
  %y = sched.value <activation "y"> chain always bytes 4 x 1
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 13
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 13
  %a = sched.value <in_flight "a.B.gather w"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "a.B.gather w, call 2"> in_flight section bytes 32 x 1
  // CHECK: in_flight "a.B.gather w, call 3"
  %c = sched.value <in_flight "a.B.gather w, call 3"> in_flight section bytes 32 x 1
  %d = sched.value <in_flight "a.B.gather w, call 4"> in_flight section bytes 32 x 1
  %e = sched.value <event "RB.0"> event always bytes 64 x 1
  %s = sched.value <event "SF.0"> event always bytes 64 x 1
  // CHECK: sched.family @B.0.ahead from ARB 0 to B 0 slots 1 bytes 320 slot_of [0]
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) to(%s[microbatch]) started }
  sched.section @ASF.0 task ASF 0 { sched.await from(%s[microbatch]) }
  sched.section @RB.0 task RB 0 { sched.receive "B of stage 1" from rank 1 to(%y, %e[microbatch]) started }
  // CHECK:      sched.section @ARB.0
  // CHECK-NEXT:   sched.run "backward" "a[11..12]" x 2 descending {
  // CHECK-NEXT:     sched.call @a.B.gather from(%[[W:.+]][period + 11]) to(%[[A:.+]][period mod 2], %[[E:.+]][period mod 2]) started
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.run "backward" "a[6..10]" x 3 descending {
  // CHECK-NEXT:     sched.call @a.B.gather from(%[[W]][period + 8]) to(%[[B:.+]][(period + 2) mod 3], %[[F:.+]][(period + 2) mod 3]) started
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.await
  sched.section @ARB.0 task ARB 0 { sched.await from(%e[microbatch]) }
  // CHECK:      sched.section @B.0
  // CHECK-NEXT:   sched.run "backward" "a[11..12]" x 2 descending {
  // CHECK-NEXT:     sched.await from(%[[E]][period mod 2])
  // CHECK-NEXT:     sched.call @a.B from(%[[A]][period mod 2], %[[G:.+]][period + 11])
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.run "backward" "a[6..10]" x 2 descending {
  // CHECK-NEXT:     sched.await from(%[[F]][period mod 3])
  // CHECK-NEXT:     sched.call @a.B from(%[[B]][period mod 3], %[[G]][period + 9])
  // CHECK-NEXT:     sched.call @a.B.gather from(%[[W]][period + 6]) to(%[[B]][period mod 3], %[[F]][period mod 3]) started
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.run "backward" "a[6..10]" x 3 descending {
  // CHECK-NEXT:     sched.await from(%[[F]][period mod 3])
  // CHECK-NEXT:     sched.call @a.B from(%[[B]][period mod 3], %[[G]][period + 6])
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.run "backward" "ab" x 3 descending {
  // CHECK-NEXT:     sched.call @a.B.gather from(%[[W]][period * 2 + 1])
  sched.section @B.0 task B 0 {
    sched.run "backward" "a[11..12]" x 2 descending {
      sched.call @a.B.gather from(%w[period + 11]) to(%a)
      sched.call @a.B from(%a, %g[period + 11])
    }
    sched.run "backward" "a[6..10]" x 5 descending {
      sched.call @a.B.gather from(%w[period + 6]) to(%b)
      sched.call @a.B from(%b, %g[period + 6])
    }
    sched.run "backward" "ab" x 3 descending {
      sched.call @a.B.gather from(%w[period * 2 + 1]) to(%c)
      sched.call @a.B from(%c, %g[period * 2 + 1])
      sched.call @a.B.gather from(%w[period * 2]) to(%d)
      sched.call @a.B from(%d, %g[period * 2])
    }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// Two layers that gather in each period: each has memory of its own, and events.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">} {
// CHECK-LABEL: rt.func @c.F.gather(
rt.func @c.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  rt.return %0 : !w
}
rt.func @c.F(%w: !w {nn.role = "in_flight", nn.name = "w"}) { rt.return }
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain always bytes 4 x 1
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 6
  %a = sched.value <in_flight "a.F.gather w"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "b.F.gather w"> in_flight section bytes 32 x 1
  // CHECK:      sched.section @RF.1
  // CHECK-NEXT:   sched.run "forward" "ab" x 1 {
  // CHECK-NEXT:     sched.call @c.F.gather from(%[[W:.+]]) to(%[[A:.+]], %[[E:.+]]) started
  // CHECK-NEXT:     sched.call @c.F.gather from(%[[W]][1]) to(%[[B:.+]], %[[E]][1]) started
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  // CHECK:        sched.run "forward" "ab" x 2 {
  // CHECK-NEXT:     sched.await from(%[[E]])
  // CHECK-NEXT:     sched.call @c.F from(%[[A]])
  // CHECK-NEXT:     sched.call @c.F.gather from(%[[W]][(period + 1) * 2]) to(%[[A]], %[[E]]) started
  // CHECK-NEXT:     sched.await from(%[[E]][1])
  // CHECK-NEXT:     sched.call @c.F from(%[[B]])
  // CHECK-NEXT:     sched.call @c.F.gather from(%[[W]][(period + 1) * 2 + 1]) to(%[[B]], %[[E]][1]) started
  // CHECK-NEXT:   }
  sched.section @F.1 task F 1 { sched.run "forward" "ab" x 3 {
    sched.call @c.F.gather from(%w[period * 2]) to(%a)
    sched.call @c.F from(%a)
    sched.call @c.F.gather from(%w[period * 2 + 1]) to(%b)
    sched.call @c.F from(%b)
  } }
  sched.section @B.1 task B 1 {} sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
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

// RUN: tplan-opt --defer-gathers --split-input-file %s | FileCheck %s
// EXAMPLE
// The update of a layer leaves its copy to the next step: the first forward makes it of the masters, started for all layers and awaited where each is read.
!w = !nn.tensor<[own.rows 4], f32>
!s = !nn.tensor<[own.rows 4], bf16>
!c = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["zero"]}
rt.func @a.F(%c: !c {nn.role = "param", nn.name = "w.bf16"}) { rt.return }
rt.func @a.P(%w: !w {nn.role = "param", nn.name = "w"}) -> (!c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @a, part = #nn.part<prepare>} {
  %0 = rt.copy %w : !w -> !s %1 = rt.collective all_gather sum %0 over ["dp"] : !s -> !c rt.return %1 : !c
}
rt.func @a.U(%w: !w {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"}, !c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @a, part = #nn.part<update>} {
  %0 = rt.copy %w : !w -> !s %1 = rt.collective all_gather sum %0 over ["dp"] : !s -> !c rt.return %w, %1 : !w, !c
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 3
  %c = sched.value <parameter of @a.w.bf16> copy always bytes 16 x 3
  sched.section @prepare { sched.run "prepare" "a[0..2]" x 3 { sched.call @a.P from(%w[period]) to(%c[period]) } }
  // CHECK:      sched.section @F.0.first task F 0 first {
  // CHECK-NEXT:   sched.run "prepare" "a[0..2]" x 3 {
  // CHECK-NEXT:     sched.call @a.P.shards from(%[[M:.+]][period]) to(%[[S:.+]][period])
  // CHECK-NEXT:     sched.call @a.P.gather from(%[[S]][period]) to(%[[C:.+]][period], %[[E:.+]][period]) started
  // CHECK:        sched.run "forward" "a[0..2]" x 3 {
  // CHECK-NEXT:     sched.await from(%[[E]][period])
  // CHECK-NEXT:     sched.call @a.F from(%[[C]][period])
  sched.section @B.0 task B 0 {} sched.section @F.0 task F 0 { sched.run "forward" "a[0..2]" x 3 { sched.call @a.F from(%c[period]) } }
  // CHECK:        sched.call @a.U from(%[[M]][period]){{$}}
  sched.section @end { sched.run "update" "a[0..2]" x 3 { sched.call @a.U from(%w[period]) to(%c[period]) } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}
// END

// -----

// A copy that something else reads at the end of the step, as what sends it to another stage, has to be there: nothing is deferred.
!w = !nn.tensor<[own.rows 4], f32>
!s = !nn.tensor<[own.rows 4], bf16>
!c = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["zero"]}
rt.func @a.F(%c: !c {nn.role = "param", nn.name = "w.bf16"}) { rt.return }
rt.func @a.P(%w: !w {nn.role = "param", nn.name = "w"}) -> (!c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @a, part = #nn.part<prepare>} {
  %0 = rt.copy %w : !w -> !s
  %1 = rt.collective all_gather sum %0 over ["dp"] : !s -> !c
  rt.return %1 : !c
}
// CHECK: rt.func @a.U
// CHECK:   all_gather
rt.func @a.U(%w: !w {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"}, !c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @a, part = #nn.part<update>} {
  %0 = rt.copy %w : !w -> !s
  %1 = rt.collective all_gather sum %0 over ["dp"] : !s -> !c
  rt.return %w, %1 : !w, !c
}
// CHECK-NOT: started
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 1
  %c = sched.value <parameter of @a.w.bf16> copy always bytes 16 x 1
  sched.section @prepare { sched.run "prepare" "a" x 1 { sched.call @a.P from(%w) to(%c) } }
  sched.section @B.0 task B 0 {}
  sched.section @F.0 task F 0 { sched.run "forward" "a" x 1 { sched.call @a.F from(%c) } }
  sched.section @end {
    sched.run "update" "a" x 1 { sched.call @a.U from(%w) to(%c) }
    sched.run "update" "b" x 1 { sched.call @a.F from(%c) }
  }
  sched.entry prepare [#sched.execute<once @prepare>]
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// A later stage starts its gathers before it receives its first message, and awaits them in its first forward. Stage 2 comes after stage 1 on one rank,
// without a message; its layers are of the same value, and of a loop of their own.
!w = !nn.tensor<[own.rows 4], f32>
!s = !nn.tensor<[own.rows 4], bf16>
!c = !nn.tensor<[D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["zero"]}
rt.func @a.F(%c: !c {nn.role = "param", nn.name = "w.bf16"}) { rt.return }
rt.func @a.P(%w: !w {nn.role = "param", nn.name = "w"}) -> (!c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @a, part = #nn.part<prepare>} {
  %0 = rt.copy %w : !w -> !s
  %1 = rt.collective all_gather sum %0 over ["dp"] : !s -> !c
  rt.return %1 : !c
}
rt.func @a.U(%w: !w {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"}, !c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @a, part = #nn.part<update>} {
  %0 = rt.copy %w : !w -> !s
  %1 = rt.collective all_gather sum %0 over ["dp"] : !s -> !c
  rt.return %w, %1 : !w, !c
}
// CHECK-LABEL: sched.program @later
sched.program @later policy "p" stages 4 microbatches 2 rank 1 holds [1, 2] tasks [RF 1 0, F 1 0, F 2 0, SF 2 0, RF 1 1, F 1 1, F 2 1, SF 2 1, RB 2 0, B 2 0, B 1 0, SB 1 0, RB 2 1, B 2 1, B 1 1, SB 1 1] {
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 4
  %c = sched.value <parameter of @a.w.bf16> copy always bytes 16 x 4
  %x = sched.value <output "x"> carried microbatch bytes 16 x 1
  sched.section @prepare {
    sched.run "prepare" "a" x 2 { sched.call @a.P from(%w[period]) to(%c[period]) }
    sched.run "prepare" "a" x 2 { sched.call @a.P from(%w[period + 2]) to(%c[period + 2]) }
  }
  // CHECK:      sched.section @RF.1.first task RF 1 first {
  // CHECK:        sched.call @a.P.gather from({{.*}}) to(%[[C:.+]][period], %[[E:.+]][period]) started
  // CHECK:        sched.receive
  // CHECK:      sched.section @F.1.first task F 1 first {
  // CHECK-NEXT:   sched.run
  // CHECK-NEXT:     sched.await from(%[[E]][period])
  // CHECK-NEXT:     sched.call @a.F from(%[[C]][period])
  // CHECK:      sched.section @F.2.first task F 2 first {
  // CHECK:        sched.call @a.P.gather from({{.*}}) to(%[[C]][period + 2], %[[E2:.+]][period + 2]) started
  // CHECK:        sched.run "forward"
  // CHECK-NEXT:     sched.await from(%[[E2]][period + 2])
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  sched.section @F.1 task F 1 { sched.run "forward" "a" x 2 { sched.call @a.F from(%c[period]) } }
  sched.section @F.2 task F 2 { sched.run "forward" "a" x 2 { sched.call @a.F from(%c[period + 2]) } }
  sched.section @SF.2 task SF 2 { sched.send "F of stage 2" to rank 0 from(%x) }
  sched.section @RB.2 task RB 2 { sched.receive "B of stage 3" from rank 0 to(%x) }
  sched.section @B.2 task B 2 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
  sched.section @end {
    sched.run "update" "a" x 2 { sched.call @a.U from(%w[period]) to(%c[period]) }
    sched.run "update" "a" x 2 { sched.call @a.U from(%w[period + 2]) to(%c[period + 2]) }
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

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

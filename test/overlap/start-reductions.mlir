// RUN: tplan-opt --start-reductions --split-input-file %s | FileCheck %s
// EXAMPLE
// The sums of a layer run while the layers before it go backward; the update of the layer waits for them.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 1, B 0 0, R 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0.last task B 0 last {
  // CHECK-NEXT:   sched.run "backward" "a[0..2]" x 3 descending {
  // CHECK-NEXT:     sched.call @a.B from(%[[G:.+]][period])
  // CHECK-NEXT:     sched.call @a.R from(%[[G]][period]) to(%[[E:.+]][period]) started
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..2]" x 3 descending { sched.call @a.B from(%g[period]) } }
  sched.section @R.0 task R 0 { sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%g[period]) } }
  // CHECK:      sched.run "update" "a[0..2]" x 3 {
  // CHECK-NEXT:   sched.await from(%[[E]][period])
  // CHECK-NEXT:   sched.call @a.B
  sched.section @end { sched.run "update" "a[0..2]" x 3 { sched.call @a.B from(%g[period]) } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}
// END

// -----

// Where something else touches them first, all are awaited before it. With one task its section is the last. A sum with a
// kernel beside it stays where it is.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
rt.func @b.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.copy %g : !g -> !g
  %1 = rt.collective all_reduce sum %0 over ["dp"] : !g -> !g
  rt.return %1 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %h = sched.value <gradient of @b.w> gradient always bytes 32 x 1
  sched.section @F.0 task F 0 {}
  // CHECK: sched.section @B.0 task B 0 {
  // CHECK-NEXT: sched.run "backward" "a[0..2]"
  // CHECK-NEXT:   sched.zero
  // CHECK-NEXT:   sched.call @a.R {{.*}} started
  // CHECK-NOT: last
  sched.section @B.0 task B 0 {
    sched.run "backward" "a[0..2]" x 3 descending { sched.zero to(%g[period]) }
    sched.run "backward" "b" x 1 descending { sched.zero to(%h[period]) }
  }
  // CHECK: sched.section @R.0 task R 0 {
  // CHECK-NEXT: sched.run "reduce" "b" x 1 {
  // CHECK-NEXT:   sched.call @b.R
  sched.section @R.0 task R 0 {
    sched.run "reduce" "b" x 1 { sched.call @b.R from(%h[period]) }
    sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%g[period]) }
  }
  // CHECK: sched.section @end {
  // CHECK-NEXT: sched.run "await" "a[0..2]" x 3 {
  // CHECK-NEXT:   sched.await
  // CHECK: sched.zero
  sched.section @end { sched.zero to(%g) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// Two loops have one title, as where the layer between theirs recomputes otherwise: sums go by what is summed. What two loops add to is
// complete after the second, and where that is another one over other layers, its sum stays where it is.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 2
  %h = sched.value <gradient of @b.w> gradient always bytes 32 x 1
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK-NEXT:   sched.run "backward" "a" x 1 descending {
  // CHECK-NEXT:     sched.zero to(%[[G:.+]][period + 1])
  // CHECK-NEXT:     sched.call @a.R from(%[[G]][period + 1]) to(%[[LATE:.+]][period]) started
  // CHECK:        sched.run "backward" "a" x 1 descending {
  // CHECK-NEXT:     sched.zero to(%[[G]][period])
  // CHECK-NEXT:     sched.zero
  // CHECK-NEXT:     sched.call @a.R from(%[[G]][period]) to(%[[EARLY:.+]][period]) started
  // CHECK:        sched.zero to(%[[H:.+]])
  sched.section @B.0 task B 0 {
    sched.run "backward" "a" x 1 descending { sched.zero to(%g[period + 1]) }
    sched.run "backward" "a" x 1 descending {
      sched.zero to(%g[period])
      sched.zero to(%h)
    }
    sched.zero to(%h)
  }
  // CHECK:      sched.section @R.0 task R 0 {
  // CHECK-NEXT:   sched.run "reduce" "b" x 1 {
  // CHECK-NEXT:     sched.call @a.R from(%[[H]])
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  sched.section @R.0 task R 0 {
    sched.run "reduce" "a" x 1 { sched.call @a.R from(%g[period]) }
    sched.run "reduce" "a" x 1 { sched.call @a.R from(%g[period + 1]) }
    sched.run "reduce" "b" x 1 { sched.call @a.R from(%h) }
  }
  // CHECK:      sched.section @end {
  // CHECK-NEXT:   sched.run "update" "a" x 1 {
  // CHECK-NEXT:     sched.await from(%[[EARLY]][period])
  // CHECK:        sched.run "update" "a" x 1 {
  // CHECK-NEXT:     sched.await from(%[[LATE]][period])
  sched.section @end {
    sched.run "update" "a" x 1 { sched.zero to(%g[period]) }
    sched.run "update" "a" x 1 { sched.zero to(%g[period + 1]) }
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// The two hops of a sum are started together, in the streams of both groups.
!g = !nn.tensor<[D 8], f32>
!o = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp.0", 2 of "dp">, <"dp.1", 2 of "dp">>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective reduce_scatter sum %g over ["dp.1"] : !g -> !o
  %1 = rt.collective all_reduce sum %0 over ["dp.0"] : !o -> !o
  %2 = rt.collective all_gather sum %1 over ["dp.1"] : !o -> !g
  rt.return %2 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK:        sched.call @a.R from(%[[G:.+]][period]) to(%[[E:.+]][period]) started
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..2]" x 3 descending { sched.call @a.B from(%g[period]) } }
  sched.section @R.0 task R 0 { sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%g[period]) } }
  // CHECK:      sched.run "update" "a[0..2]" x 3 {
  // CHECK-NEXT:   sched.await from(%[[E]][period])
  sched.section @end { sched.run "update" "a[0..2]" x 3 { sched.call @a.B from(%g[period]) } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

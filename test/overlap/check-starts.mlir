// RUN: tplan-opt --check-starts %s | FileCheck %s
// EXAMPLE
// Sums of three layers are in flight while other layers are worked on, and each is awaited before it is read.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
// CHECK: sched.program
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %e = sched.value <event "R.0.0"> event always bytes 64 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..2]" x 3 descending {
    sched.call @a.B from(%g[period])
    sched.call @a.R from(%g[period]) to(%e[period]) started
  } }
  sched.section @end { sched.run "update" "a[0..2]" x 3 {
    sched.await from(%e[period])
    sched.call @a.B from(%g[period])
  } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}
// END

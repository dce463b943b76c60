// RUN: tplan-opt --check-starts --split-input-file --verify-diagnostics %s
// Each backward starts it, and only the end awaits it.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %e = sched.value <event "R.0.0"> event always bytes 64 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..2]" x 3 descending {
    // expected-error@below {{signals an event that has not been awaited since the last time: event R.0.0[2]}}
    sched.call @a.R from(%g[period]) to(%e[period]) started
  } }
  sched.section @end { sched.run "await" "a[0..2]" x 3 { sched.await from(%e[period]) } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// It awaits another layer than the one that it reads.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %e = sched.value <event "R.0.0"> event always bytes 64 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @B.0.last task B 0 last { sched.run "backward" "a[0..2]" x 3 descending {
    // expected-note@below {{it is started here}}
    sched.call @a.R from(%g[period]) to(%e[period]) started
  } }
  sched.section @end { sched.run "update" "a[0..2]" x 3 {
    sched.await from(%e[period * -1 + 2])
    // expected-error@below {{touches what a call in flight uses: grad a.w[0]}}
    sched.call @a.B from(%g[period])
  } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// It awaits more than it has started.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %e = sched.value <event "R.0.0"> event always bytes 64 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @B.0.last task B 0 last { sched.run "backward" "a[0..1]" x 2 descending {
    sched.call @a.R from(%g[period]) to(%e[period]) started
  } }
  sched.section @end { sched.run "await" "a[0..2]" x 3 {
    // expected-error@below {{awaits what has not been started: event R.0.0[2]}}
    sched.await from(%e[period])
  } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// It awaits less.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %e = sched.value <event "R.0.0"> event always bytes 64 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @B.0.last task B 0 last { sched.run "backward" "a[0..2]" x 3 descending {
    // expected-error@below {{is started, and not awaited when the entry ends: step}}
    sched.call @a.R from(%g[period]) to(%e[period]) started
  } }
  sched.section @end { sched.run "await" "a[0..1]" x 2 { sched.await from(%e[period]) } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// A later op reads what is in flight.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %e = sched.value <event "R.0.0"> event always bytes 64 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @B.0.last task B 0 last { sched.run "backward" "a[0..2]" x 3 descending {
    // expected-note@below {{it is started here}}
    sched.call @a.R from(%g[period]) to(%e[period]) started
  } }
  sched.section @end {
    // expected-error@below {{touches what a call in flight uses: grad a.w[1]}}
    sched.copy from(%g[1]) to(%g[1])
    sched.run "await" "a[0..2]" x 3 { sched.await from(%e[period]) }
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// It is no call, so nothing says when it is complete.
!x = !nn.tensor<[B 2], f32>
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@below {{has no wait: only calls and awaits may stand in function f}}
  %0 = nn.neg %x : !x
  rt.return %0 : !x
}

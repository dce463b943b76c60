// RUN: tplan-opt --check-streams --split-input-file --verify-diagnostics %s
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  // expected-error@below {{needs the stream #sched.stream<over ["dp"]>, found stream 0}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] : !g -> !g, !rt.event
  rt.await %e
  rt.return %0 : !g
}
}

// -----

!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>], sched.events = 1 : i64} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  // expected-error@below {{names an event of 1, found 1}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>} : !g -> !g, !rt.event
  rt.await %e
  rt.return %0 : !g
}
}

// -----

!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>], sched.events = 2 : i64} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  // expected-error@below {{needs two events, found 1 twice}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 1, 1>} : !g -> !g, !rt.event
  rt.await %e
  rt.return %0 : !g
}
}

// -----

!g = !nn.tensor<[D 8], f32>
// expected-error@below {{has two streams #sched.stream<over ["dp"]>}}
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>, #sched.stream<over ["dp"]>], sched.events = 2 : i64} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0, %e = rt.collective all_reduce sum %x over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>} : !g -> !g, !rt.event
  rt.await %e
  rt.return %0 : !g
}
}

// -----

!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>], sched.events = 4 : i64} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}, !g {nn.role = "cot_param", nn.name = "v"}) {
  // expected-note@below {{it is started here}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>} : !g -> !g, !rt.event
  %2 = rt.copy %x : !g -> !g
  // expected-error@below {{names an event that a collective in flight holds: 1}}
  %1 = rt.collective all_reduce sum %2 over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 2, 1>} : !g -> !g
  rt.await %e
  rt.return %0, %1 : !g, !g
}
}

// -----

!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>], sched.events = 4 : i64} {
// expected-error@below {{needs the stream #sched.stream<over ["dp"]>, found stream 0}}
rt.func @a.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>} : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 1
  %e = sched.value <event "e"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {
    sched.call @a.R from(%g) to(%e) started {sched.stream = 1 : i64, sched.turn = array<i64: 2, 3>}
    sched.await from(%e)
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>], sched.events = 4 : i64} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) attributes {sched.stream = 1 : i64} {
  %0 = rt.collective all_reduce sum %x over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>} : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %g = sched.value <gradient of @a.w> gradient entry bytes 32 x 2
  %e = sched.value <event "e"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {
    // expected-note@below {{it is started here}}
    sched.call @f from(%g[0]) to(%e) started {sched.stream = 1 : i64, sched.turn = array<i64: 2, 3>}
    // expected-error@below {{waits for a function that another call starts: f}}
    sched.call @f from(%g[1])
    sched.await from(%e)
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// RUN: tplan-opt --check-awaits --split-input-file --verify-diagnostics %s
// What it reads is written.
!x = !nn.tensor<[B 4, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !x {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) {sched.places = [#sched.place<frame, 0>]} : (!x) -> !x
  // expected-error@below {{is in flight, and its bytes are touched before its await by rt.launch}}
  %1, %e = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<frame, 64>]} : !x -> !x, !rt.event
  %2 = rt.launch @k(%y) {sched.places = [#sched.place<frame, 32>]} : (!x) -> !x
  rt.await %e {sched.places = []}
  %3 = rt.launch @add(%1, %2) {sched.places = [#sched.place<result, 0>]} : (!x, !x) -> !x
  rt.return %3 : !x
}
}

// -----

// What it writes is written.
!x = !nn.tensor<[B 4, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !x {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) {sched.places = [#sched.place<frame, 0>]} : (!x) -> !x
  // expected-error@below {{is in flight, and its bytes are touched before its await by rt.launch}}
  %1, %e = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<frame, 64>]} : !x -> !x, !rt.event
  %2 = rt.launch @k(%y) {sched.places = [#sched.place<frame, 96>]} : (!x) -> !x
  rt.await %e {sched.places = []}
  %3 = rt.launch @add(%1, %2) {sched.places = [#sched.place<result, 0>]} : (!x, !x) -> !x
  rt.return %3 : !x
}
}

// -----

// What it writes is read: a value whose place it has taken.
!x = !nn.tensor<[B 4, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) {sched.places = [#sched.place<frame, 64>]} : (!x) -> !x
  // expected-error@below {{is in flight, and its bytes are touched before its await by rt.launch}}
  %1, %e = rt.collective all_reduce sum %x over ["dp"] {sched.places = [#sched.place<frame, 64>]} : !x -> !x, !rt.event
  %2 = rt.launch @k(%0) {sched.places = [#sched.place<frame, 128>]} : (!x) -> !x
  rt.await %e {sched.places = []}
  %3 = rt.launch @add(%1, %2) {sched.places = [#sched.place<result, 0>]} : (!x, !x) -> !x
  rt.return %3 : !x
}
}

// RUN: tplan-opt --check-awaits %s | FileCheck %s
// EXAMPLE
// The sum is in flight while the second kernel works on other bytes of the frame.
!x = !nn.tensor<[B 4, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// CHECK-LABEL: rt.func @f
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !x {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) {sched.places = [#sched.place<frame, 0>]} : (!x) -> !x
  %1, %e = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<frame, 64>]} : !x -> !x, !rt.event
  %2 = rt.launch @k(%y) {sched.places = [#sched.place<frame, 128>]} : (!x) -> !x
  rt.await %e {sched.places = []}
  %3 = rt.launch @add(%1, %2) {sched.places = [#sched.place<result, 0>]} : (!x, !x) -> !x
  rt.return %3 : !x
}
}
// END

// RUN: tplan-opt --check-streams %s | FileCheck %s
// EXAMPLE
// The group has a stream, and its collective the first two events.
!g = !nn.tensor<[D 8], f32>
// CHECK: module
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>, sched.streams = [#sched.stream<over ["dp"]>], sched.events = 2 : i64} {
rt.func @f(%x: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0, %e = rt.collective all_reduce sum %x over ["dp"] {sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>} : !g -> !g, !rt.event
  rt.await %e
  rt.return %0 : !g
}
}
// END

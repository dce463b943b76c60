// RUN: tplan-opt --assign-streams --split-input-file %s | FileCheck %s
// EXAMPLE
// The sum that is started has the stream of its group, and all that the group does is in that stream.
!x = !nn.tensor<[B 4, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// Groups in the order in which they come; the first is in stream 1.
// CHECK: module attributes {{.*}}sched.events = 8 : i64, sched.streams = [#sched.stream<over ["dp"]>, #sched.stream<over ["tp"]>]
// CHECK-LABEL: rt.func @f
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !x {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // CHECK: rt.collective all_reduce {{.*}}sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>
  %0, %e = rt.collective all_reduce sum %x over ["dp"] : !x -> !x, !rt.event
  %1 = rt.launch @k(%y) : (!x) -> !x
  rt.await %e
  // CHECK: rt.collective all_reduce {{.*}}sched.stream = 1 : i64, sched.turn = array<i64: 2, 3>
  %2 = rt.collective all_reduce sum %0 over ["dp"] : !x -> !x
  // What is issued together has one turn; another group has one of its own.
  // CHECK: rt.collective all_reduce {{.*}}sched.stream = 1 : i64, sched.turn = array<i64: 4, 5>
  // CHECK: rt.collective all_reduce {{.*}}sched.stream = 1 : i64, sched.turn = array<i64: 4, 5>
  // CHECK: rt.collective all_reduce {{.*}}sched.stream = 2 : i64, sched.turn = array<i64: 6, 7>
  %3 = rt.launch @k(%2) : (!x) -> !x
  %4 = rt.collective all_reduce sum %3 over ["dp"] : !x -> !x
  %5 = rt.collective all_reduce sum %1 over ["dp"] : !x -> !x
  %6 = rt.collective all_reduce sum %2 over ["tp"] : !x -> !x
  rt.return %4 : !x
}
}
// END

// -----

// On a CPU without a start there are no streams.
!x = !nn.tensor<[B 4, D 4], f32>
// CHECK-NOT: sched.stream
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.collective all_reduce sum %x over ["dp"] : !x -> !x
  rt.return %0 : !x
}
}

// -----

// A channel has a stream of its own, by where its ends are from here; a sum over the same axis another one.
// CHECK: module attributes {{.*}}sched.streams = [#sched.stream<over ["pp"] from 0 to 1>, #sched.stream<over ["pp"] from 1 to 0>, #sched.stream<over ["pp"]>, #sched.stream<over ["pp"] from -1 to 0>, #sched.stream<over ["pp"] from 0 to -1>]
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">, tplan.target = #tplan.target<{arch = "sm_90"}>} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  // CHECK: sched.send "F of stage 0" {{.*}}sched.stream = 1 : i64, sched.turn = array<i64: 0, 1>
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) }
  // CHECK: sched.receive "B of stage 1" {{.*}}sched.stream = 2 : i64, sched.turn = array<i64: 2, 3>
  sched.section @RB.0 task RB 0 { sched.receive "B of stage 1" from rank 1 to(%x) }
  // CHECK: sched.all_reduce {{.*}}sched.stream = 3 : i64
  sched.section @end { sched.all_reduce "norm" over ["pp"] from(%n) to(%n) }
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1
  // CHECK: sched.receive "F of stage 0" {{.*}}sched.stream = 4 : i64
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  // CHECK: sched.send "B of stage 1" {{.*}}sched.stream = 5 : i64
  sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
}
}

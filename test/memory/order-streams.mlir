// RUN: tplan-opt --order-streams --split-input-file %s | FileCheck %s
// EXAMPLE
// A call waits for what it needs of another stream, and for no more than that.
!x = !nn.tensor<[B 4, D 4], f32>
!s = !nn.tensor<[B 2, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// Groups in the order in which they come; the first is in stream 1.
// CHECK: module attributes {{.*}}sched.events = 6 : i64, sched.streams = [#sched.stream<over ["dp"]>, #sched.stream<over ["tp"]>]

// CHECK-LABEL: rt.func @f
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !x {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // The sum may run beside the second kernel, which does not touch it.
  // CHECK-NEXT: rt.launch @k(%arg0) {{.*}}sched.event = 0
  // CHECK-NEXT: rt.collective all_reduce {{.*}}sched.event = 1 : i64, {{.*}}sched.stream = 1 : i64, sched.waits = array<i64: 0>
  // CHECK-NEXT: rt.launch @k(%arg1)
  // CHECK-NOT:  sched.waits
  %0 = rt.launch @k(%x) {sched.places = [#sched.place<frame, 0>]} : (!x) -> !x
  %1 = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<frame, 64>]} : !x -> !x
  %2 = rt.launch @k(%y) {sched.places = [#sched.place<frame, 128>]} : (!x) -> !x
  // Where a value takes the memory of another one that is still read, it waits too.
  // CHECK:      rt.launch @k(%2) {{.*}}sched.waits = array<i64: 1>
  %3 = rt.launch @k(%2) {sched.places = [#sched.place<frame, 0>]} : (!x) -> !x
  // CHECK:      rt.launch @add(%1, %3)
  // CHECK-NOT:  sched.waits
  // CHECK-SAME: -> !nn
  %4 = rt.launch @add(%1, %3) {sched.places = [#sched.place<result, 0>]} : (!x, !x) -> !x
  rt.return %4 : !x
}
// END

// What came before the function is in stream 0; its end waits for all streams.
// CHECK-LABEL: rt.func @g
// CHECK-SAME:  sched.event = 2
rt.func @g(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}, !x {nn.role = "carried", nn.name = "c1"}) {
  // CHECK-NEXT: rt.collective {{.*}}sched.event = 3 : i64, {{.*}}sched.stream = 2 : i64, sched.waits = array<i64: 2>
  // CHECK-NEXT: rt.collective {{.*}}sched.event = 5 : i64, {{.*}}sched.stream = 1 : i64, sched.waits = array<i64: 3>
  // CHECK-NEXT: rt.collective {{.*}}sched.event = 4 : i64, {{.*}}sched.stream = 2 : i64
  // CHECK-NOT:  sched.waits
  // CHECK:      rt.return {{.*}}sched.waits = array<i64: 4, 5>
  %0 = rt.collective all_reduce sum %x over ["tp"] {sched.places = [#sched.place<frame, 0>]} : !x -> !x
  %1 = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<result, 0>]} : !x -> !x
  %2 = rt.collective all_reduce sum %0 over ["tp"] {sched.places = [#sched.place<result, 1>]} : !x -> !x
  rt.return %1, %2 : !x, !x
}
}

// -----

// A channel has a stream of its own, by where its ends are from here; a sum over the same axis another one.
// CHECK: module attributes {{.*}}sched.streams = [#sched.stream<over ["pp"] from 0 to 1>, #sched.stream<over ["pp"] from 1 to 0>, #sched.stream<over ["pp"]>, #sched.stream<over ["pp"] from -1 to 0>, #sched.stream<over ["pp"] from 0 to -1>]
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
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

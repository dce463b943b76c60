// RUN: tplan-opt --order-streams %s | FileCheck %s
// EXAMPLE
// A call waits for what it needs of another stream, and for no more than that.
!x = !nn.tensor<[B 4, D 4], f32>
!s = !nn.tensor<[B 2, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// Groups in the order in which they come; the first is in stream 1.
// CHECK: module attributes {{.*}}sched.events = 6 : i64, sched.streams = {{\[\[}}"dp"], ["tp"]]

// CHECK-LABEL: rt.func @f
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !x {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // The sum may run beside the second kernel, which does not touch it.
  // CHECK-NEXT: rt.launch @k(%arg0) {{.*}}sched.event = 0
  // CHECK-NEXT: rt.collective all_reduce {{.*}}sched.event = 1 : i64, {{.*}}sched.stream = 1 : i64, sched.waits = array<i64: 0>
  // CHECK-NEXT: rt.launch @k(%arg1)
  // CHECK-NOT:  sched.waits
  %0 = rt.launch @k(%x) {sched.places = [#sched.place<"frame", 0>]} : (!x) -> !x
  %1 = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<"frame", 64>]} : !x -> !x
  %2 = rt.launch @k(%y) {sched.places = [#sched.place<"frame", 128>]} : (!x) -> !x
  // Where a value takes the memory of another one that is still read, it waits too.
  // CHECK:      rt.launch @k(%2) {{.*}}sched.waits = array<i64: 1>
  %3 = rt.launch @k(%2) {sched.places = [#sched.place<"frame", 0>]} : (!x) -> !x
  // CHECK:      rt.launch @add(%1, %3)
  // CHECK-NOT:  sched.waits
  // CHECK-SAME: -> !nn
  %4 = rt.launch @add(%1, %3) {sched.places = [#sched.place<"result", 0>]} : (!x, !x) -> !x
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
  %0 = rt.collective all_reduce sum %x over ["tp"] {sched.places = [#sched.place<"frame", 0>]} : !x -> !x
  %1 = rt.collective all_reduce sum %0 over ["dp"] {sched.places = [#sched.place<"result", 0>]} : !x -> !x
  %2 = rt.collective all_reduce sum %0 over ["tp"] {sched.places = [#sched.place<"result", 1>]} : !x -> !x
  rt.return %1, %2 : !x, !x
}
}

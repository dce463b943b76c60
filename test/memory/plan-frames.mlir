// RUN: tplan-opt --plan-frames %s | FileCheck %s
// EXAMPLE
!x = !nn.tensor<[B 16, D 4], f32>
!y = !nn.tensor<[B 16, D 8], f32>

// Temporaries share bytes where their lives do not meet; what works in place takes over
// its operand; results go to the caller's memory.
// CHECK-LABEL: rt.func @packed
// CHECK-SAME:    sched.frame = 768 : i64, sched.live = 768 : i64
// CHECK:         @k(%arg0) {sched.places = [#sched.place<frame, [[A:.+]]>]}
// CHECK-NEXT:    @k(%0) {sched.places = [#sched.place<frame, [[B:.+]]>]}
// CHECK-NEXT:    @in_place(%1) {in_place = array<i64: 0, 0>, sched.places = [#sched.place<frame, [[B]]>]}
// CHECK-NEXT:    @k(%2) {sched.places = [#sched.place<frame, [[A]]>]}
// CHECK-NEXT:    @k(%3) {sched.places = [#sched.place<result, 0>]}
rt.func @packed(%x: !x {nn.role = "carried", nn.name = "c0"})
    -> (!y {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%x) : (!x) -> !x
  %1 = rt.launch @k(%0) : (!x) -> !y
  %2 = rt.launch @in_place(%1) {in_place = array<i64: 0, 0>} : (!y) -> !y
  %3 = rt.launch @k(%2) : (!y) -> !x
  %4 = rt.launch @k(%3) : (!x) -> !y
  rt.return %4 : !y
}
// END

// A chain of accumulators ends in the argument that it updates. An operand that is read again is
// not overwritten, though the call would allow it.
// CHECK-LABEL: rt.func @accumulates
// CHECK-SAME:    sched.frame = 512 : i64
// CHECK:         @in_place(%arg0) {in_place = array<i64: 0, 0>, sched.places = [#sched.place<frame, [[A:.+]]>]}
// CHECK-NEXT:    @in_place(%0) {in_place = array<i64: 0, 0>, sched.places = [#sched.place<frame, {{0|256}}>]}
// CHECK-NEXT:    @scatter(%0) onto(%arg1 : {{.*}}) {sched.places = [#sched.place<arg, 1>]}
// CHECK-NEXT:    @scatter(%1) onto(%2 : {{.*}}) {sched.places = [#sched.place<arg, 1>]}
// CHECK-NEXT:    rt.return
rt.func @accumulates(%x: !x {nn.role = "invariant", nn.name = "i0"},
                     %g: !x {nn.role = "cot_param", nn.name = "w"})
    -> (!x {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.launch @in_place(%x) {in_place = array<i64: 0, 0>} : (!x) -> !x
  %1 = rt.launch @in_place(%0) {in_place = array<i64: 0, 0>} : (!x) -> !x
  %2 = rt.launch @scatter(%0) onto(%g : !x) : (!x) -> !x
  %3 = rt.launch @scatter(%1) onto(%2 : !x) : (!x) -> !x
  rt.return %3 : !x
}

// An argument that is updated but read later is updated by a copy at the end.
// CHECK-LABEL: rt.func @read_later
// CHECK:         %0 = rt.launch @k(%arg0) {sched.places = [#sched.place<frame, 0>]}
// CHECK-NEXT:    rt.launch @k(%arg0) {sched.places = [#sched.place<result, 1>]}
// CHECK-NEXT:    %2 = rt.copy %0 {sched.places = [#sched.place<arg, 0>]}
rt.func @read_later(%w: !x {nn.role = "param", nn.name = "w"})
    -> (!x {nn.role = "param", nn.name = "w"}, !x {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.launch @k(%w) : (!x) -> !x
  %1 = rt.launch @k(%w) : (!x) -> !x
  rt.return %0, %1 : !x, !x
}

// A returned argument and a value returned twice are copied; an argument that is
// returned as it came stays where it is.
// CHECK-LABEL: rt.func @twice
// CHECK:         %0 = rt.launch @k(%arg0) {sched.places = [#sched.place<result, 0>]}
// CHECK-DAG:     rt.copy %0 {sched.places = [#sched.place<result, 1>]}
// CHECK-DAG:     rt.copy %arg0 {sched.places = [#sched.place<result, 2>]}
// CHECK:         rt.return %0, %{{.*}}, %{{.*}}, %arg1
rt.func @twice(%x: !x {nn.role = "carried", nn.name = "c0"},
               %l: !x {nn.role = "loss", nn.name = "l"})
    -> (!x {nn.role = "carried", nn.name = "c0"}, !x {nn.role = "res_fw", nn.name = "r0"},
        !x {nn.role = "res_fw", nn.name = "r1"}, !x {nn.role = "loss", nn.name = "l"}) {
  %0 = rt.launch @k(%x) : (!x) -> !x
  rt.return %0, %0, %x, %l : !x, !x, !x, !x
}

// An accumulator must be neither a value that is read again, nor an argument that the result does
// not update: both are copied first.
// CHECK-LABEL: rt.func @onto_read_later
// CHECK:         %[[C:.+]] = rt.copy %0
// CHECK-NEXT:    rt.launch @scatter(%arg0) onto(%[[C]] :
// CHECK:         %[[D:.+]] = rt.copy %arg0 {sched.places = [#sched.place<result, 2>]}
// CHECK-NEXT:    rt.launch @scatter(%0) onto(%[[D]] : {{.*}}) {sched.places = [#sched.place<result, 2>]}
rt.func @onto_read_later(%x: !x {nn.role = "carried", nn.name = "c0"})
    -> (!x {nn.role = "carried", nn.name = "c0"}, !x {nn.role = "carried", nn.name = "c1"},
        !x {nn.role = "carried", nn.name = "c2"}) {
  %0 = rt.launch @k(%x) : (!x) -> !x
  %1 = rt.launch @scatter(%x) onto(%0 : !x) : (!x) -> !x
  %2 = rt.launch @scatter(%0) onto(%x : !x) : (!x) -> !x
  rt.return %0, %1, %2 : !x, !x, !x
}

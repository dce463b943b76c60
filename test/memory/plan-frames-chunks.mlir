// RUN: tplan-opt %s --split-input-file --plan-frames --check-awaits | FileCheck %s

// Parts are made at their places in the whole: the block of the next rank, and the own one, for which an argument is copied.

!own = !nn.tensor<[S 16, D 4], f32>
!whole = !nn.tensor<[S 32, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
// CHECK-LABEL: rt.func @gather(
// CHECK:         rt.collective permute {{.*}}sched.place<result, 0, block ["tp"] by 256 shift 1>
// CHECK:         rt.await
// CHECK:         rt.copy %arg0 {{.*}}sched.place<result, 0, block ["tp"] by 256>
// CHECK:         rt.join {{.*}}sched.place<result, 0>
rt.func @gather(%x: !own {nn.role = "carried", nn.name = "c0"}) -> (!whole {nn.role = "carried", nn.name = "c0"}) {
  %0, %e = rt.collective permute sum %x over ["tp"] sources [1, 0] : !own -> !own, !rt.event
  rt.await %e
  %1 = rt.join %x, %0 over ["tp"] : !own, !own -> !whole
  rt.return %1 : !whole
}

// The only part of a value is where the value is, whatever its bytes: 20 of them are no multiple of 64.
// CHECK-LABEL: rt.func @alone(
// CHECK:         rt.copy %arg0 {{.*}}sched.place<result, 0, block [] by 20>
// CHECK:         rt.join {{.*}}sched.place<result, 0>
rt.func @alone(%x: !nn.tensor<[I 5], f32> {nn.role = "carried", nn.name = "c0"}) -> (!nn.tensor<[D 5], f32> {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.join %x over [] : !nn.tensor<[I 5], f32> -> !nn.tensor<[D 5], f32>
  rt.return %0 : !nn.tensor<[D 5], f32>
}

// Views are blocks of memory that is there, over no axes the same on each rank.
// CHECK-LABEL: rt.func @views(
// CHECK:         rt.slice view %arg0 {{.*}}sched.place<arg, 0, block ["tp"] by 256 shift 1>
// CHECK:         rt.copy
// CHECK:         rt.slice view %arg0 {{.*}}sched.place<arg, 0, block [] by 256 shift 1>
rt.func @views(%x: !whole {nn.role = "carried", nn.name = "c0"}) -> (!own {nn.role = "carried", nn.name = "c0"}, !own {nn.role = "carried", nn.name = "c1"}) {
  %0 = rt.slice view %x over ["tp"] shift 1 : !whole -> !own
  %1 = rt.copy %0 : !own -> !own
  %2 = rt.slice view %x over [] shift 1 : !whole -> !own
  %3 = rt.copy %2 : !own -> !own
  rt.return %1, %3 : !own, !own
}

// A kernel that could work in place may not overwrite a block that a collective in flight reads.
rt.kernel @twice map rows [#nn.dim<"S", 32>] cols [#nn.dim<"D", 4>] grain 32 : (!whole) -> !whole access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = arith.addf %a, %a : f32
  rt.yield %0 : f32
}
// CHECK-LABEL: rt.func @in_flight(
// CHECK:         %[[A:.*]] = rt.launch @twice(%arg0) {{.*}}sched.place<frame, [[AT:[0-9]+]]>
// CHECK:         rt.slice view %[[A]] {{.*}}sched.place<frame, [[AT]], block ["tp"] by 256 shift 1>
// CHECK-NOT:     sched.place<frame, [[AT]]>
rt.func @in_flight(%x: !whole {nn.role = "carried", nn.name = "c0"}) -> (!own {nn.role = "carried", nn.name = "c0"}, !whole {nn.role = "carried", nn.name = "c1"}) {
  %0 = rt.launch @twice(%x) : (!whole) -> !whole
  %1 = rt.slice view %0 over ["tp"] shift 1 : !whole -> !own
  %2, %e = rt.collective permute sum %1 over ["tp"] sources [1, 0] : !own -> !own, !rt.event
  %3 = rt.launch @twice(%0) {in_place = array<i64: 0, 0>} : (!whole) -> !whole
  %4 = rt.launch @twice(%3) {in_place = array<i64: 0, 0>} : (!whole) -> !whole
  rt.await %e
  %5 = rt.copy %2 : !own -> !own
  rt.return %5, %4 : !own, !whole
}
}

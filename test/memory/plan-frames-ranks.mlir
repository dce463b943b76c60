// RUN: tplan-opt %s --split-input-file --plan-frames | FileCheck %s
// RUN: tplan-opt %s --split-input-file --plan-frames --check-awaits | FileCheck %s --check-prefix=FLIGHT

// The sums over ranks of a gradient lie in the memory of the gradient, so that nothing is copied.

!g = !nn.tensor<[V 16, D 4], f32>
!rows = !nn.tensor<[own.rows 8, D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"pod", 2>, <"dp", 2>>} {

// The rank's block, and other ranks' sums onto it.
// CHECK-LABEL: rt.func @block_then_sum(
// CHECK:         reduce_scatter sum %arg0 {{.*}}sched.place<arg, 0, block ["dp"] by 128>
// CHECK-NEXT:    all_reduce sum %0 {{.*}}sched.place<arg, 0, block ["dp"] by 128>
// CHECK-NEXT:    rt.place %1 into %arg0 {{.*}}sched.place<arg, 0>
rt.func @block_then_sum(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective reduce_scatter sum %g over ["dp"] : !g -> !rows
  %1 = rt.collective all_reduce sum %0 over ["pod"] : !rows -> !rows
  %2 = rt.place %1 into %g over ["dp"] : !rows, !g -> !g
  rt.return %2 : !g
}

// The sum of all rows, then of the rank's block.
// CHECK-LABEL: rt.func @sum_then_block(
// CHECK:         all_reduce sum %arg0 {{.*}}sched.place<arg, 0>
// CHECK-NEXT:    reduce_scatter sum %0 {{.*}}sched.place<arg, 0, block ["dp"] by 128>
// CHECK-NEXT:    rt.place %1 into %arg0 {{.*}}sched.place<arg, 0>
rt.func @sum_then_block(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["pod"] : !g -> !g
  %1 = rt.collective reduce_scatter sum %0 over ["dp"] : !g -> !rows
  %2 = rt.place %1 into %g over ["dp"] : !rows, !g -> !g
  rt.return %2 : !g
}

// A sum that is read elsewhere too has memory of its own, and so has what is scattered of it.
// CHECK-LABEL: rt.func @read_elsewhere(
// CHECK:         all_reduce sum %arg0 {{.*}}sched.place<result, 1>
// CHECK-NEXT:    reduce_scatter sum %0 {{.*}}sched.place<frame,
// CHECK-NEXT:    rt.place %1 into %arg0 {{.*}}sched.place<arg, 0>
rt.func @read_elsewhere(%g: !g {nn.role = "cot_param", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}, !g {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.collective all_reduce sum %g over ["pod"] : !g -> !g
  %1 = rt.collective reduce_scatter sum %0 over ["dp"] : !g -> !rows
  %2 = rt.place %1 into %g over ["dp"] : !rows, !g -> !g
  rt.return %2, %0 : !g, !g
}

// The gradient is read by another sum, so the first leaves it as it is.
// CHECK-LABEL: rt.func @read_twice(
// CHECK:         all_reduce sum %arg0 {{.*}}sched.place<frame,
// CHECK-NEXT:    reduce_scatter sum %0 {{.*}}sched.place<frame,
// CHECK-NEXT:    all_reduce sum %arg0 {{.*}}sched.place<result, 1>
// CHECK-NEXT:    rt.place %1 into %arg0 {{.*}}sched.place<arg, 0>
rt.func @read_twice(%g: !g {nn.role = "cot_param", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}, !g {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.collective all_reduce sum %g over ["pod"] : !g -> !g
  %1 = rt.collective reduce_scatter sum %0 over ["dp"] : !g -> !rows
  %2 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  %3 = rt.place %1 into %g over ["dp"] : !rows, !g -> !g
  rt.return %3, %2 : !g, !g
}

// A block that is chosen from a whole sum, and added to others', goes straight to its place.
// CHECK-LABEL: rt.func @slice_then_sum(
// CHECK:         all_reduce sum %arg0 {{.*}}sched.place<frame,
// CHECK-NEXT:    rt.slice %0 {{.*}}sched.place<arg, 0, block ["dp"] by 128>
// CHECK-NEXT:    all_reduce sum %1 {{.*}}sched.place<arg, 0, block ["dp"] by 128>
// CHECK-NEXT:    rt.place %2 into %arg0 {{.*}}sched.place<arg, 0>
rt.func @slice_then_sum(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  %1 = rt.slice %0 over ["dp"] : !g -> !rows
  %2 = rt.collective all_reduce sum %1 over ["pod"] : !rows -> !rows
  %3 = rt.place %2 into %g over ["dp"] : !rows, !g -> !g
  rt.return %3 : !g
}

// But not while the gradient is still read.
// CHECK-LABEL: rt.func @slice_too_early(
// CHECK:         rt.slice %0 {{.*}}sched.place<frame,
// CHECK-NEXT:    all_reduce sum %arg0 {{.*}}sched.place<result, 1>
// CHECK-NEXT:    rt.place %1 into %arg0 {{.*}}sched.place<arg, 0>
rt.func @slice_too_early(%g: !g {nn.role = "cot_param", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}, !g {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  %1 = rt.slice %0 over ["dp"] : !g -> !rows
  %2 = rt.collective all_reduce sum %g over ["pod"] : !g -> !g
  %3 = rt.place %1 into %g over ["dp"] : !rows, !g -> !g
  rt.return %3, %2 : !g, !g
}
}

// -----

// What a started collective reads keeps its place until the await, though a later call reads it last and may work in place.
!x = !nn.tensor<[B 4, D 4], f32>
!y = !nn.tensor<[B 4, D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
// FLIGHT-LABEL: rt.func @flight
// FLIGHT:       rt.launch @a(%arg0) {sched.places = [#sched.place<frame, [[X:[0-9]+]]>]}
// FLIGHT-NOT:   rt.launch @b{{.*}}sched.place<frame, [[X]]>
// FLIGHT:       rt.await
rt.func @flight(%a: !x {nn.role = "carried", nn.name = "c0"}) -> (!y {nn.role = "carried", nn.name = "c0"}, !x {nn.role = "carried", nn.name = "c1"}) {
  %0 = rt.launch @a(%a) : (!x) -> !x
  %1, %e = rt.collective all_gather sum %0 over ["tp"] dim "D" : !x -> !y, !rt.event
  %2 = rt.launch @b(%0) {in_place = array<i64: 0, 0>} : (!x) -> !x
  %3 = rt.launch @a(%2) : (!x) -> !x
  rt.await %e
  %4 = rt.launch @c(%1, %3) : (!y, !x) -> !y
  rt.return %4, %3 : !y, !x
}
}

// -----

// Two gathers in turn, between nodes and inside of one: the first one's operand lies in its result, and that not in the second one's.
!own = !nn.tensor<[own.rows 4, D 8], bf16>
!node = !nn.tensor<[own.rows 8, D 8], bf16>
!all = !nn.tensor<[V 16, D 8], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp.0", 2 of "dp">, <"dp.1", 2 of "dp">>} {
// CHECK-LABEL: rt.func @hops(
// CHECK: rt.launch @cast(%arg0) {sched.places = [#sched.place<frame, [[NODE:[0-9]+]], block ["dp.0"] by 64>]}
// CHECK: all_gather sum %{{.+}} over ["dp.0"] {{.*}}sched.places = [#sched.place<frame, [[NODE]]>]
// CHECK: all_gather sum %{{.+}} over ["dp.1"] {{.*}}sched.places = [#sched.place<result, 0>]
rt.func @hops(%a: !own {nn.role = "param", nn.name = "w"}) -> (!all {nn.role = "param", nn.name = "w.bf16"}) {
  %0 = rt.launch @cast(%a) : (!own) -> !own
  %1 = rt.collective all_gather sum %0 over ["dp.0"] : !own -> !node
  %2 = rt.collective all_gather sum %1 over ["dp.1"] : !node -> !all
  rt.return %2 : !all
}
}

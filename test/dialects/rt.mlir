// RUN: tplan-opt %s | tplan-opt | FileCheck %s
// RUN: tplan-opt --mlir-print-op-generic %s | tplan-opt | FileCheck %s
// A function of calls, and what it launches.
!x = !nn.tensor<[B 16, D 8], f32>
!w = !nn.tensor<[D 8, E 8], f32>
!y = !nn.tensor<[B 16, E 8], f32>
!half = !nn.tensor<[B 8, E 8], f32>
!n = !nn.tensor<[B 16], f32>
!q = !nn.tensor<[B 2, S 8, H 2, K 8], bf16>
!l = !nn.tensor<[B 2, H 2, S 8], f32>
#id = #rt.access<identity, "", 0>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// CHECK-LABEL: rt.func @a.F(
// CHECK-NEXT:    rt.matmul %arg0, %arg1 :
// CHECK-NEXT:    rt.launch @softmax(%0) {in_place = array<i64: 0, 0>}
// CHECK-NEXT:    rt.copy
// CHECK-NEXT:    rt.collective all_reduce sum %2 over ["dp"]
// CHECK-NEXT:    rt.slice view %3 over ["dp"] dim "B"
// CHECK-NEXT:    rt.place %4 into %3 over ["dp"]
// CHECK-NEXT:    %6, %event = rt.collective all_reduce sum %5 over ["dp"] : {{.*}}, !rt.event
// CHECK-NEXT:    rt.await %event
// CHECK-NEXT:    rt.slice view %6 over [] shift 1
// CHECK-NEXT:    rt.join %{{.*}}, %{{.*}} over ["dp"]
// CHECK-NEXT:    rt.matmul %{{.*}}, %arg1 chunks 2 part :
// CHECK-NEXT:    rt.audit %{{.*}} "w.scale" layer %arg2 step %arg2 : <[B 16, E 8], f32>
// CHECK-NEXT:    rt.return %6
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
             %i: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "layer"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.launch @softmax(%0) {in_place = array<i64: 0, 0>} : (!y) -> !y
  %2 = rt.copy %1 : !y -> !y
  %3 = rt.collective all_reduce sum %2 over ["dp"] : !y -> !y
  %4 = rt.slice view %3 over ["dp"] dim "B" : !y -> !half
  %5 = rt.place %4 into %3 over ["dp"] : !half, !y -> !y
  %6, %event = rt.collective all_reduce sum %5 over ["dp"] : !y -> !y, !rt.event
  rt.await %event
  %7 = rt.slice view %6 over [] shift 1 : !y -> !half
  %8 = rt.join %7, %7 over ["dp"] : !half, !half -> !y
  %9 = rt.matmul %x, %w chunks 2 part : (!x, !w) -> !y
  %10 = rt.audit %9 "w.scale" layer %i step %i : <[B 16, E 8], f32>
  rt.return %6 : !y
}
// CHECK-LABEL: rt.kernel @softmax row rows [#nn.dim<"B", 16>] cols [#nn.dim<"E", 8>] grain 4
// CHECK:         rt.row_reduce max
// CHECK:         rt.yield
rt.kernel @softmax row rows [#nn.dim<"B", 16>] cols [#nn.dim<"E", 8>] grain 4 : (!y) -> !y access [#id, #id] {
^bb0(%x: f32):
  %most = rt.row_reduce max %x : f32
  %below = arith.subf %x, %most : f32
  %exp = math.exp %below : f32
  %sum = rt.row_reduce sum %exp : f32
  %y = arith.divf %exp, %sum : f32
  rt.yield %y : f32
}
// What is left of each element below the largest of its half of the row.
// CHECK-LABEL: rt.kernel @halves
// CHECK:         rt.segment_reduce max %{{.+}} of 16 : f32
rt.kernel @halves row rows [#nn.dim<"B", 16>] cols [#nn.dim<"D", 32>] grain 4 : (!nn.tensor<[B 16, D 32], f32>) -> !nn.tensor<[B 16, D 32], f32> access [#id, #id] {
^bb0(%x: f32):
  %most = rt.segment_reduce max %x of 16 : f32
  %below = arith.subf %x, %most : f32
  rt.yield %below : f32
}
// One where the first random word of a row is odd, else zero.
// CHECK-LABEL: rt.kernel @coins
// CHECK:         rt.random
rt.kernel @coins map rows [] cols [#nn.dim<"B", 16>, #nn.dim<"D", 8>] grain 128 : (!x) -> !x access [#id, #id] {
^bb0(%x: f32):
  %i = rt.position "B"
  %zero = arith.constant 0 : i32
  %word = rt.random %zero of (%i, %zero, %zero, %zero) key (%zero, %zero) : i32
  %bit = arith.trunci %word : i32 to i1
  %y = arith.uitofp %bit : i1 to f32
  rt.yield %y : f32
}
// The sum of x times its position, in blocks of 8 rows.
// CHECK-LABEL: rt.kernel @weighted column
// CHECK:         rt.position "B"
// CHECK:         rt.col_reduce sum
rt.kernel @weighted column rows [#nn.dim<"B", 16>] cols [#nn.dim<"D", 8>] grain 8 : (!x) -> !nn.tensor<[D 8], f32> access [#id, #id] {
^bb0(%x: f32):
  %i = rt.position "B"
  %f = arith.sitofp %i : i32 to f32
  %y = arith.mulf %x, %f : f32
  %sum = rt.col_reduce sum %y : f32
  rt.yield %sum : f32
}
// CHECK-LABEL: rt.func @b.F(
// CHECK-NEXT:    rt.attention forward
// CHECK-NEXT:    rt.launch @tile
rt.func @b.F(%q: !q {nn.role = "carried", nn.name = "q", nn.position = 0 : i64}) -> (!q {nn.role = "carried", nn.name = "q", nn.position = 0 : i64})
    attributes {layer = @b, part = #nn.part<forward>} {
  %0:2 = rt.attention forward %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
  %1:2 = rt.launch @tile(%0#0, %0#0, %0#0) : (!q, !q, !q) -> (!q, !l)
  rt.return %1#0 : !q
}
// CHECK:       rt.tile @tile forward :
rt.tile @tile forward : (!q, !q, !q) -> (!q, !l) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>>
}
// CHECK-LABEL: func.func @first_half(
// CHECK-NEXT:    rt.partial_reduce sum %arg0 grain 8 : <[B 16, D 8], f32> -> <[each.task 2, D 8], f32>
func.func @first_half(%x: !x) {
  %0 = rt.partial_reduce sum %x grain 8 : <[B 16, D 8], f32> -> <[each.task 2, D 8], f32>
  return
}
// CHECK: rt.sum @tplan.sum_bf16 sum of bf16
rt.sum @tplan.sum_bf16 sum of bf16

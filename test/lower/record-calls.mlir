// RUN: tplan-opt --record-calls %s | FileCheck %s
// EXAMPLE
!x = !nn.tensor<[B 16, D 8], f32>
!w = !nn.tensor<[D 8, E 4], f32>
!y = !nn.tensor<[B 16, E 4], f32>
#id = #rt.access<identity, "", 0>

// Categories are 0 kernel, 1 gemm, 2 attention, 3 optimizer, 4 copy.
// CHECK-LABEL: rt.func @a.F
// CHECK:         rt.matmul {{.*}} {tp.call = #rt.call_record<gemm, tasks 1, flops 1024, bytes 896>}
// CHECK:         rt.launch @double(%0) {tp.call = #rt.call_record<kernel, tasks 4, flops 64, bytes 512>}
// CHECK:         rt.copy %1 {tp.call = #rt.call_record<copy, tasks 1, flops 0, bytes 512>}
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.launch @double(%0) : (!y) -> !y
  %2 = rt.copy %1 : !y -> !y
  rt.return %2 : !y
}
// END
// A kernel of the update counts as optimizer.
// CHECK-LABEL: rt.func @a.U
// CHECK:         rt.launch {{.*}}tp.call = #rt.call_record<optimizer
rt.func @a.U(%x: !y {nn.role = "param", nn.name = "w"}) -> (!y {nn.role = "param", nn.name = "w"})
    attributes {layer = @a, part = #nn.part<update>} {
  %0 = rt.launch @double(%x) : (!y) -> !y
  rt.return %0 : !y
}
rt.kernel @double map rows [#nn.dim<"B", 16>] cols [#nn.dim<"E", 4>] grain 4 : (!y) -> (!y)
    access [#id, #id] {
^bb0(%x: f32):
  %0 = arith.addf %x, %x : f32
  rt.yield %0 : f32
}

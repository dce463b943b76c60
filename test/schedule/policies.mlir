// RUN: schedule-opt --order-tasks %s | FileCheck %s
// RUN: sed '/%[12] = rt.matmul/d' %s | schedule-opt --order-tasks | FileCheck %s --check-prefix=WHOLE
// A policy of test/schedule/policies.cpp looks at the FLOPs of its stage. The backward in parts has two products, and the one in one
// has three, of which the second line deletes two.
// CHECK: sched.program @step policy "cheapest" stages 1 microbatches 2 tasks [F 0 0, I 0 0, W 0 0, F 0 1, I 0 1, W 0 1]
// WHOLE: sched.program @step policy "cheapest" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1]
!x = !nn.tensor<[M 4, K 8], f32>
!w = !nn.tensor<[K 8, N 2], f32>
!y = !nn.tensor<[M 4, N 2], f32>
rt.kernel @k map rows [#nn.dim<"M", 4>] cols [#nn.dim<"K", 8>] grain 1 : () -> (!x) access [#rt.access<"identity", "", 0>] {
  %0 = arith.constant 0.0 : f32
  rt.yield %0 : f32
}
rt.kernel @l map rows [#nn.dim<"K", 8>] cols [#nn.dim<"N", 2>] grain 1 : () -> (!w) access [#rt.access<"identity", "", 0>] {
  %0 = arith.constant 0.0 : f32
  rt.yield %0 : f32
}
tplan.recipe @r {batch = 2 : i64}
tplan.plan @p {recipe = "r", microbatch = 1 : i64, pipeline = "cheapest"}
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@a] x 3 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> ()
}
rt.func @a.F() attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.B() attributes {layer = @a, part = #nn.part<backward>} {
  %x = rt.launch @k() : () -> !x
  %w = rt.launch @l() : () -> !w
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.matmul %x, %w : (!x, !w) -> !y
  %2 = rt.matmul %x, %w : (!x, !w) -> !y
  rt.return
}
rt.func @a.I() attributes {layer = @a, part = #nn.part<backward_inputs>} {
  %x = rt.launch @k() : () -> !x
  %w = rt.launch @l() : () -> !w
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  rt.return
}
rt.func @a.W() attributes {layer = @a, part = #nn.part<backward_weights>} {
  %x = rt.launch @k() : () -> !x
  %w = rt.launch @l() : () -> !w
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  rt.return
}

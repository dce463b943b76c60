// RUN: schedule-opt --order-tasks %s | FileCheck %s
// RUN: sed '/%[12] = rt.matmul/d' %s | schedule-opt --order-tasks | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, pipeline = "pairs"/' %S/Inputs/mlp.mlir > %t.pairs
// RUN: schedule-opt --split-stages --order-tasks --form-program --count-slots %t.pairs | FileCheck %s --check-prefix=PAIRS
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "pairs", stages = [1, 1], mesh = [{name = "pp", size = 2 : i64}], stage_axis = "pp"/' %S/Inputs/mlp.mlir > %t.pp
// RUN: sed -i '1i module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {' %t.pp && echo '}' >> %t.pp
// RUN: schedule-opt --split-stages --order-tasks %t.pp | FileCheck %s --check-prefix=RANKS
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "unlike", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.unlike
// RUN: schedule-opt --split-stages --order-tasks --form-program --count-slots %t.unlike | FileCheck %s --check-prefix=UNLIKE

// Stage 0 does the backward in parts and stage 1 in one, so the layer that both have keeps all functions.
// UNLIKE:      sched.program @step policy "unlike" stages 2 microbatches 2
// UNLIKE-SAME:   tasks [F 0 0, F 1 0, F 0 1, F 1 1, B 1 0, I 0 0, B 1 1, I 0 1, W 0 0, W 0 1]
// UNLIKE:      sched.section @B.1 task B 1 {
// UNLIKE:        sched.call @block.B
// UNLIKE:      sched.section @I.0 task I 0 {
// UNLIKE:        sched.call @block.I
// UNLIKE:      sched.section @W.0 task W 0 {
// UNLIKE:        sched.call @block.W
// UNLIKE-NOT:  rt.func @entry.B
// UNLIKE:      rt.func @entry.W
// UNLIKE:      rt.func @block.B
// UNLIKE:      rt.func @block.I
// UNLIKE:      rt.func @block.W
// UNLIKE:      rt.func @exit.B
// UNLIKE-NOT:  rt.func @exit.W

// An F is done together with the B of the microbatch before, so it needs a slot more than if that came first.
// PAIRS: policy "pairs" stages 1 microbatches 4 tasks [F 0 0, F 0 1 with B 0 0, F 0 2 with B 0 1, F 0 3 with B 0 2, B 0 3]
// PAIRS: sched.family @"block[1..2], F to B" from F 0 to B 0 slots 2 bytes {{.*}} slot_of [0, 1, 0, 1]

// What both leave goes out when both are done.
// RANKS: sched.program @step.0 policy "pairs" stages 2 microbatches 2 rank 0 holds [0] tasks [F 0 0, SF 0 0, F 0 1, SF 0 1, RB 0 0, B 0 0, RB 0 1, B 0 1]
// RANKS: sched.program @step.1 policy "pairs" stages 2 microbatches 2 rank 1 holds [1] tasks [RF 1 0, F 1 0, RF 1 1, F 1 1 with B 1 0, SB 1 0, B 1 1, SB 1 1]

// A policy of test/schedule/policies.cpp looks at the FLOPs of its stage. The backward in parts has two products, and the one in one
// has three, of which the second line deletes two.
// CHECK: sched.program @step policy "cheapest" stages 1 microbatches 2 tasks [F 0 0, I 0 0, W 0 0, F 0 1, I 0 1, W 0 1]
// WHOLE: sched.program @step policy "cheapest" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1]
!x = !nn.tensor<[M 4, K 8], f32>
!w = !nn.tensor<[K 8, N 2], f32>
!y = !nn.tensor<[M 4, N 2], f32>
rt.kernel @k map rows [#nn.dim<"M", 4>] cols [#nn.dim<"K", 8>] grain 1 : () -> (!x) access [#rt.access<identity, "", 0>] {
  %0 = arith.constant 0.0 : f32
  rt.yield %0 : f32
}
rt.kernel @l map rows [#nn.dim<"K", 8>] cols [#nn.dim<"N", 2>] grain 1 : () -> (!w) access [#rt.access<identity, "", 0>] {
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

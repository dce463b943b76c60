// RUN: tplan-opt --order-tasks %s | FileCheck %s --check-prefix=HERE
// RUN: tplan-opt --split-stages --order-tasks %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, pipeline = "gpipe"/' %S/Inputs/mlp.mlir > %t.gpipe
// RUN: tplan-opt --split-stages --order-tasks %t.gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "gpipe_split", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.split
// RUN: tplan-opt --split-stages --order-tasks %t.split | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}], shard = [{axes = ["dp"], dims = ["B"]}, {axes = ["tp"], dims = ["F"]}]/' %S/Inputs/mlp.mlir > %t.ranks
// RUN: tplan-opt --split-stages --order-tasks %t.ranks | FileCheck %s --check-prefix=RANKS
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "1f1b", stages = [1, 1], mesh = [{name = "pp", size = 2 : i64}], stage_axis = "pp"/' %S/Inputs/mlp.mlir > %t.pp
// RUN: sed -i '1i module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {' %t.pp && echo '}' >> %t.pp
// RUN: tplan-opt --split-stages --order-tasks %t.pp | FileCheck %s --check-prefix=PP
// RUN: tplan-opt --order-tasks %S/Inputs/chunks.mlir | FileCheck %s --check-prefix=CHUNKS
// RUN: tplan-opt --order-tasks --form-program %S/Inputs/chunks.mlir | FileCheck %s --check-prefix=SUMS
// EXAMPLE
// With gpipe all microbatches go forward before the first goes back. No task runs part `backward_inputs`, so it goes.
// HERE-NOT:  rt.func @a.I
// HERE:      sched.program @step policy "gpipe" stages 1 microbatches 2
// HERE-SAME:   tasks [F 0 0, F 0 1, B 0 0, B 0 1]
// HERE-NEXT:   nn.chain @train
// HERE-NOT:  rt.func @a.I
tplan.recipe @r {batch = 4 : i64}
tplan.plan @p {recipe = "r", microbatch = 2 : i64, pipeline = "gpipe"}
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@a] x 3 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> ()
}
rt.func @a.F() attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.B() attributes {layer = @a, part = #nn.part<backward>} {
  rt.return
}
rt.func @a.I() attributes {layer = @a, part = #nn.part<backward_inputs>} {
  rt.return
}
// END

// A microbatch is finished before the next begins.
// CHECK:      sched.program @step policy "accumulate" stages 1 microbatches 4
// CHECK-SAME:   tasks [F 0 0, B 0 0, F 0 1, B 0 1, F 0 2, B 0 2, F 0 3, B 0 3]
// CHECK:        nn.chain @train
// CHECK:        nn.chain @counts

// GPIPE:      tasks [F 0 0, F 0 1, F 0 2, F 0 3, B 0 0, B 0 1, B 0 2, B 0 3]

// The stage whose input is newest goes on, among those that can.
// SPLIT:      stages 2 microbatches 2 tasks [F 0 0, F 1 0, F 0 1, F 1 1, I 1 0, I 0 0, I 1 1, I 0 1, W 0 0, W 0 1, W 1 0, W 1 1]

// Ranks that share the batch have their part of the microbatches each.
// RANKS:      sched.program @step policy "accumulate" stages 1 microbatches 2

// Ranks that hold a stage each have a program each, with the messages between them: a rank receives in
// the place of its order where the other one sends.
// PP:      sched.program @step.0 policy "1f1b" stages 2 microbatches 2 rank 0 holds [0] tasks [F 0 0, SF 0 0, F 0 1, SF 0 1, RB 0 0, B 0 0, RB 0 1, B 0 1]
// PP:        nn.chain @train
// PP:      sched.program @step.1 policy "1f1b" stages 2 microbatches 2 rank 1 holds [1] tasks [RF 1 0, F 1 0, RF 1 1, B 1 0, SB 1 0, F 1 1, B 1 1, SB 1 1]
// PP:        nn.chain @train

// Two stages lie on each rank. R sums up what the backwards of a stage leave, after the last of these and the message that
// follows it, while the rank still has work of its other stage. Stage 3 shares its weight with stage 0, so both wait.
// CHUNKS:  sched.program @step.0 policy "interleaved" stages 4 microbatches 2 rank 0 holds [0, 2]
// CHUNKS-SAME: B 2 1, SB 2 1, R 2 0, RB 0 0, B 0 0, RB 0 1, B 0 1]
// CHUNKS:  sched.program @step.1 policy "interleaved" stages 4 microbatches 2 rank 1 holds [1, 3]
// CHUNKS-SAME: B 1 1, SB 1 1, R 1 0]
// SUMS:      sched.program @step.0
// SUMS:        sched.section @R.2 task R 2 {
// SUMS-NEXT:     sched.run "reduce" "a" x 1
// SUMS:        sched.section @end {
// SUMS-NOT:      "reduce" "a"
// SUMS:          sched.run "reduce" "b" x 1
// SUMS:        sched.section @evaluate

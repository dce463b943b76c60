// RUN: tplan-opt --split-stages --order-tasks --plan-frames --plan-arena %S/../schedule/Inputs/mlp.mlir | FileCheck %s

// The arena is as large as what is live at once, and families have their places.
// CHECK:      sched.program @step {{.*}} arena [[ARENA:[0-9]+]] live [[ARENA]]
// CHECK:        sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 4096 slot_of [0, 0, 0, 0] at [{{[0-9]+}}]
// CHECK-NEXT:     sched.value "r1.block.0.res_fw.r0" residual bytes 2048 x 2 at 0

// Arrays first: one for each parameter of all layers, owner by owner. What the binary's
// tables say of them stands beside them.
// CHECK:        sched.value "param embed" parameter bytes 2048 x 1 at 0 {param = @embed, slot = "", type = !nn.tensor<[V 32, D 16], f32>}
// CHECK-NEXT:   sched.value "param blocks.w1" parameter bytes 2048 x 2 at 2048
// CHECK:        sched.value "grad embed" gradient bytes 2048 x 1
// CHECK:        sched.value "state embed.m" state bytes 2048 x 1 {{.*}} slot = "m"
// Rows hold one token more than the sequence, for the targets, for all microbatches.
// CHECK:        sched.value "input tokens" input bytes 288 x 1 {{.*}} {length = 9 : i64, positions = 8 : i64, rows = 2 : i64, source = "tokens"
// What the host gives for each step is one piece: rows, then scalars.
// CHECK-NEXT:   sched.value "scalar lr" scalar bytes 8 x 1
// CHECK:        sched.value "norm" scalar bytes 8 x 2
// CHECK:        sched.value "loss count.main" scalar bytes 8 x 1
// Frames of the forward and of the evaluation may stand in one place; the cotangent
// between the two layers needs one buffer.
// CHECK:        sched.value "frame r1.F" frame bytes 2048 x 1 at [[FRAME:[0-9]+]]
// CHECK:        sched.value "frame r1.B" frame bytes 4096 x 1 at [[FRAME]]
// CHECK:        sched.value "handover r1.B.0" cotangent bytes 1024 x 1
// CHECK:        sched.value "output logits" logits bytes 2048 x 1

// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots --plan-frames --plan-arena %S/../schedule/Inputs/mlp.mlir | FileCheck %s

// The arena is as large as what is live at once, and families have their places.
// CHECK:      sched.program @step {{.*}} arena [[ARENA:[0-9]+]] live [[ARENA]]
// CHECK:        sched.family @"block[1..2], F to B" from F 0 to B 0 slots 1 bytes 5120 slot_of [0, 0, 0, 0] at [{{[0-9]+}}]

// Rows hold one token more than the sequence, for the targets, for all microbatches.
// CHECK:        sched.value <rows "tokens"> input always bytes 288 x 1 {{.*}} at [[#ROWS:]] given rows <2 x 9 positions 8

// Arrays first: one for each parameter of all layers, owner by owner.
// CHECK:        sched.value <parameter of @embed> parameter always bytes 2048 x 1 of !nn.tensor<[V 32, D 16], f32> at 0
// CHECK-NEXT:   sched.value <gradient of @embed> gradient always bytes 2048 x 1
// CHECK:        sched.value <term "norm"> scalar always bytes 8 x 2
// CHECK:        sched.value <state "m" of @embed> state always bytes 2048 x 1
// What the host gives for each step is one piece: rows, then scalars.
// CHECK-NEXT:   sched.value <scalar "lr"> scalar always bytes 8 x 1 {{.*}} at [[#ROWS + 320]] given
// CHECK-NEXT:   sched.value <parameter of @blocks.w1> parameter always bytes 2048 x 2 {{.*}} at 2048
// CHECK:        sched.value <loss "count.main"> scalar always bytes 8 x 1
// CHECK-NEXT:   sched.value <activation "r1.block.0.res_fw.r0"> residual microbatch bytes 2048 x 2 {{.*}} in @"block[1..2], F to B" at 0
// Frames of the forward and of the evaluation may stand in one place; the cotangent
// between the two layers needs one buffer.
// CHECK:        sched.value <frame "r1.F"> frame section bytes 2048 x 1 at [[FRAME:[0-9]+]]
// CHECK:        sched.value <activation "handover r1.B.0"> cotangent section bytes 1024 x 1
// CHECK:        sched.value <frame "r1.B"> frame section bytes 4096 x 1 at [[FRAME]]
// CHECK:        sched.value <output "logits"> logits entry bytes 2048 x 1

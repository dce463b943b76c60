// RUN: tplan-opt --plan-arena %s | FileCheck %s --check-prefix=HERE
// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots --plan-frames --plan-arena %S/../schedule/Inputs/mlp.mlir | FileCheck %s
// EXAMPLE
// What lives from step to step is first in the arena, each array at a multiple of 64 bytes. The two frames are never live at once, so
// they have one place.
// HERE:      sched.program @step {{.*}} arena 704 live 704 {
// HERE-NEXT:   sched.value <parameter of @w> parameter always bytes 40 x 2 at 0
// HERE-NEXT:   sched.value <gradient of @w> gradient always bytes 40 x 2 at 128
// HERE-NEXT:   sched.value <frame "F"> frame section bytes 256 x 1 at 256
// HERE-NEXT:   sched.value <frame "B"> frame section bytes 448 x 1 at 256
tplan.recipe @r {batch = 2 : i64}
tplan.plan @p {recipe = "r"}
sched.program @step policy "gpipe" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %w = sched.value <parameter of @w> parameter always bytes 40 x 2
  %g = sched.value <gradient of @w> gradient always bytes 40 x 2
  %f = sched.value <frame "F"> frame section bytes 0 x 1
  %b = sched.value <frame "B"> frame section bytes 0 x 1
  sched.section @F.0 task F 0 { sched.call @a.F frame %f }
  sched.section @B.0 task B 0 { sched.call @a.B frame %b }
  sched.entry step [#sched.execute<tasks>]
}
rt.func @a.F() attributes {layer = @a, part = #nn.part<forward>, sched.frame = 256 : i64, sched.live = 256 : i64} {
  rt.return
}
rt.func @a.B() attributes {layer = @a, part = #nn.part<backward>, sched.frame = 448 : i64, sched.live = 448 : i64} {
  rt.return
}
// END

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
// CHECK:        sched.value <count "main"> scalar always bytes 8 x 1
// CHECK-NEXT:   sched.value <activation "r1.block.0.res_fw.r0"> residual microbatch bytes 2048 x 2 {{.*}} in @"block[1..2], F to B" at 0
// Frames of the forward and of the evaluation may stand in one place; the cotangent
// between the two layers needs one buffer.
// CHECK:        sched.value <frame "r1.F"> frame section bytes 2048 x 1 at [[FRAME:[0-9]+]]
// CHECK:        sched.value <activation "handover r1.B.0"> cotangent section bytes 1024 x 1
// CHECK:        sched.value <frame "r1.B"> frame section bytes 4096 x 1 at [[FRAME]]
// CHECK:        sched.value <output "logits"> logits entry bytes 2048 x 1

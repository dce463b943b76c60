// RUN: tplan-opt --count-slots %s | FileCheck %s --check-prefix=HERE
// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, pipeline = "gpipe"/' %S/Inputs/mlp.mlir > %t.gpipe
// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots %t.gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "gpipe_split", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.split
// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots %t.split | FileCheck %s --check-prefix=SPLIT
// EXAMPLE
// gpipe keeps what F leaves for both microbatches until the first goes back, so it has two slots; what B alone touches has one.
// HERE:      sched.family @x from F 0 to B 0 slots 2 bytes 1024 slot_of [0, 1]
// HERE:      sched.family @d from B 0 to B 0 slots 1 bytes 1024 slot_of [0, 0]
// HERE:      sched.value <activation "x"> residual microbatch bytes 1024 x 1 of {{.*}} in @x
// HERE-NEXT: sched.value <activation "d"> cotangent microbatch bytes 1024 x 1 of {{.*}} in @d
!x = !nn.tensor<[D 256], f32>
sched.program @step policy "gpipe" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %x = sched.value <activation "x"> residual microbatch bytes 1024 x 1 of !x
  %d = sched.value <activation "d"> cotangent microbatch bytes 1024 x 1 of !x
  sched.section @F.0 task F 0 { sched.call @a.F to(%x) }
  sched.section @B.0 task B 0 {
    sched.call @a.B from(%x) to(%d)
    sched.call @b.B from(%d)
  }
  sched.entry step [#sched.execute<tasks>]
}
rt.func @a.F() -> (!x {nn.role = "res_fw", nn.name = "x"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @a.B(%x: !x {nn.role = "res_fw", nn.name = "x"}) -> (!x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<backward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.B(%d: !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<backward>} {
  rt.return
}
// END

// A microbatch is finished before the next begins, so one slot serves them all. What one run leaves
// to its backward is one family.
// CHECK:        sched.family @"block[1..2], F to B" from F 0 to B 0 slots 1 bytes 5120 slot_of [0, 0, 0, 0]
// The targets are read again in the backward; so is what the head takes.
// CHECK:        sched.family @"tokens+1" from F 0 to B 0
// CHECK:        sched.family @r1.block.0.out.c0 from F 0 to B 0
// CHECK:        sched.family @r1.block.0.out.c0.cot from B 0 to B 0
// CHECK:        residual microbatch bytes 2048 x 2 {{.*}} in @"block[1..2], F to B"
// CHECK-NEXT:   carried microbatch bytes 1024 x 1 {{.*}} in @"block[1..2], F to B"

// GPIPE:      sched.family @"block[1..2], F to B" from F 0 to B 0 slots 4 bytes 5120 slot_of [0, 1, 2, 3]
// A cotangent lives in the backward alone.
// GPIPE:      sched.family @r1.block.0.out.c0.cot from B 0 to B 0 slots 1

// In each stage there is one layer, so no inner value is kept: its residual alone, from F to W.
// SPLIT:      sched.family @r1.block.0.res_fw.r0 from F 0 to W 0 slots 2 bytes 2048
// What W reads of I's is kept.
// SPLIT:      sched.family @r1.block.0.res_iw.d0 from I 0 to W 0 slots 2 bytes 2048
// The value between the stages lives until the W of the second.
// SPLIT:      sched.family @r1.block.0.out.c0 from F 0 to W 1 slots 2
// SPLIT:      sched.family @r1.block.0.out.c0.cot from I 1 to W 0 slots 2
// SPLIT:      residual microbatch bytes 2048 x 1 {{.*}} in @r1.block.0.res_fw.r0
// SPLIT:      residual microbatch bytes 2048 x 1 {{.*}} in @r1.block.0.res_iw.d0

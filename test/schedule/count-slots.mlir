// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, pipeline = "gpipe"/' %S/Inputs/mlp.mlir > %t.gpipe
// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots %t.gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "gpipe_split", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.split
// RUN: tplan-opt --split-stages --order-tasks --form-program --count-slots %t.split | FileCheck %s --check-prefix=SPLIT

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

// RUN: tplan-opt --split-stages --order-tasks %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, pipeline = "gpipe"/' %S/Inputs/mlp.mlir > %t.gpipe
// RUN: tplan-opt --split-stages --order-tasks %t.gpipe | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "gpipe_split", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.split
// RUN: tplan-opt --split-stages --order-tasks %t.split | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/microbatch = 2 : i64/microbatch = 2 : i64, mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}], shard = [{axes = ["dp"], dims = ["B"]}, {axes = ["tp"], dims = ["F"]}]/' %S/Inputs/mlp.mlir > %t.ranks
// RUN: tplan-opt --split-stages --order-tasks %t.ranks | FileCheck %s --check-prefix=RANKS

// A microbatch is finished before the next begins, so one slot serves them all.
// CHECK:      sched.program @step policy "accumulate" stages 1 microbatches 4
// CHECK-SAME:   tasks [F 0 0, B 0 0, F 0 1, B 0 1, F 0 2, B 0 2, F 0 3, B 0 3]
// CHECK:        nn.chain @train
// CHECK:        nn.chain @counts
// CHECK:        sched.family "s0.fi" from F 0 to B 0 slots 1 bytes 1024 slot_of [0, 0, 0, 0]
// CHECK-NEXT:     sched.value "r1.block.0.in.c0" carried bytes 1024 x 1
// CHECK:        sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 4096 slot_of [0, 0, 0, 0]
// CHECK-NEXT:     sched.value "r1.block.0.res_fw.r0" residual bytes 2048 x 2
// The targets are read again in the backward; so is what the head takes.
// CHECK:        sched.family "tokens+1" from F 0 to B 0
// CHECK:        sched.family "r1.block.0.out.c0" from F 0 to B 0
// CHECK:        sched.family "r1.block.0.out.c0.cot" from B 0 to B 0

// GPIPE:      tasks [F 0 0, F 0 1, F 0 2, F 0 3, B 0 0, B 0 1, B 0 2, B 0 3]
// GPIPE:      sched.family "s0.fw" from F 0 to B 0 slots 4 bytes 4096 slot_of [0, 1, 2, 3]
// A cotangent lives in the backward alone.
// GPIPE:      sched.family "r1.block.0.out.c0.cot" from B 0 to B 0 slots 1

// Of the stages that can go on, the one whose input is newest does.
// SPLIT:      stages 2 microbatches 2 tasks [F 0 0, F 1 0, F 0 1, F 1 1, I 1 0, I 0 0, I 1 1, I 0 1, W 0 0, W 0 1, W 1 0, W 1 1]
// What W reads of I's is kept: in each stage there is one layer, so no inner value is.
// SPLIT:      sched.family "s0.fw" from F 0 to W 0 slots 2
// SPLIT-NEXT:   sched.value "r1.block.0.res_fw.r0" residual bytes 2048 x 1
// SPLIT:      sched.family "s0.iw" from I 0 to W 0 slots 2
// SPLIT-NEXT:   sched.value "r1.block.0.res_iw.d0" residual bytes 2048 x 1
// The value between the stages lives until the W of the second.
// SPLIT:      sched.family "r1.block.0.out.c0" from F 0 to W 1 slots 2
// SPLIT:      sched.family "r1.block.0.out.c0.cot" from I 1 to W 0 slots 2

// Ranks that share the batch have their part of the microbatches each.
// RANKS:      sched.program @step policy "accumulate" stages 1 microbatches 2

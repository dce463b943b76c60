// RUN: tplan-opt --split-stages --order-tasks --form-program %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "gpipe_split", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.split
// RUN: tplan-opt --split-stages --order-tasks --form-program %t.split | FileCheck %s --check-prefix=SPLIT

// The chains are gone: a step is sections of work, in the order that its entry says.
// CHECK:      sched.program @step
// CHECK-SAME:   losses {main = 1.000000e+00 : f64}
// CHECK-NOT:  nn.chain
// CHECK:      sched.section @begin {
// CHECK-NEXT:   sched.zero to(%loss_main)
// CHECK-NEXT:   sched.zero to(%loss_count.main)
// CHECK:      sched.section @counts {
// CHECK:        sched.call @count_terms.E from(%loss_count.main)
// CHECK:      sched.section @cotangents {
// CHECK-NEXT:   sched.launch @tplan.cot_loss.main from(%loss_count.main) to(%cot_loss_main)

// A layer of a run takes what the one before it gave; the first and the last take and give values of the chain.
// CHECK:      sched.section @F.0 task F 0 {
// CHECK-NEXT:   sched.unpack shift 0 from(%input_tokens) to(%[[IDS:.*]])
// CHECK-NEXT:   sched.run "forward" "entry" x 1 {
// CHECK-NEXT:     sched.call @entry.F from(%param_embed, %[[IDS]]) to(%r0.entry.0.out.c0) frame %frame_r0.F
// CHECK:        sched.run "forward" "block[1..2]" x 2 {
// CHECK-NEXT:     sched.call @block.F from(%r1.block.0.in.c0[period - 1] first %r0.entry.0.out.c0, %param_blocks.w1[period], %param_blocks.w2[period])
// CHECK-SAME:       to(%r1.block.0.in.c0[period] last %r1.block.0.out.c0, %r1.block.0.res_fw.r0[period]) frame %frame_r1.F
// The backward goes from the last layer to the first, and hands cotangents on in a buffer of its own.
// CHECK:      sched.section @B.0 task B 0 {
// CHECK:        sched.run "backward" "block[1..2]" x 2 descending {
// CHECK-NEXT:     sched.call @block.B {{.*}}%handover_r1.B.0 last %r1.block.0.out.c0.cot

// The squared norm goes through two scalars in turn.
// CHECK:      sched.section @end {
// CHECK-NEXT:   sched.ready
// CHECK-NEXT:   sched.zero to(%norm)
// CHECK:          sched.call @block.N from(%norm[(period + 1) mod 2], {{.*}}) to(%norm[period mod 2])
// CHECK:        sched.launch @tplan.norm from(%norm{{.*}}) to(%scalar_norm, %grad_norm)
// CHECK:          sched.call @block.U
// CHECK:      sched.section @evaluate {
// CHECK:      sched.entry "prepare" [#sched.execute<once @prepare>]
// CHECK-NEXT: sched.entry "step" [#sched.execute<once @begin>, #sched.execute<each_microbatch @counts>, #sched.execute<once @cotangents>, #sched.execute<tasks>, #sched.execute<once @end>]
// CHECK-NEXT: sched.entry "evaluate" [#sched.execute<once @counts>, #sched.execute<once @evaluate>]
// CHECK-NEXT: sched.entry "predict" [#sched.execute<once @evaluate>]

// Each kind of task of each stage is a section.
// SPLIT:      sched.section @F.0 task F 0
// SPLIT:      sched.section @F.1 task F 1
// SPLIT:      sched.section @I.1 task I 1
// SPLIT:      sched.section @W.1 task W 1

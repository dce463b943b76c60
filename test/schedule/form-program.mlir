// RUN: tplan-opt --form-program %s | FileCheck %s --check-prefix=HERE
// RUN: tplan-opt --split-stages --order-tasks --form-program %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "gpipe_split", stages = [1, 1]/' %S/Inputs/mlp.mlir > %t.split
// RUN: tplan-opt --split-stages --order-tasks --form-program %t.split | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/microbatch = 2 : i64/microbatch = 4 : i64, pipeline = "1f1b", stages = [1, 1], mesh = [{name = "pp", size = 2 : i64}], stage_axis = "pp"/' %S/Inputs/mlp.mlir > %t.pp
// RUN: sed -i '1i module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {' %t.pp && echo '}' >> %t.pp
// RUN: tplan-opt --split-stages --order-tasks --form-program %t.pp | FileCheck %s --check-prefix=PP
// EXAMPLE
// A run of three layers with a weight each becomes a loop in the section of each task, on values: instance `period` of the weights
// and of their gradients. The entry says in which order a step executes the sections.
// HERE:      %[[W:.+]] = sched.value <parameter of @w> parameter always bytes 16 x 3
// HERE-NEXT: %[[G:.+]] = sched.value <gradient of @w> gradient always bytes 16 x 3
// HERE:      sched.section @F.0 task F 0 {
// HERE-NEXT:   sched.run "forward" "a[0..2]" x 3 {
// HERE-NEXT:     sched.call @a.F from(%[[W]][period]) frame %{{.+}}
// HERE:      sched.section @B.0 task B 0 {
// HERE-NEXT:   sched.run "backward" "a[0..2]" x 3 descending {
// HERE-NEXT:     sched.call @a.B from(%[[W]][period], %[[G]][period]) frame %{{.+}}
// HERE:      sched.entry step [#sched.execute<once @begin>, #sched.execute<once @cotangents>, #sched.execute<tasks>, #sched.execute<once @end>]
!w = !nn.tensor<[D 4], f32>
nn.param @w : !w x 3 path "a.{i}.w" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
sched.program @step policy "gpipe" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  nn.chain @train losses {main = 1.0 : f64} {
    nn.run [@a] x 3 layer 0 carried() invariant() params [{w = @w}] {stage = 0 : i64} : () -> ()
  }
}
rt.func @a.F(%w: !w {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.B(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!w {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<backward>} {
  rt.return %g : !w
}
// END

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
// CHECK-NEXT:   sched.zero to(%norm)
// CHECK:        sched.run "norm" "block[1..2]" x 2 descending {
// CHECK-NEXT:     sched.call @block.N from(%norm[period mod 2], {{.*}}) to(%norm[(period + 1) mod 2])
// CHECK:        sched.launch @tplan.norm from(%norm{{.*}}) to(%scalar_norm, %grad_norm)
// CHECK-NEXT:   sched.ready
// CHECK:          sched.call @block.U
// CHECK:      sched.section @evaluate {
// CHECK:      sched.entry prepare [#sched.execute<once @prepare>]
// CHECK-NEXT: sched.entry step [#sched.execute<once @begin>, #sched.execute<each_microbatch @counts>, #sched.execute<once @cotangents>, #sched.execute<tasks>, #sched.execute<once @end>]
// CHECK-NEXT: sched.entry evaluate [#sched.execute<once @counts>, #sched.execute<once @evaluate>]
// CHECK-NEXT: sched.entry predict [#sched.execute<once @evaluate>]

// Each kind of task of each stage is a section.
// SPLIT:      sched.section @F.0 task F 0
// SPLIT:      sched.section @F.1 task F 1
// SPLIT:      sched.section @I.1 task I 1
// SPLIT:      sched.section @W.1 task W 1

// A rank has the weights of its stage, from the layer of the list on with which that begins, and the
// norm has a part for each stage: those of other ranks are zero here, and come with the sum.
// PP:      sched.program @step.1
// PP:        %[[W:.+]] = sched.value <parameter of @blocks.w1> parameter always bytes 2048 x 1 first 1
// PP:        sched.section @RF.1 task RF 1 {
// PP-NEXT:     sched.receive "F of stage 0" from rank 0 to(%r1.block.0.out.c0)
// PP:        sched.section @F.1 task F 1 {
// PP:            sched.call @block.F from(%r1.block.0.out.c0, %[[W]]
// PP:        sched.section @SB.1 task SB 1 {
// PP-NEXT:     sched.send "B of stage 1" to rank 0 from(%r1.block.0.out.c0.cot)
// PP:        sched.section @end {
// PP:          sched.zero to(%[[FIRST:.+]])
// PP-NEXT:     sched.zero to(%[[SECOND:.+]])
// PP:          sched.all_reduce "gradient norm" over ["pp"] from(%[[FIRST]], %[[SECOND]]{{.*}}) to(%sum_gradient_norm, %sum_gradient_norm[1])
// PP-NEXT:     sched.launch @tplan.norm from(%sum_gradient_norm, %sum_gradient_norm[1]) to(%scalar_norm, %grad_norm)
// An evaluation goes through the stages in turn.
// PP:        sched.section @evaluate {
// PP-NEXT:     sched.receive "F of stage 0" from rank 0

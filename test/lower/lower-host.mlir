// RUN: tplan-opt --lower-host %s | FileCheck %s --check-prefix=HERE
// RUN: tplan-opt --split-stages --order-tasks --form-program --step-kernels --count-slots --plan-frames --plan-arena --record-calls --lower-kernels --expand-transcendentals --vectors-to-llvm --lower-host %S/../schedule/Inputs/mlp.mlir | FileCheck %s
// RUN: tplan-opt --split-stages --order-tasks --form-program --step-kernels --count-slots --assign-streams --plan-frames --repeat-updates --plan-arena --record-calls --lower-kernels-gpu --sum-kernels-gpu --expand-transcendentals --expand-narrow --kernels-to-nvvm --lower-host %S/../schedule/Inputs/mlp.mlir | FileCheck %s --check-prefix=GPU
// EXAMPLE
// A function takes the rank and one table of pointers: its arguments, its results, its frame. It leaves with the status of a call that
// fails. The launch stands beside a constant that says what it costs and where it comes from.
// HERE:      llvm.func internal @tplan.layer.a.F(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// HERE:        %[[K:.+]] = llvm.mlir.addressof @k
// HERE:        %[[STATUS:.+]] = llvm.call @tp_launch(%arg0, %{{.+}}, %[[K]], %{{.+}}, %{{.+}})
// HERE:        llvm.cond_br %{{.+}}, ^[[FAIL:bb[0-9]+]](%[[STATUS]] : i32)
// HERE:      llvm.func internal @tplan.task.F.0(
// HERE:        llvm.call @tplan.layer.a.F
!x = !nn.tensor<[D 16], f32>
tplan.recipe @r {batch = 2 : i64}
tplan.plan @p {recipe = "r"}
sched.program @step policy "gpipe" stages 1 microbatches 1 tasks [F 0 0, B 0 0] arena 64 live 64 {
  %x = sched.value <activation "x"> chain section bytes 64 x 1 of !x at 0
  sched.section @F.0 task F 0 { sched.call @a.F to(%x) }
  sched.section @B.0 task B 0 {}
  sched.entry prepare []
  sched.entry step [#sched.execute<tasks>]
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() {sched.places = [#sched.place<result, 0>], tp.call = #rt.call_record<kernel, tasks 1, flops 16, bytes 64>} : () -> !x
  rt.return %0 : !x
}
llvm.func @k(!llvm.ptr, i64)
// END

// The runtime has the entry points, which execute tables.
// CHECK:       llvm.mlir.global external constant @tplan.program
// CHECK:         llvm.mlir.addressof @tp_prepare
// CHECK:         llvm.mlir.addressof @tp_train
// CHECK:         llvm.mlir.addressof @tp_evaluate
// CHECK:         llvm.mlir.addressof @tp_predict

// A step is a table of sections, each for a microbatch (times 2^16): the begin, counts of all microbatches, where the
// backward begins, tasks, the end.
// CHECK:       llvm.mlir.global private constant @tplan.items.{{[0-9]+}}(dense<[0, 1, 65537, 131073, 196609, 2, 3, 4, 65539, 65540, 131075, 131076, 196611, 196612, 5]>

// A function takes the rank and one table of pointers: arguments, results, frame. It
// leaves with the status of a call that fails.
// CHECK-LABEL: llvm.func internal @tplan.layer.block.F(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> i32
// CHECK:         %[[S:.+]] = llvm.call @tp_matmul(%arg0,
// CHECK:         %[[BAD:.+]] = llvm.icmp "ne" %[[S]]
// CHECK:         llvm.cond_br %[[BAD]], ^[[FAIL:bb[0-9]+]](%[[S]] : i32)
// CHECK:         %[[K:.+]] = llvm.mlir.addressof @relu
// CHECK:         llvm.call @tp_launch(%arg0, {{.*}}, %[[K]]
// CHECK:       ^[[FAIL]](%[[X:.+]]: i32):
// CHECK-NEXT:    llvm.return %[[X]]

// What a step does before its tasks.
// CHECK-LABEL: llvm.func internal @tplan.section.counts(
// CHECK:         llvm.call @tplan.layer.count_terms.E
// CHECK-LABEL: llvm.func internal @tplan.section.cotangents(
// CHECK:         llvm.mlir.addressof @tplan.cot_loss.main
// CHECK:         llvm.call @tp_launch

// Two layers of a list are one call in a loop.
// CHECK-LABEL: llvm.func internal @tplan.task.F.0(
// CHECK:         llvm.call @tp_copy
// CHECK:         llvm.call @tplan.layer.entry.F
// CHECK:         llvm.icmp "slt"
// CHECK:         llvm.call @tplan.layer.block.F
// CHECK-NOT:     llvm.call @tplan.layer.block.F
// CHECK:         llvm.call @tplan.layer.exit.F

// What it does after them: norm, updates.
// CHECK-LABEL: llvm.func internal @tplan.section.end(
// CHECK:         llvm.call @tplan.layer.block.N
// CHECK:         llvm.mlir.addressof @tplan.norm
// CHECK:         llvm.call @tp_launch
// CHECK:         llvm.call @tp_gradients_ready(%arg0)
// CHECK:         llvm.call @tplan.layer.exit.U
// CHECK-LABEL: llvm.func internal @tplan.section.evaluate(
// CHECK:         llvm.call @tplan.layer.exit.E

// CHECK-LABEL: llvm.func @main(%arg0: i32, %arg1: !llvm.ptr) -> i32
// CHECK:         llvm.call @tp_main(%arg0, %arg1, %{{.*}})

// A device updates both layers with one launch of each kernel: their number comes after the frame.
// GPU-LABEL: llvm.func internal @tplan.layer.block.U(
// GPU:         %[[BEHIND:.+]] = llvm.mlir.constant(64 : i64)
// GPU-NEXT:    %[[PLACE:.+]] = llvm.getelementptr %arg1[%[[BEHIND]]]
// GPU-NEXT:    %[[LAYERS:.+]] = llvm.load %[[PLACE]] : !llvm.ptr -> i64
// GPU:         llvm.call @tp_launch_device({{.*}}, %[[LAYERS]])
// GPU:         llvm.call @tp_launch_device({{.*}}, %[[LAYERS]])
// GPU-LABEL: llvm.func internal @tplan.section.end(
// GPU:         llvm.call @tplan.layer.entry.U
// GPU-NOT:     llvm.icmp "slt"
// GPU:         %[[BOTH:.+]] = llvm.mlir.constant(2 : i64)
// GPU:         llvm.store %[[BOTH]], %{{.*}} : i64, !llvm.ptr
// GPU-NEXT:    llvm.call @tplan.layer.block.U

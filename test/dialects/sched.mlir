// RUN: tplan-opt %s | tplan-opt | FileCheck %s
// RUN: tplan-opt --mlir-print-op-generic %s | tplan-opt | FileCheck %s
// The syntax of the sched dialect, there and back.

// CHECK: sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, I 0 0, I 0 1, W 0 0, W 0 1] arena 640 live 512 {
sched.program @step policy "p" stages 1 microbatches 2
    tasks [F 0 0, F 0 1, I 0 0, I 0 1, W 0 0, W 0 1] arena 640 live 512 {
  // CHECK: sched.family "s0.fw" from F 0 to W 0 slots 2 bytes 192 slot_of [0, 1] at [128, 320] {
  sched.family "s0.fw" from F 0 to W 0 slots 2 bytes 192 slot_of [0, 1] at [128, 320] {
    // CHECK-NEXT: sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3 at 0
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3 at 0
  }
  // CHECK: sched.family "x" from I 0 to I 0 slots 1 bytes 0 slot_of [0, 0] at [512] {
  sched.family "x" from I 0 to I 0 slots 1 bytes 0 slot_of [0, 0] at [512] {
  }
  // CHECK: sched.value "scalar lr" scalar bytes 8 x 1 at 0 {unit = "1"}
  sched.value "scalar lr" scalar bytes 8 x 1 at 0 {unit = "1"}
}

// CHECK: rt.func @f
// CHECK: rt.copy %arg0 {sched.places = [#sched.place<"frame", 64>]}
rt.func @f(%x: !nn.tensor<[B 2], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = rt.copy %x {sched.places = [#sched.place<"frame", 64>]} : !nn.tensor<[B 2], f32> -> !nn.tensor<[B 2], f32>
  rt.return
}

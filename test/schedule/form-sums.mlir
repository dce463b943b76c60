// RUN: tplan-opt --form-sums --split-input-file %s | FileCheck %s
// EXAMPLE
// Two sums of bf16 and a maximum of f32 need two kernels; a gather adds nothing.
!x = !nn.tensor<[B 4, D 4], bf16>
!s = !nn.tensor<[B 2, D 4], bf16>
!y = !nn.tensor<[B 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// CHECK:     rt.sum @tplan.sum_bf16 sum of bf16
// CHECK:     rt.sum @tplan.max_f32 max of f32
// CHECK-NOT: rt.sum
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !y {nn.role = "carried", nn.name = "c1"})
    -> (!s {nn.role = "carried", nn.name = "c0"}, !x {nn.role = "carried", nn.name = "c1"}, !y {nn.role = "carried", nn.name = "c2"}) {
  %0 = rt.collective reduce_scatter sum %x over ["dp"] dim "B" : !x -> !s
  %1 = rt.collective all_reduce sum %x over ["dp"] : !x -> !x
  %2 = rt.collective all_reduce max %y over ["dp"] : !y -> !y
  %3 = rt.collective all_gather sum %0 over ["dp"] dim "B" : !s -> !x
  rt.return %0, %1, %2 : !s, !x, !y
}
}
// END

// -----

// A sum of the step is of f64; so is one that is pending when the runtime reads it.
// CHECK-LABEL: sched.program @step
// CHECK:     rt.sum @tplan.sum_f64 sum of f64
// CHECK-NOT: rt.sum
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %n = sched.value <loss "main"> scalar always bytes 8 x 1 pending ["dp"]
  sched.section @end { sched.all_reduce "norm" over ["dp"] from(%n) to(%n) }
}

// -----

// CHECK-LABEL: sched.program @pending
// CHECK:     rt.sum @tplan.sum_f64 sum of f64
// CHECK-NOT: rt.sum
sched.program @pending policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %n = sched.value <loss "main"> scalar always bytes 8 x 1 pending ["dp"]
}

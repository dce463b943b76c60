// RUN: tplan-opt --sum-kernels-gpu %s | FileCheck %s
// EXAMPLE
// One kernel for each type and way to combine, whatever the shapes: a thread adds one element of
// all members, in their order; bf16 is added in f32 and rounded once.
!x = !nn.tensor<[B 4, D 4], bf16>
!s = !nn.tensor<[B 2, D 4], bf16>
!y = !nn.tensor<[B 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// CHECK:       gpu.module @kernels attributes {
// CHECK-SAME:    tplan.sum_bf16 = #rt.device_kernel<0 x 256>
// CHECK-SAME:    tp.sums = {tplan.max_f32 = #rt.device_sum<max of f32>, tplan.sum_bf16 = #rt.device_sum<sum of bf16>}
// CHECK:       gpu.func @tplan$sum_bf16(%[[IN:.*]]: memref<{{.*}}bf16{{.*}}>, %[[OUT:.*]]: memref<{{.*}}>, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64) kernel
// CHECK:         %[[FIRST:.*]] = memref.load %[[IN]]
// CHECK:         %[[START:.*]] = arith.extf %[[FIRST]] : bf16 to f32
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[START]]) -> (f32)
// CHECK:           arith.addf %[[ACC]]
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[SUM]]
// CHECK:         memref.store %[[ROUNDED]], %[[OUT]]
// CHECK:       gpu.func @tplan$max_f32
// CHECK:         arith.maximumf
// CHECK-NOT:   gpu.func
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !y {nn.role = "carried", nn.name = "c1"})
    -> (!s {nn.role = "carried", nn.name = "c0"}, !x {nn.role = "carried", nn.name = "c1"}, !y {nn.role = "carried", nn.name = "c2"}) {
  %0 = rt.collective reduce_scatter sum %x over ["dp"] dim "B" : !x -> !s
  %1 = rt.collective all_reduce sum %x over ["dp"] : !x -> !x
  %2 = rt.collective all_reduce max %y over ["dp"] : !y -> !y
  rt.return %0, %1, %2 : !s, !x, !y
}
}
// END

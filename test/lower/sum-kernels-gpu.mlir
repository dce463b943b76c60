// RUN: tplan-opt --sum-kernels-gpu %s | FileCheck %s
// EXAMPLE
// One kernel for each type and way to combine, whatever the shapes: a thread adds one element of
// all members, in their order; bf16 is added in f32 and rounded once.
rt.sum @tplan.sum_bf16 sum of bf16
rt.sum @tplan.max_f32 max of f32
// CHECK:       gpu.module @kernels attributes {
// CHECK-SAME:    tplan.max_f32 = #rt.device_kernel<0 x 256>, tplan.sum_bf16 = #rt.device_kernel<0 x 256>
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
// END

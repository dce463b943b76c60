// RUN: tplan-opt --vectors-to-llvm %s | FileCheck %s
// EXAMPLE
// A kernel becomes a function of the runtime's form: an array of pointers and a task.
// CHECK-LABEL: llvm.func @k(%arg0: !llvm.ptr
// CHECK-SAME:    i64
// CHECK:         llvm.load {{.*}} -> vector<16xf32>
// CHECK:         llvm.fadd {{.*}} : vector<16xf32>
// CHECK:         llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
func.func @k(%x: memref<64xf32>, %y: memref<64xf32>, %task: index) attributes {tplan.kernel} {
  %0 = vector.load %x[%task] : memref<64xf32>, vector<16xf32>
  %1 = arith.addf %0, %0 : vector<16xf32>
  vector.store %1, %y[%task] : memref<64xf32>, vector<16xf32>
  return
}
// END

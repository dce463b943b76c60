// RUN: tplan-opt %s -kernels-to-nvvm | FileCheck %s
// EXAMPLE
// Memory becomes pointers in its space; math that is left is an instruction, never a call.
// CHECK: llvm.mlir.global internal @[[SHARED:.*]]() {addr_space = 3 : i32, alignment = 16 : i64}
// CHECK-LABEL: llvm.func @k(
// CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>)
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 64, 1, 1>
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.intr.sqrt(%{{.*}}) : (vector<4xf32>) -> vector<4xf32>
// CHECK: nvvm.barrier0
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-NOT: llvm.call
// CHECK-NOT: gpu.func
gpu.module @kernels {
  gpu.func @k(%x: memref<256xf32, 1>, %y: memref<256xf32, 1>)
      workgroup(%all : memref<256xf32, 3> {llvm.align = 16 : i64})
      kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                         known_grid_size = array<i32: 1, 1, 1>} {
    %c4 = arith.constant 4 : index
    %t = gpu.thread_id x
    %at = arith.muli %t, %c4 : index
    %v = vector.load %x[%at] {alignment = 16 : i64} : memref<256xf32, 1>, vector<4xf32>
    %r = math.sqrt %v : vector<4xf32>
    vector.store %r, %all[%at] : memref<256xf32, 3>, vector<4xf32>
    gpu.barrier
    %w = vector.load %all[%at] : memref<256xf32, 3>, vector<4xf32>
    vector.store %w, %y[%at] {alignment = 16 : i64} : memref<256xf32, 1>, vector<4xf32>
    gpu.return
  }
}
// END

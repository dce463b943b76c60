// RUN: tplan-opt %s -split-input-file -lower-attention-gpu -lower-kernels-gpu | FileCheck %s
// EXAMPLE
// Nothing is masked, so each block walks all tiles of keys without a branch: scores by multiply-adds, their largest number and
// their sum as it goes.
// CHECK-LABEL: gpu.func @all(
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>
// CHECK:         scf.for
// CHECK:           math.fma
// CHECK:           nvvm.shfl.sync bfly
// CHECK:           math.exp
// CHECK:         math.log
// CHECK:         gpu.return
rt.tile @all forward : (!nn.tensor<[S 256, H 2, K 64], f32>, !nn.tensor<[S 256, H 2, K 64], f32>, !nn.tensor<[S 256, H 2, K 64], f32>)
    -> (!nn.tensor<[S 256, H 2, K 64], f32>, !nn.tensor<[S 256, H 2], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125>
// END

// -----

// Eight rows a thread, 16 threads across; four tiles of 64 queries a head. Shared memory is
// two panels and a tile of scores, never a row of them.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @causal(%{{.*}}: memref<51200xf32, 1>, %{{.*}}: memref<25600xf32, 1>, %{{.*}}: memref<25600xf32, 1>, %{{.*}}: memref<51200xf32, 1>, %{{.*}}: memref<800xf32, 1>)
// CHECK-SAME: workgroup(%{{.*}} : memref<4096xf32, 3> {{.*}}, %[[TILE:.*]] : memref<4352xf32, 3>
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 16, 1, 1>
// CHECK-SAME: nvvm.maxnreg = 255
// Tiles of keys, skipped where the last query is before the first key ...
// CHECK: %[[NONE:.*]] = arith.cmpi slt, %[[QMAX:.*]], %[[KMIN:.*]] : i32
// CHECK: %[[FULL:.*]] = arith.cmpi sle, %[[KMAX:.*]], %[[QMIN:.*]] : i32
// CHECK: %[[ALL:.*]] = arith.andi %[[FULL]]
// CHECK: scf.if %[[NONE]]
// CHECK: } else {
// 16 bytes an access; rows past the last one are zero.
// CHECK: vector.load %arg0{{.*}} {alignment = 16 : i64} : memref<51200xf32, 1>, vector<4xf32>
// CHECK-NEXT: {{.*}}arith.constant dense<0.000000e+00>
// CHECK-NEXT: arith.select
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-8: math.fma {{.*}} : vector<4xf32>
// ... and the mask is asked where not all of it is seen.
// CHECK: arith.xori %[[ALL]]
// CHECK: scf.if
// CHECK: arith.cmpi sle, {{.*}} : vector<4xi32>
// CHECK: arith.select {{.*}} : vector<4xi1>, vector<4xf32>
// CHECK: nvvm.shfl.sync bfly
// CHECK: math.exp
// CHECK: vector.store {{.*}}, %[[TILE]]
// CHECK-COUNT-32: math.fma {{.*}} : vector<4xf32>
// CHECK: math.log
// CHECK: vector.store {{.*}}, %arg3{{.*}} {alignment = 16 : i64}
rt.tile @causal forward : (!nn.tensor<[S 200, H 4, K 64], f32>, !nn.tensor<[S 200, G 2, K 64], f32>, !nn.tensor<[S 200, G 2, K 64], f32>) -> (!nn.tensor<[S 200, H 4, K 64], f32>, !nn.tensor<[S 200, H 4], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

// Kernels of both kinds are in one module.
// CHECK: gpu.func @copy(
// CHECK-NOT: gpu.module
// CHECK: // -----
rt.kernel @copy map rows [] cols [#nn.dim<"D", 8>] grain 1
    : (!nn.tensor<[D 8], f32>) -> (!nn.tensor<[D 8], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// Every tile is seen and whole: no branch on masks, nothing is selected but rows without a
// key.
// CHECK-LABEL: gpu.func @all(
// CHECK-NOT: scf.if
// CHECK: math.log
// CHECK: gpu.return
rt.tile @all forward : (!nn.tensor<[S 256, H 2, K 64], f32>, !nn.tensor<[S 256, H 2, K 64], f32>, !nn.tensor<[S 256, H 2, K 64], f32>) -> (!nn.tensor<[S 256, H 2, K 64], f32>, !nn.tensor<[S 256, H 2], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125>

// -----

// Two roles: 4 blocks own keys (d_v, d_k: 2 * 8 sums), 8 own queries. The workspace, the last
// argument, is not touched.
// CHECK-LABEL: gpu.func @backward(
// CHECK-SAME: %[[WORKSPACE:[a-z0-9]*]]: memref<32768xf32, 1>) workgroup
// CHECK-SAME: known_grid_size = array<i32: 12, 1, 1>
// CHECK-NOT: %[[WORKSPACE]]
// CHECK: %[[KEYS:.*]] = arith.cmpi ult, %block_id_x, %c4{{.*}} : index
// CHECK: scf.if %[[KEYS]] {
// CHECK: = scf.for {{.*}} -> ({{(vector<4xf32>, ){15}vector<4xf32>}}) {
// CHECK: arith.truncf {{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK: vector.store {{.*}}, %arg8
// CHECK: vector.store {{.*}}, %arg7
// CHECK: %[[REST:.*]] = arith.subi %block_id_x, %c4
// CHECK: %[[QUERIES:.*]] = arith.cmpi ult, %[[REST]], %c8{{.*}} : index
// CHECK: scf.if %[[QUERIES]] {
// CHECK: vector.store {{.*}}, %arg6
// CHECK-NOT: %[[WORKSPACE]]
// CHECK: gpu.return
rt.tile @backward backward : (!nn.tensor<[S 128, H 4, K 64], bf16>, !nn.tensor<[S 128, G 2, K 64], bf16>, !nn.tensor<[S 128, G 2, K 64], bf16>, !nn.tensor<[S 128, H 4, K 64], bf16>, !nn.tensor<[S 128, H 4], f32>, !nn.tensor<[S 128, H 4], f32>) -> (!nn.tensor<[S 128, H 4, K 64], bf16>, !nn.tensor<[S 128, G 2, K 64], bf16>, !nn.tensor<[S 128, G 2, K 64], bf16>, !nn.tensor<[S 128, H 4, K 64], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

// -----

// Sums of d_k and d_v together are too many registers: three roles.
// CHECK-LABEL: gpu.func @wide(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 6, 1, 1>
// CHECK-COUNT-3: arith.cmpi ult, {{.*}}, %c2{{.*}} : index
rt.tile @wide backward : (!nn.tensor<[S 128, H 1, K 256], f32>, !nn.tensor<[S 128, H 1, K 256], f32>, !nn.tensor<[S 128, H 1, K 256], f32>, !nn.tensor<[S 128, H 1, K 256], f32>, !nn.tensor<[S 128, H 1], f32>, !nn.tensor<[S 128, H 1], f32>) -> (!nn.tensor<[S 128, H 1, K 256], f32>, !nn.tensor<[S 128, H 1, K 256], f32>, !nn.tensor<[S 128, H 1, K 256], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125, mask = <causal>>

// -----

// Where rows lie is loaded, piece by piece; a tile's range is that of the pieces that it meets.
// CHECK-LABEL: gpu.func @starts(
// CHECK: %[[FIRST:.*]] = memref.load %arg3
// CHECK: %[[SECOND:.*]] = memref.load %arg4
// CHECK: %[[SHIFT:.*]] = arith.subi %[[SECOND]], %c50_i32
// CHECK: %[[KEYS:.*]] = memref.load %arg5
// CHECK: %[[FROM:.*]] = arith.maxsi %{{.*}}, %c50_i32
// CHECK: arith.addi %[[FROM]], %[[SHIFT]] : i32
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %[[KEYS]] : i32
// CHECK: arith.cmpi slt, %{{.*}} : i32
// CHECK: scf.if
rt.tile @starts forward : (!nn.tensor<[S 200, H 4, K 64], f32>, !nn.tensor<[T 100, G 2, K 64], f32>, !nn.tensor<[T 100, G 2, K 64], f32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 200, H 4, K 64], f32>, !nn.tensor<[S 200, H 4], f32>) queries [50, 150] keys [100] <query = "S", key = "T", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

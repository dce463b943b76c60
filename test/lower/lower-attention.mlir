// RUN: tplan-opt %s -split-input-file -lower-attention | FileCheck %s
// EXAMPLE
// The widest scratch is tile x width; nothing has S = 4096 x T = 4096 elements,
// or a row of them.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: %{{.*}}: memref<2097152xf32>
// CHECK-SAME: index) attributes {tplan.kernel}
// CHECK-NOT: memref.alloc(
// CHECK-COUNT-4: memref.alloca() {alignment = 64 : i64} : memref<4096xf32>
// CHECK-COUNT-3: memref.alloca() {alignment = 64 : i64} : memref<64xf32>
// CHECK-COUNT-2: memref.alloca() {alignment = 64 : i64} : memref<64xi32>
// CHECK-NOT: memref.alloc
// Keys, tile by tile: skipped where the last query is before the first key ...
// CHECK: scf.for %{{.*}} to %{{.*}} step %c64
// CHECK: %[[KMIN:.*]] = vector.reduction <minsi>
// CHECK: %[[KMAX:.*]] = vector.reduction <maxsi>
// CHECK: %[[NONE:.*]] = arith.cmpi slt, %[[QMAX:.*]], %[[KMIN]] : i32
// CHECK: %[[ALL:.*]] = arith.cmpi sle, %[[KMAX]], %[[QMIN:.*]] : i32
// CHECK: %[[SOME:.*]] = arith.xori %[[NONE]]
// CHECK: scf.if %[[SOME]] {
// CHECK: math.fma
// ... and the mask is asked where not all of it is seen.
// CHECK: %[[MIXED:.*]] = arith.xori %[[ALL]]
// CHECK: scf.if %[[MIXED]] {
// CHECK: arith.cmpi sle, {{.*}} : vector<16xi32>
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK-NOT: memref.alloc
rt.tile @causal forward : (!nn.tensor<[S 4096, H 8, K 64], f32>, !nn.tensor<[S 4096, G 4, K 64], f32>, !nn.tensor<[S 4096, G 4, K 64], f32>) -> (!nn.tensor<[S 4096, H 8, K 64], f32>, !nn.tensor<[S 4096, H 8], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>
// END

// -----

// Every tile is seen: no branch.
// CHECK-LABEL: func.func @all(
// CHECK-NOT: scf.if
// CHECK: return
rt.tile @all forward : (!nn.tensor<[S 4096, H 8, K 64], f32>, !nn.tensor<[S 4096, G 4, K 64], f32>, !nn.tensor<[S 4096, G 4, K 64], f32>) -> (!nn.tensor<[S 4096, H 8, K 64], f32>, !nn.tensor<[S 4096, H 8], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125>

// -----

// bf16 adds up in f32; d_q in the workspace, the last argument before the task.
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: memref<16384xf32>, %{{.*}}: index)
// CHECK-COUNT-10: memref.alloca() {{.*}}xf32>
// CHECK-NOT: memref.alloc{{.*}}f32>
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: return
rt.tile @backward backward : (!nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2], f32>, !nn.tensor<[S 128, H 2], f32>) -> (!nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2, K 64], bf16>, !nn.tensor<[S 128, H 2, K 64], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125, mask = <causal>>

// -----

// Sums in registers: six rows where nothing is known of the machine, eight where it has
// 32 registers of 64 bytes.
// CHECK-LABEL: func.func @six(
// CHECK: = scf.for {{.*}} -> ({{(vector<16xf32>, ){5}vector<16xf32>}}) {
rt.tile @six forward : (!nn.tensor<[S 64, H 1, K 64], f32>, !nn.tensor<[S 64, H 1, K 64], f32>, !nn.tensor<[S 64, H 1, K 64], f32>) -> (!nn.tensor<[S 64, H 1, K 64], f32>, !nn.tensor<[S 64, H 1], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125>

// -----

// CHECK-LABEL: func.func @eight(
// CHECK: = scf.for {{.*}} -> ({{(vector<16xf32>, ){7}vector<16xf32>}}) {
module attributes {tplan.target = #tplan.target<{registers = 32 : i64, vector_bytes = 64 : i64}>} {
  rt.tile @eight forward : (!nn.tensor<[S 64, H 1, K 64], f32>, !nn.tensor<[S 64, H 1, K 64], f32>, !nn.tensor<[S 64, H 1, K 64], f32>) -> (!nn.tensor<[S 64, H 1, K 64], f32>, !nn.tensor<[S 64, H 1], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125>
}

// -----

// Where rows lie is loaded, piece by piece; which tiles are skipped follows from that.
// CHECK-LABEL: func.func @starts(
// CHECK-SAME: %arg3: memref<1xi32>, %arg4: memref<1xi32>, %arg5: memref<1xi32>
// CHECK: %[[FIRST:.*]] = memref.load %arg3
// CHECK: %[[SECOND:.*]] = memref.load %arg4
// CHECK: %[[SHIFT:.*]] = arith.subi %[[SECOND]], %c50_i32
// CHECK: %[[KEYS:.*]] = memref.load %arg5
// CHECK: %[[A:.*]] = vector.broadcast %[[FIRST]] : i32 to vector<16xi32>
// CHECK: %[[AT:.*]] = arith.addi %[[ROWS:.*]], %[[A]] : vector<16xi32>
// CHECK: %[[B:.*]] = vector.broadcast %[[SHIFT]] : i32 to vector<16xi32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[ROWS]], %[[B]] : vector<16xi32>
// CHECK: %[[IN:.*]] = arith.cmpi sge, %[[ROWS]], %{{.*}} : vector<16xi32>
// CHECK: arith.select %[[IN]], %[[NEXT]], %[[AT]]
// CHECK: scf.for
// CHECK: vector.broadcast %[[KEYS]] : i32 to vector<16xi32>
// CHECK: vector.reduction <minsi>
// CHECK: arith.cmpi slt, %{{.*}} : i32
// CHECK: scf.if
rt.tile @starts forward : (!nn.tensor<[S 200, H 4, K 64], f32>, !nn.tensor<[T 100, G 2, K 64], f32>, !nn.tensor<[T 100, G 2, K 64], f32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 200, H 4, K 64], f32>, !nn.tensor<[S 200, H 4], f32>) queries [50, 150] keys [100] <query = "S", key = "T", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

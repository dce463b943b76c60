// RUN: tplan-opt %s -split-input-file -lower-kernels | FileCheck %s

// All operands walk all loops as one: flat, from a multiple of 16 on; one tail.
// CHECK-LABEL: func.func @flat(
// CHECK-SAME: %[[X:.*]]: memref<333xf32>, %[[OUT:.*]]: memref<333xf32>, %[[TASK:.*]]: index) attributes {tplan.kernel}
// CHECK: scf.for %[[C:.*]] = {{.*}} step %c16
// CHECK:   %[[AT:.*]] = arith.addi %{{.*}}, %[[C]]
// CHECK:   vector.load %[[X]][%[[AT]]] : memref<333xf32>, vector<16xf32>
// CHECK:   arith.mulf {{.*}} : vector<16xf32>
// CHECK:   vector.store {{.*}} : memref<333xf32>, vector<16xf32>
// CHECK: scf.if
// CHECK:   vector.load {{.*}} vector<13xf32>
// CHECK:   arith.mulf {{.*}} : vector<16xf32>
// CHECK:   vector.store {{.*}} vector<13xf32>
rt.kernel @flat map rows [#nn.dim<"B", 9>] cols [#nn.dim<"D", 37>] grain 2
    : (!nn.tensor<[B 9, D 37], f32>) -> (!nn.tensor<[B 9, D 37], f32>)
    access [#rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>] {
^bb0(%x: f32):
  %y = arith.mulf %x, %x : f32
  rt.yield %y : f32
}

// -----

// Two passes over a row; the second loads again. Values of a row are scalars, sums
// over rows go to the task's row of the output.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME: %[[X:.*]]: memref<23976xbf16>, %[[G:.*]]: memref<72xf32>
// CHECK-SAME: %[[SUMS:[a-z0-9]*]]: memref<504xf32>, %{{.*}}: index)
// CHECK: vector.store %cst{{.*}}, %[[SUMS]]
// CHECK: scf.for
// CHECK:   scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:     vector.load %[[X]]{{.*}} : memref<23976xbf16>, vector<16xbf16>
// CHECK:     arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:     arith.addf %[[ACC]]
// CHECK:   vector.load {{.*}} vector<8xbf16>
// CHECK:   arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK:   arith.addf {{.*}} : vector<8xf32>
// CHECK:   arith.addf {{.*}} : vector<4xf32>
// CHECK:   arith.addf {{.*}} : vector<2xf32>
// CHECK:   arith.addf {{.*}} : vector<1xf32>
// CHECK:   math.rsqrt %{{.*}} : f32
// CHECK:   scf.for
// CHECK:     vector.load %[[X]]
// CHECK:     vector.load %[[G]]
// CHECK:     vector.load %[[SUMS]]
// CHECK:     vector.store {{.*}}, %[[SUMS]]
rt.kernel @norm row rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 50
    : (!nn.tensor<[S 333, D 72], bf16>, !nn.tensor<[D 72], f32>)
   -> (!nn.tensor<[S 333, D 72], f32>, !nn.tensor<[task 7, D 72], f32>)
    access [#rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>,
            #rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>] {
^bb0(%x: bf16, %g: f32):
  %f = arith.extf %x : bf16 to f32
  %sq = arith.mulf %f, %f : f32
  %ss = rt.row_reduce sum %sq : f32
  %r = math.rsqrt %ss : f32
  %n = arith.mulf %f, %r : f32
  %y = arith.mulf %n, %g : f32
  %s = rt.col_reduce sum %n : f32
  rt.yield %y, %s : f32, f32
}

// -----

// f64: eight lanes. Sums of columns stay in registers, four vectors at a time.
// CHECK-LABEL: func.func @columns(
// CHECK: scf.for {{.*}} step %c32
// CHECK:   scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
rt.kernel @columns column rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 40
    : (!nn.tensor<[S 333, D 72], f64>) -> (!nn.tensor<[D 72], f64>)
    access [#rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>] {
^bb0(%x: f64):
  %s = rt.col_reduce sum %x : f64
  rt.yield %s : f64
}

// -----

// Rows without an id are skipped; the old content is the first addend.
// CHECK-LABEL: func.func @scatter(
// CHECK: %[[ID:.*]] = memref.load %{{.*}} : memref<333xi32>
// CHECK: %[[USED:.*]] = arith.cmpi sge, %[[ID]]
// CHECK: scf.if %[[USED]] {
// CHECK:   vector.load %[[T:.*]][%[[AT:.*]]] : memref<2304xf32>, vector<16xf32>
// CHECK:   vector.store %{{.*}}, %[[T]][%[[AT]]]
rt.kernel @scatter column rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 72
    : (!nn.tensor<[S 333, D 72], f32>, !nn.tensor<[S 333], i32>) -> (!nn.tensor<[V 32, D 72], f32>)
    access [#rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>,
            #rt.access<"scatter", "V", 1>] {
^bb0(%x: f32, %id: i32):
  rt.yield %x : f32
}

// -----

// Squares of 16 rows turned in registers: four exchanges of 16 shuffles.
// CHECK-LABEL: func.func @turn(
// CHECK-COUNT-16: vector.load %{{.*}} : memref<4096xf32>, vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}} : memref<4096xf32>, vector<16xf32>
rt.kernel @turn transpose rows [#nn.dim<"K", 64>] cols [#nn.dim<"S", 64>] grain 64
    : (!nn.tensor<[S 64, K 64], f32>) -> (!nn.tensor<[K 64, S 64], f32>)
    access [#rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// -----

// A run-time count comes after the outputs.
// CHECK-LABEL: func.func @bounded(
// CHECK-SAME: %[[COUNT:[a-z0-9]*]]: memref<1xi64>, %{{[a-z0-9]*}}: index)
// CHECK: memref.load %[[COUNT]]
// CHECK: arith.minsi
rt.kernel @bounded map rows [#nn.dim<"T", 50, true>] cols [#nn.dim<"D", 72>] grain 10
    : (!nn.tensor<[T max 50, D 72], f32>) -> (!nn.tensor<[T max 50, D 72], f32>)
    access [#rt.access<"identity", "", 0>, #rt.access<"identity", "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}

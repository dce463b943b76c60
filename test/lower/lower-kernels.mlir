// RUN: tplan-opt %s -split-input-file -lower-kernels | FileCheck %s
// EXAMPLE
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
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %y = arith.mulf %x, %x : f32
  rt.yield %y : f32
}
// END

// -----

// Two passes over a row; the second loads again, in one loop with the first pass over the
// next row. Values of a row are scalars, sums over rows go to the task's row of the output.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME: %[[X:.*]]: memref<23976xbf16>, %[[G:.*]]: memref<72xf32>
// CHECK-SAME: %[[SUMS:[a-z0-9]*]]: memref<504xf32>, %{{.*}}: index)
// CHECK: vector.store %cst{{.*}}, %[[SUMS]]
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:   vector.load %[[X]]{{.*}} : memref<23976xbf16>, vector<16xbf16>
// CHECK:   arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:   arith.addf %[[ACC]]
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: %[[FIRST:.*]] = vector.extract %
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]]) -> (f32)
// CHECK:   math.rsqrt %[[SUM]] : f32
// CHECK:   scf.for {{.*}} -> (vector<16xf32>)
// CHECK-COUNT-2: vector.load %[[X]]
// CHECK:     vector.load %[[G]]
// CHECK:     vector.load %[[SUMS]]
// CHECK:     vector.store {{.*}}, %[[SUMS]]
// CHECK:   %[[NEXT:.*]] = vector.extract %
// CHECK:   scf.yield %[[NEXT]] : f32
rt.kernel @norm row rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 50
    : (!nn.tensor<[S 333, D 72], bf16>, !nn.tensor<[D 72], f32>)
   -> (!nn.tensor<[S 333, D 72], f32>, !nn.tensor<[each.task 7, D 72], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
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

// Long rows of bf16 in pairs: a word is shifted for its even element and masked for its odd
// one, and put together again. The row's sum adds 16 columns at a time all the same, sums
// over rows keep the order of lanes until the end. What comes from memory is called a page
// ahead.
// CHECK-LABEL: func.func @pairs(
// CHECK: memref.prefetch %[[X:.*]][{{.*}}], read, locality<2>, data
// CHECK: %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xi32>
// CHECK: %[[EVEN:.*]] = arith.shli %[[WORDS]]
// CHECK: %[[ODD:.*]] = arith.andi %[[WORDS]]
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: vector.shuffle %{{.*}} [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: arith.shli {{.*}} : vector<16xi32>
// CHECK: %[[OUT:.*]] = arith.ori {{.*}} : vector<16xi32>
// CHECK: %[[STORED:.*]] = vector.bitcast %[[OUT]] : vector<16xi32> to vector<32xbf16>
// CHECK: vector.store %[[STORED]], %{{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK: vector.store {{.*}} vector<32xf32>
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17,
// CHECK: llvm.fence seq_cst
// CHECK-NEXT: return
rt.kernel @pairs row rows [#nn.dim<"S", 8192>] cols [#nn.dim<"D", 4096>] grain 64
    : (!nn.tensor<[S 8192, D 4096], bf16>)
   -> (!nn.tensor<[S 8192, D 4096], bf16>, !nn.tensor<[each.task 128, D 4096], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<identity, "", 0>] {
^bb0(%x: bf16):
  %f = arith.extf %x : bf16 to f32
  %ss = rt.row_reduce sum %f : f32
  %n = arith.subf %f, %ss : f32
  %y = arith.truncf %n : f32 to bf16
  %s = rt.col_reduce sum %n : f32
  rt.yield %y, %s : bf16, f32
}

// -----

// A large output goes past the caches where its elements cost little; the task ends when
// its stores are ordered.
// CHECK-LABEL: func.func @light(
// CHECK: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK: llvm.fence seq_cst
// CHECK-NEXT: return
rt.kernel @light map rows [#nn.dim<"S", 4096>] cols [#nn.dim<"D", 4096>] grain 64
    : (!nn.tensor<[S 4096, D 4096], f32>) -> (!nn.tensor<[S 4096, D 4096], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %y = arith.addf %x, %x : f32
  rt.yield %y : f32
}

// -----

// CHECK-LABEL: func.func @heavy(
// CHECK: math.exp
// CHECK: vector.store
// CHECK-NOT: nontemporal
// CHECK-NOT: llvm.fence
rt.kernel @heavy map rows [#nn.dim<"S", 4096>] cols [#nn.dim<"D", 4096>] grain 64
    : (!nn.tensor<[S 4096, D 4096], f32>) -> (!nn.tensor<[S 4096, D 4096], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %e = math.exp %x : f32
  %t = math.tanh %e : f32
  rt.yield %t : f32
}

// -----

// f64: eight lanes. Sums of columns stay in registers, four vectors at a time.
// CHECK-LABEL: func.func @columns(
// CHECK: scf.for {{.*}} step %c32
// CHECK:   scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
rt.kernel @columns column rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 40
    : (!nn.tensor<[S 333, D 72], f64>) -> (!nn.tensor<[D 72], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
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
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<scatter, "V", 1>] {
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
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
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
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}

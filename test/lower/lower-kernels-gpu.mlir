// RUN: tplan-opt %s -split-input-file -lower-kernels-gpu -cse -canonicalize | FileCheck %s
// EXAMPLE
// All operands walk all loops as one: a vector of 16 bytes a thread, the last one shorter.
// CHECK-LABEL: gpu.module @kernels
// CHECK-LABEL: gpu.func @flat(
// CHECK-SAME: %[[X:.*]]: memref<333xf32, 1>, %[[Y:.*]]: memref<333xf32, 1>) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK: %[[WHOLE:.*]] = arith.cmpi ult, %[[I:.*]], %c83
// CHECK: scf.if %[[WHOLE]]
// CHECK:   %[[AT:.*]] = arith.muli %[[I]], %c4
// CHECK:   vector.load %[[X]][%[[AT]]] {alignment = 16 : i64} : memref<333xf32, 1>, vector<4xf32>
// CHECK:   vector.store %{{.*}}, %[[Y]][%[[AT]]] {alignment = 16 : i64}
// CHECK: scf.if
// CHECK:   vector.load %[[X]]{{.*}} : memref<333xf32, 1>, vector<1xf32>
rt.kernel @flat map rows [#nn.dim<"B", 9>] cols [#nn.dim<"D", 37>] grain 2
    : (!nn.tensor<[B 9, D 37], f32>) -> (!nn.tensor<[B 9, D 37], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %y = arith.mulf %x, %x : f32
  rt.yield %y : f32
}
// END

// -----

// In a launch for several layers the second number of a block moves each operand by its stride.
// CHECK-LABEL: gpu.module @kernels attributes {{.*}}sched.strides = {layers = array<i64: 0, 192>}
// CHECK-LABEL: gpu.func @layers(
// CHECK-SAME: %[[X:.*]]: memref<40xf32, 1>, %[[Y:.*]]: memref<40xf32, 1>)
// CHECK-SAME: known_grid_size = array<i32: 1, 65535, 1>
// CHECK: %[[LAYER:.*]] = gpu.block_id  y
// CHECK: %[[AT:.*]] = arith.muli %{{.*}}, %c4
// CHECK: vector.load %[[X]][%[[AT]]]
// CHECK: %[[STRIDE:.*]] = arith.muli %[[LAYER]], %c48
// CHECK: %[[THERE:.*]] = arith.addi %[[STRIDE]], %[[AT]]
// CHECK: vector.store %{{.*}}, %[[Y]][%[[THERE]]] {alignment = 16 : i64}
rt.kernel @layers map rows [] cols [#nn.dim<"D", 40>] grain 1
    : (!nn.tensor<[D 40], f32>) -> (!nn.tensor<[D 40], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] attributes {sched.strides = array<i64: 0, 192>} {
^bb0(%x: f32):
  %y = arith.mulf %x, %x : f32
  rt.yield %y : f32
}

// -----

// Sixteen threads a row, eight rows a block; neighbouring classes are folded first, in the
// thread, then over lanes. Lanes past the row, and rows past the last, take part and
// store nothing.
// CHECK-LABEL: gpu.func @short(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 42, 1, 1>
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c72
// CHECK: %[[USED:.*]] = arith.cmpi ult, %[[R:.*]], %c333
// CHECK: arith.minui %[[R]], %c332
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<23976xbf16, 1>, vector<8xbf16>
// CHECK: arith.select %[[IN]]
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6]
// CHECK: vector.shuffle {{.*}} [1, 3, 5, 7]
// CHECK-COUNT-4: nvvm.shfl.sync bfly %c-1_i32
// CHECK-NOT: nvvm.shfl.sync
// CHECK: math.rsqrt
// CHECK: %[[BOTH:.*]] = arith.andi %[[USED]], %[[IN]]
// CHECK: scf.if %[[BOTH]]
// CHECK-NOT: memref<23976xbf16, 1>
// CHECK:   vector.store
rt.kernel @short row rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 50
    : (!nn.tensor<[S 333, D 72], bf16>, !nn.tensor<[D 72], f32>)
   -> (!nn.tensor<[S 333, D 72], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<identity, "", 0>] {
^bb0(%x: bf16, %g: f32):
  %f = arith.extf %x : bf16 to f32
  %sq = arith.mulf %f, %f : f32
  %ss = rt.row_reduce sum %sq : f32
  %r = math.rsqrt %ss : f32
  %n = arith.mulf %f, %r : f32
  %y = arith.mulf %n, %g : f32
  rt.yield %y : f32
}

// -----

// Classes do not depend on the other operands: one of f32 beside the first gives vectors of
// four instead of eight, twice the threads and the same sums.
// CHECK-LABEL: gpu.func @wide(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 84, 1, 1>
// CHECK: vector<4xf32>
// CHECK-COUNT-5: nvvm.shfl.sync bfly %c-1_i32
// CHECK-NOT: nvvm.shfl.sync
// CHECK: gpu.return
rt.kernel @wide row rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 50
    : (!nn.tensor<[S 333, D 72], f32>) -> (!nn.tensor<[S 333], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %ss = rt.row_reduce sum %x : f32
  rt.yield %ss : f32
}

// -----

// The maximum of a segment goes through the 32 threads that hold it, four elements each, whether or not they store.
// CHECK-LABEL: gpu.func @segments(
// CHECK: vector<4xf32>
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK: gpu.return
rt.kernel @segments row rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 3>, #nn.dim<"I", 128>] grain 50
    : (!nn.tensor<[S 333, D 3, I 128], f32>) -> (!nn.tensor<[S 333, D 3, I 128], f32>, !nn.tensor<[S 333, D 3], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %m = rt.segment_reduce max %x of 128 : f32
  %y = arith.divf %x, %m : f32
  rt.yield %y, %m : f32, f32
}

// -----

// A row that is too long for registers is read again; its sums grow in the task's row
// of the output. The block meets once more before the next row.
// CHECK-LABEL: gpu.func @long(
// CHECK-SAME: %[[X:.*]]: memref<480000xf32, 1>, %[[SUMS:[a-z0-9]*]]: memref<120000xf32, 1>)
// CHECK-SAME: workgroup(%[[MEET:.*]] : memref<16xf32, 3> {llvm.align = 16 : i64})
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 6, 1, 1>
// CHECK: scf.for {{.*}} to %c20000 step %c2048
// CHECK:   vector.store %{{.*}}, %[[SUMS]]
// CHECK: scf.for
// CHECK:   scf.for {{.*}} to %c20000 step %c2048
// CHECK:     vector.load %[[X]]
// CHECK:   arith.maximumf {{.*}} : vector<2xf32>
// CHECK:   memref.store %{{.*}}, %[[MEET]]
// CHECK:   gpu.barrier
// CHECK:   memref.load %[[MEET]]
// CHECK:   scf.for {{.*}} to %c20000 step %c2048
// CHECK:     vector.load %[[X]]
// CHECK:     vector.load %[[SUMS]]
// CHECK:     vector.store %{{.*}}, %[[SUMS]]
// CHECK:   gpu.barrier
rt.kernel @long row rows [#nn.dim<"S", 24>] cols [#nn.dim<"D", 20000>] grain 4
    : (!nn.tensor<[S 24, D 20000], f32>) -> (!nn.tensor<[each.task 6, D 20000], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %m = rt.row_reduce max %x : f32
  %d = arith.subf %x, %m : f32
  %s = rt.col_reduce sum %d : f32
  rt.yield %s : f32
}

// -----

// A number of each row, which may lie where one of its inputs does, is written when all warps have
// read the row.
// CHECK-LABEL: gpu.func @number_of_a_row(
// CHECK: scf.for {{.*}} to
// CHECK: vector.load
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
rt.kernel @number_of_a_row row rows [#nn.dim<"S", 24>] cols [#nn.dim<"D", 2048>] grain 4
    : (!nn.tensor<[S 24, D 2048], f32>, !nn.tensor<[S 24], f32>)
    -> (!nn.tensor<[S 24], f32>, !nn.tensor<[each.task 6, D 2048], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32, %t: f32):
  %w = arith.mulf %t, %t : f32
  %p = arith.mulf %x, %w : f32
  %s = rt.col_reduce sum %p : f32
  rt.yield %w, %s : f32, f32
}

// -----

// A row of one tile has no barrier either: it writes no number of a row.
// CHECK-LABEL: gpu.func @sums_of_a_tile(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME: known_grid_size = array<i32: 6, 1, 1>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
rt.kernel @sums_of_a_tile row rows [#nn.dim<"S", 24>] cols [#nn.dim<"D", 768>] grain 4
    : (!nn.tensor<[S 24, D 768], bf16>) -> (!nn.tensor<[each.task 6, D 768], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: bf16):
  %w = arith.extf %x : bf16 to f32
  %s = rt.col_reduce sum %w : f32
  rt.yield %s : f32
}

// -----

// Where no row is reduced, blocks share the columns of a task, and none waits for another row.
// CHECK-LABEL: gpu.func @sums_alone(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME: known_grid_size = array<i32: 120, 1, 1>
// CHECK: arith.divui %block_id_x, %c20
// CHECK-NOT: gpu.barrier
// CHECK: vector.store %{{.*}} : memref<120000xf32, 1>, vector<8xf32>
rt.kernel @sums_alone row rows [#nn.dim<"S", 24>] cols [#nn.dim<"D", 20000>] grain 4
    : (!nn.tensor<[S 24, D 20000], bf16>) -> (!nn.tensor<[each.task 6, D 20000], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: bf16):
  %w = arith.extf %x : bf16 to f32
  %s = rt.col_reduce sum %w : f32
  rt.yield %s : f32
}

// -----

// 32 slices of the rows, folded in halves in shared memory.
// CHECK-LABEL: gpu.func @columns(
// CHECK-SAME: workgroup(%[[ALL:.*]] : memref<2048xf64, 3>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} to %c333 step %c32 iter_args
// CHECK: vector.store %[[SUM]], %[[ALL]]
// CHECK-COUNT-5: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: vector.store %{{.*}} : memref<72xf64, 1>, vector<4xf64>
rt.kernel @columns column rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 40
    : (!nn.tensor<[S 333, D 72], f64>) -> (!nn.tensor<[D 72], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f64):
  %s = rt.col_reduce sum %x : f64
  rt.yield %s : f64
}

// -----

// Rows whose ids are a block's own are added one after the other: 16 blocks have 333 rows. A warp
// finds them among 128 at a time, each lane four of them.
// CHECK-LABEL: gpu.func @scatter(
// CHECK-SAME: known_grid_size = array<i32: 16, 1, 1>
// CHECK: scf.for {{.*}} to %c333 step %c128
// CHECK-COUNT-4: memref.load %{{.*}} : memref<333xi32, 1>
// CHECK-COUNT-20: nvvm.shfl.sync bfly
// CHECK: scf.for {{.*}} to %c32 step %c1
// CHECK:   %[[ID:.*]] = memref.load %{{.*}} : memref<333xi32, 1>
// CHECK:   %[[USED:.*]] = arith.cmpi sge, %[[ID]]
// CHECK:   scf.if %[[USED]]
// CHECK:     vector.load %[[T:.*]][%[[AT:.*]]] {{.*}} : memref<2304xf32, 1>, vector<4xf32>
// CHECK:     vector.store %{{.*}}, %[[T]][%[[AT]]]
rt.kernel @scatter column rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 72
    : (!nn.tensor<[S 333, D 72], f32>, !nn.tensor<[S 333], i32>) -> (!nn.tensor<[V 32, D 72], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<scatter, "V", 1>] {
^bb0(%x: f32, %id: i32):
  rt.yield %x : f32
}

// -----

// A square through shared memory in lines of 33 words: along the rows in memory, across
// them in the body.
// CHECK-LABEL: gpu.func @turn(
// CHECK-SAME: %[[X:.*]]: memref<4096xf32, 1>, %[[Y:.*]]: memref<4096xf32, 1>)
// CHECK-SAME: workgroup(%[[TILE:.*]] : memref<1056xf32, 3>
// CHECK-SAME: known_grid_size = array<i32: 4, 1, 1>
// CHECK: vector.load %[[X]]{{.*}} {alignment = 16 : i64} : memref<4096xf32, 1>, vector<4xf32>
// CHECK: vector.store %{{.*}}, %[[TILE]]{{.*}} {alignment = 4 : i64}
// CHECK: gpu.barrier
// CHECK-COUNT-4: memref.load %[[TILE]]
// CHECK: vector.store %{{.*}}, %[[Y]]{{.*}} {alignment = 16 : i64} : memref<4096xf32, 1>, vector<4xf32>
rt.kernel @turn transpose rows [#nn.dim<"K", 64>] cols [#nn.dim<"S", 64>] grain 64
    : (!nn.tensor<[S 64, K 64], f32>) -> (!nn.tensor<[K 64, S 64], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// -----

// An output that runs along the rows waits in shared memory too; 333 divides by no vector.
// CHECK-LABEL: gpu.func @turned_output(
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}} : memref<1056xf32, 3>
// CHECK: gpu.barrier
// CHECK: vector.load {{.*}} : memref<1056xf32, 3>, vector<1xf32>
rt.kernel @turned_output transpose rows [#nn.dim<"B", 3>, #nn.dim<"D", 333>] cols [#nn.dim<"S", 40>]
    grain 20
    : (!nn.tensor<[B 3, S 40, D 333], i1>, !nn.tensor<[B 3, D 333, S 40], f32>)
   -> (!nn.tensor<[B 3, S 40, D 333], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>,
            #rt.access<identity, "", 0>] {
^bb0(%m: i1, %x: f32):
  %z = arith.constant 0.0 : f32
  %y = arith.select %m, %x, %z : f32
  rt.yield %y : f32
}

// -----

// A run-time count comes after the outputs.
// CHECK-LABEL: gpu.func @bounded(
// CHECK-SAME: %[[COUNT:[a-z0-9]*]]: memref<1xi64, 1>) kernel
// CHECK: memref.load %[[COUNT]]
// CHECK: %[[ROWS:.*]] = arith.minsi
// CHECK: arith.cmpi ult, %{{.*}}, %[[ROWS]]
rt.kernel @bounded map rows [#nn.dim<"T", 50, true>] cols [#nn.dim<"D", 72>] grain 10
    : (!nn.tensor<[T max 50, D 72], f32>) -> (!nn.tensor<[T max 50, D 72], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// RUN: tplan-opt --form-kernels --split-input-file %s | FileCheck %s
// EXAMPLE
// One row kernel: the mean square of a row, then the row scaled by it.
!x = !nn.tensor<[S 8, D 16], f32>

// CHECK-LABEL: rt.func @norm
// CHECK-NEXT:    %[[Y:.+]] = rt.launch @norm.k0(%arg0)
// CHECK-NEXT:    rt.return %[[Y]]
// CHECK:       rt.kernel @norm.k0 row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 16>]
// CHECK-NEXT:  ^bb0(%[[X:.+]]: f32):
// CHECK-NEXT:    %[[SQ:.+]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:    %[[SUM:.+]] = rt.row_reduce sum %[[SQ]] : f32
// CHECK-NEXT:    %[[R:.+]] = math.rsqrt %[[SUM]]
// CHECK-NEXT:    %[[Z:.+]] = arith.mulf %[[X]], %[[R]]
// CHECK-NEXT:    rt.yield %[[Z]]
nn.layer @norm(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  %0 = nn.mul %x, %x : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  %1 = nn.reduce sum %0 : <[S 8, D 16], f32> -> <[S 8], f32>
  %2 = nn.rsqrt %1 : <[S 8], f32>
  %3 = nn.mul %x, %2 : (<[S 8, D 16], f32>, <[S 8], f32>) -> <[S 8, D 16], f32>
  nn.return %3 : !x
}
// END

// -----

// A rounding is a cast there and back, fused: f64 to bf16 at once, because a stop at f32 would
// round twice.
// CHECK-LABEL: rt.func @rounded
// CHECK:       rt.kernel @rounded.k0
// CHECK:         %[[N:.+]] = arith.truncf %{{.+}} : f64 to bf16
// CHECK-NEXT:    %[[W:.+]] = arith.extf %[[N]] : bf16 to f64
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[W]] : f64
// CHECK-NEXT:    rt.yield %[[E]]
nn.layer @rounded(%a: !nn.tensor<[D 16], f64> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[D 16], f64> {nn.role = "carried", nn.name = "c0"}) {
  %0 = nn.mul %a, %a : (<[D 16], f64>, <[D 16], f64>) -> <[D 16], f64>
  %1 = nn.round %0 as bf16 : <[D 16], f64>
  %2 = nn.exp %1 : <[D 16], f64>
  nn.return %2 : !nn.tensor<[D 16], f64>
}

// -----

// What a column kernel gives follows from its sum: another value that others read as well has a
// kernel of its own.
// CHECK-LABEL: rt.func @beside
// CHECK:         %[[SUM:.+]] = rt.launch @beside.k{{[0-9]+}}(%arg0)
// CHECK:         rt.launch @beside.k{{[0-9]+}}(%arg1, %[[SUM]])
nn.layer @beside(%x: !nn.tensor<[each.task 4, D 16], f32> {nn.role = "carried", nn.name = "c0"},
                 %y: !nn.tensor<[D 16], f32> {nn.role = "carried", nn.name = "c1"})
    -> (!nn.tensor<[D 16], f32> {nn.role = "carried", nn.name = "c0"}, !nn.tensor<[D 16], f32> {nn.role = "carried", nn.name = "c1"}) {
  %0 = nn.reduce sum %x : <[each.task 4, D 16], f32> -> <[D 16], f32>
  %1 = nn.exp %y : <[D 16], f32>
  %2 = nn.mul %0, %1 : (<[D 16], f32>, <[D 16], f32>) -> <[D 16], f32>
  nn.return %2, %1 : !nn.tensor<[D 16], f32>, !nn.tensor<[D 16], f32>
}

// -----

// A residual sum that is read again after a GEMM: in bf16 the reader adds its two terms itself,
// which have no more bytes, and no kernel writes it. The same holds for what scales a row again, by
// one number for each row.
// CHECK-LABEL: rt.func @again
// CHECK-NEXT:    %[[N:.+]]:2 = rt.launch @again.k0(%arg0, %arg1) : {{.*}} -> (!nn.tensor<[S 8], f32>, !nn.tensor<[S 8, D 16], bf16>)
// CHECK-NEXT:    %[[Y:.+]] = rt.matmul %[[N]]#1, %arg2
// CHECK-NEXT:    %[[Z:.+]] = rt.launch @again.k1(%[[Y]])
// CHECK-NEXT:    rt.launch @again.k2(%arg0, %arg1, %[[N]]#0, %[[Z]])
nn.layer @again(%a: !nn.tensor<[S 8, D 16], bf16> {nn.role = "carried", nn.name = "c0"},
                %b: !nn.tensor<[S 8, D 16], bf16> {nn.role = "carried", nn.name = "c1"},
                %w: !nn.tensor<[D 16, E 16], bf16> {nn.role = "param", nn.name = "w"})
    -> (!nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c0"}) {
  %0 = nn.cast %a : <[S 8, D 16], bf16> -> <[S 8, D 16], f32>
  %1 = nn.cast %b : <[S 8, D 16], bf16> -> <[S 8, D 16], f32>
  %2 = nn.add %0, %1 : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  %3 = nn.mul %2, %2 : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  %4 = nn.reduce sum %3 : <[S 8, D 16], f32> -> <[S 8], f32>
  %5 = nn.rsqrt %4 : <[S 8], f32>
  %6 = nn.mul %2, %5 : (<[S 8, D 16], f32>, <[S 8], f32>) -> <[S 8, D 16], f32>
  %7 = nn.cast %6 : <[S 8, D 16], f32> -> <[S 8, D 16], bf16>
  %8 = nn.contract %7, %w : (<[S 8, D 16], bf16>, <[D 16, E 16], bf16>) -> <[S 8, E 16], bf16>
  %9 = nn.cast %8 : <[S 8, E 16], bf16> -> <[S 8, E 16], f32>
  %10 = nn.reduce sum %9 : <[S 8, E 16], f32> -> <[S 8], f32>
  %11 = nn.add %2, %10 : (<[S 8, D 16], f32>, <[S 8], f32>) -> <[S 8, D 16], f32>
  %12 = nn.add %11, %6 : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  nn.return %12 : !nn.tensor<[S 8, D 16], f32>
}

// -----

// In f32 the terms of the sum have twice its bytes, and an exponential costs more than bytes: both
// are written.
// CHECK-LABEL: rt.func @kept
// CHECK-NEXT:    %[[N:.+]]:3 = rt.launch @kept.k0(%arg0, %arg1)
// CHECK-NEXT:    %[[Y:.+]] = rt.matmul %[[N]]#{{[0-9]}}, %arg2
// CHECK-NEXT:    %[[Z:.+]] = rt.launch @kept.k1(%[[Y]])
// CHECK-NEXT:    rt.launch @kept.k2(%[[N]]#{{[0-9]}}, %[[Z]], %[[N]]#{{[0-9]}})
nn.layer @kept(%a: !nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c0"},
               %b: !nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c1"},
               %w: !nn.tensor<[D 16, E 16], f32> {nn.role = "param", nn.name = "w"})
    -> (!nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c0"}) {
  %0 = nn.add %a, %b : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  %1 = nn.exp %a : <[S 8, D 16], f32>
  %2 = nn.mul %0, %1 : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  %3 = nn.contract %2, %w : (<[S 8, D 16], f32>, <[D 16, E 16], f32>) -> <[S 8, E 16], f32>
  %4 = nn.reduce sum %3 : <[S 8, E 16], f32> -> <[S 8], f32>
  %5 = nn.add %0, %4 : (<[S 8, D 16], f32>, <[S 8], f32>) -> <[S 8, D 16], f32>
  %6 = nn.mul %5, %1 : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  nn.return %6 : !nn.tensor<[S 8, D 16], f32>
}

// -----

// Three kernels of equal loops, of which the first and second read %x, the second and third %y: one, whichever array
// they meet along first.
// CHECK-LABEL: rt.func @readers
// CHECK-NEXT:    %{{.+}}:3 = rt.launch @readers.k0(
// CHECK-NEXT:    rt.return
nn.layer @readers(%x: !nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c0"},
                  %y: !nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c1"})
    -> (!nn.tensor<[S 8], f32> {nn.role = "carried", nn.name = "c0"}, !nn.tensor<[S 8], f32> {nn.role = "carried", nn.name = "c1"},
        !nn.tensor<[S 8], f32> {nn.role = "carried", nn.name = "c2"}) {
  %0 = nn.reduce sum %y : <[S 8, D 16], f32> -> <[S 8], f32>
  %1 = nn.reduce sum %x : <[S 8, D 16], f32> -> <[S 8], f32>
  %2 = nn.mul %x, %y : (<[S 8, D 16], f32>, <[S 8, D 16], f32>) -> <[S 8, D 16], f32>
  %3 = nn.reduce sum %2 : <[S 8, D 16], f32> -> <[S 8], f32>
  nn.return %0, %1, %3 : !nn.tensor<[S 8], f32>, !nn.tensor<[S 8], f32>, !nn.tensor<[S 8], f32>
}

// -----

// Numbers in f64 that depend on no array are one kernel; kernels over arrays read what it gives in f32.
// CHECK-LABEL: rt.func @update
// CHECK-NEXT:    %[[N:.+]]:2 = rt.launch @update.k0(%arg1, %arg2) : {{.*}} -> (!nn.tensor<[], f32>, !nn.tensor<[], f32>)
// CHECK-NEXT:    rt.launch @update.k1(%arg0, %[[N]]#{{[01]}}, %[[N]]#{{[01]}})
// CHECK:       rt.kernel @update.k0 map rows [] cols []
// CHECK:         math.sqrt %{{.+}} : f64
// CHECK:       rt.kernel @update.k1 map
// CHECK-NOT:     f64
nn.layer @update(%p: !nn.tensor<[D 16], f32> {nn.role = "param", nn.name = "p"},
                 %lr: !nn.tensor<[], f64> {nn.role = "scalar", nn.name = "lr"},
                 %power: !nn.tensor<[], f64> {nn.role = "scalar", nn.name = "power"})
    -> (!nn.tensor<[D 16], f32> {nn.role = "param", nn.name = "p"}) {
  %0 = nn.cast %lr : <[], f64> -> <[], f32>
  %1 = nn.sqrt %power : <[], f64>
  %2 = nn.cast %1 : <[], f64> -> <[], f32>
  %3 = nn.mul %p, %0 : (<[D 16], f32>, <[], f32>) -> <[D 16], f32>
  %4 = nn.div %3, %2 : (<[D 16], f32>, <[], f32>) -> <[D 16], f32>
  nn.return %4 : !nn.tensor<[D 16], f32>
}

// -----

// The sum of a row is written in f32, and widened by the reader that adds up the rows.
// CHECK-LABEL: rt.func @widened
// CHECK-NEXT:    %[[ROWS:.+]] = rt.launch @widened.k0(%arg0) : {{.*}} -> !nn.tensor<[S 8], f32>
// CHECK-NEXT:    rt.launch @widened.k1(%[[ROWS]]) : {{.*}} -> !nn.tensor<[], f64>
nn.layer @widened(%x: !nn.tensor<[S 8, D 16], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[], f64> {nn.role = "output", nn.name = "sum"}) {
  %0 = nn.exp %x : <[S 8, D 16], f32>
  %1 = nn.reduce sum %0 : <[S 8, D 16], f32> -> <[S 8], f32>
  %2 = nn.log %1 : <[S 8], f32>
  %3 = nn.cast %2 : <[S 8], f32> -> <[S 8], f64>
  %4 = nn.reduce sum %3 : <[S 8], f64> -> <[], f64>
  nn.return %4 : !nn.tensor<[], f64>
}

// -----

// Rotary positions: x as it is and with its halves turned; both halves have the same angles, so tables have one.
// CHECK-LABEL: rt.func @rope
// CHECK:       rt.kernel @rope.k0 map rows [#nn.dim<"S", 8>, #nn.dim<"H", 2>] cols [#nn.dim<"K", 16>]
// CHECK-SAME:    access [#rt.access<identity, "", 0>, #rt.access<rotate, "K", 0>, #rt.access<repeat, "K", 0>, #rt.access<repeat, "K", 0>,
// CHECK-NEXT:  ^bb0(%[[X:.+]]: bf16, %[[T:.+]]: bf16, %[[C:.+]]: f32, %[[S:.+]]: f32):
nn.layer @rope(%x: !nn.tensor<[S 8, H 2, K 16], bf16> {nn.role = "carried", nn.name = "c0"},
               %cos: !nn.tensor<[S 8, half.K 8], f32> {nn.role = "invariant", nn.name = "cos"},
               %sin: !nn.tensor<[S 8, half.K 8], f32> {nn.role = "invariant", nn.name = "sin"})
    -> (!nn.tensor<[S 8, H 2, K 16], bf16> {nn.role = "carried", nn.name = "c0"}) {
  %0 = nn.rope %x, %cos, %sin over "K" : <[S 8, H 2, K 16], bf16>, <[S 8, half.K 8], f32>, <[S 8, half.K 8], f32>
  nn.return %0 : !nn.tensor<[S 8, H 2, K 16], bf16>
}

// -----

// A record is a call between kernels.
// CHECK-LABEL: rt.func @recorded
// CHECK:         %[[Y:.+]] = rt.launch @recorded.k0
// CHECK-NEXT:    %[[Z:.+]] = rt.audit %[[Y]] "w x D scale" layer %arg1 : <[D 16], f32>
// CHECK-NEXT:    rt.launch @recorded.k1(%[[Z]])
nn.layer @recorded(%x: !nn.tensor<[D 16], f32> {nn.role = "carried", nn.name = "c0"}, %n: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "layer"})
    -> (!nn.tensor<[D 16], f32> {nn.role = "carried", nn.name = "c0"}) {
  %0 = nn.exp %x : <[D 16], f32>
  %1 = nn.audit %0 "w x D scale" layer %n : <[D 16], f32>
  %2 = nn.neg %1 : <[D 16], f32>
  nn.return %2 : !nn.tensor<[D 16], f32>
}

// -----

// A norm and the scales of blocks of its result: one kernel, because a block is a few vectors of a row.
// CHECK-LABEL: rt.func @blocks
// CHECK-NEXT:    rt.launch @blocks.k0
// CHECK-NEXT:    rt.return
// CHECK:       rt.kernel @blocks.k0 row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 4>, #nn.dim<"in.D", 128>]
// CHECK:         %[[N:.+]] = rt.row_reduce sum
// CHECK:         rt.segment_reduce max %{{.+}} of 128 : f32
nn.layer @blocks(%x: !nn.tensor<[S 8, D 4, in.D 128], bf16> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[S 8, D 4, in.D 128], bf16> {nn.role = "carried", nn.name = "c0"}, !nn.tensor<[S 8, D 4], f32> {nn.role = "output", nn.name = "scale"}) {
  %0 = nn.cast %x : <[S 8, D 4, in.D 128], bf16> -> <[S 8, D 4, in.D 128], f32>
  %1 = nn.mul %0, %0 : (<[S 8, D 4, in.D 128], f32>, <[S 8, D 4, in.D 128], f32>) -> <[S 8, D 4, in.D 128], f32>
  %2 = nn.reduce sum %1 : <[S 8, D 4, in.D 128], f32> -> <[S 8], f32>
  %3 = nn.rsqrt %2 : <[S 8], f32>
  %4 = nn.mul %0, %3 : (<[S 8, D 4, in.D 128], f32>, <[S 8], f32>) -> <[S 8, D 4, in.D 128], f32>
  %5 = nn.reduce max %4 : <[S 8, D 4, in.D 128], f32> -> <[S 8, D 4], f32>
  %6 = nn.div %4, %5 : (<[S 8, D 4, in.D 128], f32>, <[S 8, D 4], f32>) -> <[S 8, D 4, in.D 128], f32>
  %7 = nn.cast %6 : <[S 8, D 4, in.D 128], f32> -> <[S 8, D 4, in.D 128], bf16>
  nn.return %7, %5 : !nn.tensor<[S 8, D 4, in.D 128], bf16>, !nn.tensor<[S 8, D 4], f32>
}

// -----

// What follows from maxima over a task's rows is computed at the end of the task, in the kernel that finds them.
// CHECK-LABEL: rt.func @columns
// CHECK:         rt.launch @columns.k0(%arg0) : {{.*}} -> !nn.tensor<[each.task 4, D 16], f32>
// CHECK:         rt.launch @columns.k1(
// CHECK:       rt.kernel @columns.k0 row
// CHECK:         %[[M:.+]] = rt.col_reduce max
// CHECK:         arith.divf %{{.+}}, %[[M]]
// CHECK:       rt.kernel @columns.k1 map
nn.layer @columns(%x: !nn.tensor<[S 4, in.S 128, D 16], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[S 4, in.S 128, D 16], f32> {nn.role = "carried", nn.name = "c0"}) {
  %0 = rt.partial_reduce max %x grain 128 : <[S 4, in.S 128, D 16], f32> -> <[each.task 4, D 16], f32>
  %1 = nn.constant 1.0 : <[], f32>
  %2 = nn.div %1, %0 : (<[], f32>, <[each.task 4, D 16], f32>) -> <[each.task 4, D 16], f32>
  %3 = dist.reshape %2 : <[each.task 4, D 16], f32> -> <[S 4, D 16], f32>
  %4 = nn.mul %x, %3 : (<[S 4, in.S 128, D 16], f32>, <[S 4, D 16], f32>) -> <[S 4, in.S 128, D 16], f32>
  nn.return %4 : !nn.tensor<[S 4, in.S 128, D 16], f32>
}

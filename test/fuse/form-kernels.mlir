// RUN: tplan-opt --form-kernels --split-input-file %s | FileCheck %s
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

// -----

// A rounding is a cast there and back, fused: f64 to bf16 at once, for a stop at f32 would round twice.
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

// What a column kernel gives follows from its sum: a value beside it that others read as well has a kernel of its own.
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

// RUN: tplan-opt --prepare-fusion --cse --split-input-file %s | FileCheck %s
// EXAMPLE
// A column sum is cut in two; a sum in the middle changes the order of dimensions.
!x = !nn.tensor<[B 4, S 64, D 8], f32>

// CHECK-LABEL: nn.layer @layer
// CHECK:         %[[P:.+]] = rt.partial_reduce sum %arg0 grain 32 : <[B 4, S 64, D 8], f32> -> <[each.task 8, D 8], f32>
// CHECK:         nn.reduce sum %[[P]] : <[each.task 8, D 8], f32> -> <[D 8], f32>
// CHECK:         %[[T:.+]] = nn.broadcast %arg0 : <[B 4, S 64, D 8], f32> -> <[B 4, D 8, S 64], f32>
// CHECK:         nn.reduce sum %[[T]] : <[B 4, D 8, S 64], f32> -> <[B 4, D 8], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[D 8], f32> {nn.role = "output", nn.name = "a"},
        !nn.tensor<[B 4, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.reduce sum %x : <[B 4, S 64, D 8], f32> -> <[D 8], f32>
  %1 = nn.reduce sum %x : <[B 4, S 64, D 8], f32> -> <[B 4, D 8], f32>
  nn.return %0, %1 : !nn.tensor<[D 8], f32>, !nn.tensor<[B 4, D 8], f32>
}
// END

// -----

// Two scattered sums of one shape are added onto zeros of their own: equal ones would be one memory.
// CHECK-LABEL: nn.layer @two
// CHECK-DAG:     %[[A:.+]] = nn.lookup_grad %arg0
// CHECK-DAG:     %[[B:.+]] = nn.lookup_grad %arg1
// CHECK-DAG:     %[[ONE:.+]] = nn.broadcast %{{.+}} {fuse.fill = 0 : i64}
// CHECK-DAG:     %[[TWO:.+]] = nn.broadcast %{{.+}} {fuse.fill = 1 : i64}
// CHECK-DAG:     nn.add %[[ONE]], %[[A]]
// CHECK-DAG:     nn.add %[[TWO]], %[[B]]
nn.layer @two(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "c0"},
              %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "c1"},
              %ids: !nn.tensor<[B 4], i32> {nn.role = "invariant", nn.name = "i0"})
    -> (!nn.tensor<[V 5, D 8], f32> {nn.role = "output", nn.name = "a"},
        !nn.tensor<[V 5, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.lookup_grad %x["V" = %ids] : (<[B 4, D 8], f32>, <[B 4], i32>) -> <[V 5, D 8], f32>
  %1 = nn.lookup_grad %y["V" = %ids] : (<[B 4, D 8], f32>, <[B 4], i32>) -> <[V 5, D 8], f32>
  nn.return %0, %1 : !nn.tensor<[V 5, D 8], f32>, !nn.tensor<[V 5, D 8], f32>
}

// -----

// A cotangent in f64 was f32 before, and is f32 again before it is repeated.
// CHECK-LABEL: nn.layer @repeated
// CHECK-NOT:     f64
// CHECK:         %[[D:.+]] = nn.broadcast %arg0 : <[], f32> -> <[B 4, D 8], f32>
// CHECK-NEXT:    nn.return %[[D]]
nn.layer @repeated(%d: !nn.tensor<[], f32> {nn.role = "cot_loss", nn.name = "main"})
    -> (!nn.tensor<[B 4, D 8], f32> {nn.role = "output", nn.name = "a"}) {
  %0 = nn.cast %d : <[], f32> -> <[], f64>
  %1 = nn.broadcast %0 : <[], f64> -> <[B 4], f64>
  %2 = nn.broadcast %1 : <[B 4], f64> -> <[B 4, D 8], f64>
  %3 = nn.cast %2 : <[B 4, D 8], f64> -> <[B 4, D 8], f32>
  nn.return %3 : !nn.tensor<[B 4, D 8], f32>
}

// -----

// A number that was f64 from the start is rounded once, as a single number.
// CHECK-LABEL: nn.layer @rounded
// CHECK:         %[[N:.+]] = nn.cast %arg0 : <[], f64> -> <[], f32>
// CHECK-NEXT:    %[[D:.+]] = nn.broadcast %[[N]] : <[], f32> -> <[D 8], f32>
// CHECK-NEXT:    nn.return %[[D]]
nn.layer @rounded(%d: !nn.tensor<[], f64> {nn.role = "scalar", nn.name = "lr"})
    -> (!nn.tensor<[D 8], f32> {nn.role = "output", nn.name = "a"}) {
  %0 = nn.broadcast %d : <[], f64> -> <[D 8], f64>
  %1 = nn.cast %0 : <[D 8], f64> -> <[D 8], f32>
  nn.return %1 : !nn.tensor<[D 8], f32>
}

// -----

// Blocks of dimensions are views: of the same memory, and one of two splits. A merge of what was split is what it was before.
// CHECK-LABEL: nn.layer @blocks
// CHECK-NEXT:    %[[B:.+]] = dist.reshape %arg0 : <[B 2, D 8], f32> -> <[B 1, in.B 2, D 2, in.D 4], f32>
// CHECK-NEXT:    nn.neg %[[B]]
// CHECK-NEXT:    nn.neg %arg0
nn.layer @blocks(%x: !nn.tensor<[B 2, D 8], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[B 1, in.B 2, D 2, in.D 4], f32> {nn.role = "output", nn.name = "a"}, !nn.tensor<[B 2, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.split %x "D" by 4 : <[B 2, D 8], f32> -> <[B 2, D 2, in.D 4], f32>
  %1 = nn.split %0 "B" by 2 : <[B 2, D 2, in.D 4], f32> -> <[B 1, in.B 2, D 2, in.D 4], f32>
  %2 = nn.neg %1 : <[B 1, in.B 2, D 2, in.D 4], f32>
  %3 = nn.merge %0 "D" : <[B 2, D 2, in.D 4], f32> -> <[B 2, D 8], f32>
  %4 = nn.neg %3 : <[B 2, D 8], f32>
  nn.return %2, %4 : !nn.tensor<[B 1, in.B 2, D 2, in.D 4], f32>, !nn.tensor<[B 2, D 8], f32>
}

// -----

// On a GPU operands in f8 have what is summed innermost; scales of blocks have rows innermost, those of squares panels.
// Dimensions that stay side by side change places as one.
// CHECK-LABEL: nn.layer @tensor_cores
// CHECK-NEXT:    %[[X:.+]] = dist.reshape %arg0 : {{.*}} -> <[in.K 512, M 64], f8E4M3FN>
// CHECK-NEXT:    %[[XT:.+]] = nn.broadcast %[[X]] : {{.*}} -> <[M 64, in.K 512], f8E4M3FN>
// CHECK-NEXT:    %[[A:.+]] = dist.reshape %[[XT]] : {{.*}} -> <[M 64, K 4, in.K 128], f8E4M3FN>
// CHECK-NEXT:    %[[W:.+]] = dist.reshape %arg2 : {{.*}} -> <[in.K 512, in.N 256], f8E4M3FN>
// CHECK-NEXT:    %[[WT:.+]] = nn.broadcast %[[W]] : {{.*}} -> <[in.N 256, in.K 512], f8E4M3FN>
// CHECK-NEXT:    %[[B:.+]] = dist.reshape %[[WT]] : {{.*}} -> <[N 2, in.N 128, K 4, in.K 128], f8E4M3FN>
// CHECK-NEXT:    %[[AS:.+]] = nn.broadcast %arg1 : <[M 64, K 4], f32> -> <[K 4, M 64], f32>
// CHECK-NEXT:    %[[BS:.+]] = nn.broadcast %arg3 : <[K 4, N 2], f32> -> <[N 2, K 4], f32>
// CHECK-NEXT:    nn.contract %[[A]], %[[B]] scaled %[[AS]], %[[BS]]
!x = !nn.tensor<[K 4, in.K 128, M 64], f8E4M3FN>
!xs = !nn.tensor<[M 64, K 4], f32>
!w = !nn.tensor<[K 4, in.K 128, N 2, in.N 128], f8E4M3FN>
!ws = !nn.tensor<[K 4, N 2], f32>
!y = !nn.tensor<[M 64, N 2, in.N 128], bf16>
module attributes {tplan.target = #tplan.target<{arch = "sm_90", scales = ["tensor", "row", "block"]}>} {
  nn.layer @tensor_cores(%x: !x {nn.role = "carried", nn.name = "x"}, %xs: !xs {nn.role = "carried", nn.name = "xs"},
                         %w: !w {nn.role = "param", nn.name = "w"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
      -> (!y {nn.role = "carried", nn.name = "y"}) {
    %0 = nn.contract %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
    nn.return %0 : !y
  }
}

// -----

// What is only repeated along dimensions of the other operand is read as it is; a change of order stays.
// CHECK-LABEL: nn.layer @repeated
// CHECK-NEXT:    nn.mul %arg0, %arg1 : (<[S 4, D 8], f32>, <[S 4], f32>)
// CHECK-NEXT:    %[[T:.+]] = nn.broadcast %arg2
// CHECK-NEXT:    nn.add %arg0, %[[T]]
nn.layer @repeated(%x: !nn.tensor<[S 4, D 8], f32> {nn.role = "carried", nn.name = "c0"}, %s: !nn.tensor<[S 4], f32> {nn.role = "invariant", nn.name = "i0"},
                   %t: !nn.tensor<[D 8, S 4], f32> {nn.role = "invariant", nn.name = "i1"})
    -> (!nn.tensor<[S 4, D 8], f32> {nn.role = "output", nn.name = "a"}, !nn.tensor<[S 4, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.broadcast %s : <[S 4], f32> -> <[S 4, D 8], f32>
  %1 = nn.mul %x, %0 : (<[S 4, D 8], f32>, <[S 4, D 8], f32>) -> <[S 4, D 8], f32>
  %2 = nn.broadcast %t : <[D 8, S 4], f32> -> <[S 4, D 8], f32>
  %3 = nn.add %x, %2 : (<[S 4, D 8], f32>, <[S 4, D 8], f32>) -> <[S 4, D 8], f32>
  nn.return %1, %3 : !nn.tensor<[S 4, D 8], f32>, !nn.tensor<[S 4, D 8], f32>
}

// -----

// Maxima over blocks of 128 rows: a task a block, and the inverse of each is computed where it is found, by task, before the view.
// CHECK-LABEL: nn.layer @columns
// CHECK:         %[[P:.+]] = rt.partial_reduce max %arg0 grain 128 : <[S 4, in.S 128, D 8], f32> -> <[each.task 4, D 8], f32>
// CHECK-NEXT:    %[[ONE:.+]] = nn.constant 1.0
// CHECK-NEXT:    %[[I:.+]] = nn.div %[[ONE]], %[[P]] : (<[], f32>, <[each.task 4, D 8], f32>) -> <[each.task 4, D 8], f32>
// CHECK-NEXT:    %[[V:.+]] = dist.reshape %[[I]] : <[each.task 4, D 8], f32> -> <[S 4, D 8], f32>
// CHECK-NEXT:    %[[Y:.+]] = nn.mul %arg0, %[[V]]
// CHECK-NEXT:    nn.return %[[Y]], %[[V]]
nn.layer @columns(%x: !nn.tensor<[S 4, in.S 128, D 8], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[S 4, in.S 128, D 8], f32> {nn.role = "carried", nn.name = "c0"}, !nn.tensor<[S 4, D 8], f32> {nn.role = "output", nn.name = "by"}) {
  %0 = nn.reduce max %x : <[S 4, in.S 128, D 8], f32> -> <[S 4, D 8], f32>
  %1 = nn.constant 1.0 : <[], f32>
  %2 = nn.div %1, %0 : (<[], f32>, <[S 4, D 8], f32>) -> <[S 4, D 8], f32>
  %3 = nn.mul %x, %2 : (<[S 4, in.S 128, D 8], f32>, <[S 4, D 8], f32>) -> <[S 4, in.S 128, D 8], f32>
  nn.return %3, %2 : !nn.tensor<[S 4, in.S 128, D 8], f32>, !nn.tensor<[S 4, D 8], f32>
}

// -----

// Beside a sum over all rows, whose tasks have 32, they are put together of several.
// CHECK-LABEL: nn.layer @beside
// CHECK-DAG:     rt.partial_reduce sum %arg0 grain 32 : <[S 4, in.S 128, D 8], f32> -> <[each.task 16, D 8], f32>
// CHECK-DAG:     %[[P:.+]] = rt.partial_reduce max %arg0 grain 32 : <[S 4, in.S 128, D 8], f32> -> <[each.task 16, D 8], f32>
// CHECK-DAG:     %[[V:.+]] = dist.reshape %[[P]] : <[each.task 16, D 8], f32> -> <[part.rows 16, D 8], f32>
// CHECK-DAG:     rt.partial_reduce max %[[V]] grain 4 : <[part.rows 16, D 8], f32> -> <[each.task 4, D 8], f32>
nn.layer @beside(%x: !nn.tensor<[S 4, in.S 128, D 8], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[D 8], f32> {nn.role = "output", nn.name = "sum"}, !nn.tensor<[S 4, D 8], f32> {nn.role = "output", nn.name = "most"}) {
  %0 = nn.reduce sum %x : <[S 4, in.S 128, D 8], f32> -> <[D 8], f32>
  %1 = nn.reduce max %x : <[S 4, in.S 128, D 8], f32> -> <[S 4, D 8], f32>
  nn.return %0, %1 : !nn.tensor<[D 8], f32>, !nn.tensor<[S 4, D 8], f32>
}

// RUN: tplan-opt --fold-biases --form-kernels --split-input-file %s | FileCheck %s
// EXAMPLE
// q is read by attention, so it is in memory with its bias: the GEMM adds it, and no kernel is left.
// In bf16 the product is f32, and is rounded with its bias.
!x = !nn.tensor<[B 2, S 8, D 16], bf16>
!w = !nn.tensor<[H 2, K 8, D 16], bf16>
!b = !nn.tensor<[H 2, K 8], bf16>
!q = !nn.tensor<[B 2, S 8, H 2, K 8], bf16>
!l = !nn.tensor<[B 2, H 2, S 8], f32>
// CHECK-LABEL: rt.func @narrow
// CHECK-NEXT:    %[[Q:.+]] = rt.matmul %arg0, %arg1 bias %arg2 : {{.*}} -> !nn.tensor<[B 2, S 8, H 2, K 8], bf16>
// CHECK-NEXT:    rt.launch @narrow.attention0(%[[Q]], %[[Q]], %[[Q]])
nn.layer @narrow(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, S 8, D 16], bf16>, <[H 2, K 8, D 16], bf16>) -> <[B 2, S 8, H 2, K 8], f32>
  %1 = nn.cast %b : <[H 2, K 8], bf16> -> <[H 2, K 8], f32>
  %2 = nn.add %0, %1 : (<[B 2, S 8, H 2, K 8], f32>, <[H 2, K 8], f32>) -> <[B 2, S 8, H 2, K 8], f32>
  %3 = nn.cast %2 : <[B 2, S 8, H 2, K 8], f32> -> <[B 2, S 8, H 2, K 8], bf16>
  %4:2 = nn.attention %3, %3, %3 <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
  nn.return %4#0 : !q
}
// END

// -----

// Another GEMM reads the sum; the weight may come first. f32, whose products are added in f32.
!x = !nn.tensor<[B 2, D 16], f32>
!w = !nn.tensor<[D 16, F 8], f32>
!b = !nn.tensor<[F 8], f32>
!y = !nn.tensor<[B 2, F 8], f32>
// CHECK-LABEL: rt.func @wide
// CHECK-NEXT:    %[[Y:.+]] = rt.matmul %arg1, %arg0 bias %arg2
// CHECK-NEXT:    rt.matmul %[[Y]], %arg1
// CHECK-NEXT:    rt.return
nn.layer @wide(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!x {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %w, %x : (<[D 16, F 8], f32>, <[B 2, D 16], f32>) -> <[B 2, F 8], f32>
  %1 = nn.add %b, %0 : (<[F 8], f32>, <[B 2, F 8], f32>) -> <[B 2, F 8], f32>
  %2 = nn.contract %1, %w : (<[B 2, F 8], f32>, <[D 16, F 8], f32>) -> <[B 2, D 16], f32>
  nn.return %2 : !x
}

// -----

// The gradients of a weight of one row, summed over microbatches, look like a bias but are none.
!x = !nn.tensor<[B 8, D 16], f32>
!d = !nn.tensor<[B 8, F 1], f32>
!g = !nn.tensor<[F 1, D 16], f32>
// CHECK-LABEL: rt.func @one_row
// CHECK-NEXT:    rt.matmul %arg0, %arg1 onto %arg2 :
nn.layer @one_row(%d: !d {nn.role = "cot_carried", nn.name = "d"}, %x: !x {nn.role = "carried", nn.name = "x"}, %g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = nn.contract %d, %x : (<[B 8, F 1], f32>, <[B 8, D 16], f32>) -> <[F 1, D 16], f32>
  %1 = nn.add %g, %0 : (!g, !g) -> !g
  nn.return %1 : !g
}

// RUN: tplan-opt --fold-biases --split-input-file %s | FileCheck %s --implicit-check-not=rt.matmul
// Biases that a kernel adds.
!x = !nn.tensor<[B 2, D 16], f32>
!w = !nn.tensor<[D 16, F 8], f32>
!b = !nn.tensor<[F 8], f32>
!y = !nn.tensor<[B 2, F 8], f32>
// The kernel of the square adds the bias as it reads.
// CHECK-LABEL: nn.layer @fused
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @fused(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!y {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], f32>, <[D 16, F 8], f32>) -> <[B 2, F 8], f32>
  %1 = nn.add %0, %b : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  %2 = nn.mul %1, %1 : (<[B 2, F 8], f32>, <[B 2, F 8], f32>) -> <[B 2, F 8], f32>
  nn.return %2 : !y
}
// The product itself is read, too.
// CHECK-LABEL: nn.layer @product
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @product(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!y {nn.role = "carried", nn.name = "o"}, !y {nn.role = "carried", nn.name = "p"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], f32>, <[D 16, F 8], f32>) -> <[B 2, F 8], f32>
  %1 = nn.add %0, %b : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  nn.return %1, %0 : !y, !y
}
// The bias has one number for each row: the library adds one for each column.
// CHECK-LABEL: nn.layer @rows
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @rows(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !nn.tensor<[B 2], f32> {nn.role = "param", nn.name = "b"}) -> (!y {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], f32>, <[D 16, F 8], f32>) -> <[B 2, F 8], f32>
  %1 = nn.add %0, %b : (<[B 2, F 8], f32>, <[B 2], f32>) -> <[B 2, F 8], f32>
  nn.return %1 : !y
}
// A bias of equal numbers is made where it is read, and is nowhere in memory.
// CHECK-LABEL: nn.layer @made
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @made(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}) -> (!y {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], f32>, <[D 16, F 8], f32>) -> <[B 2, F 8], f32>
  %c = nn.constant 1.0 : <[], f32>
  %1 = nn.broadcast %c : <[], f32> -> <[F 8], f32>
  %2 = nn.add %0, %1 : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  nn.return %2 : !y
}

// -----

// bf16: the product is rounded before the bias is added, so the GEMM would give another value.
!x = !nn.tensor<[B 2, D 16], bf16>
!w = !nn.tensor<[D 16, F 8], bf16>
!b = !nn.tensor<[F 8], bf16>
!y = !nn.tensor<[B 2, F 8], bf16>
// CHECK-LABEL: nn.layer @rounded
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @rounded(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!y {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], bf16>, <[D 16, F 8], bf16>) -> <[B 2, F 8], bf16>
  %1 = nn.cast %0 : <[B 2, F 8], bf16> -> <[B 2, F 8], f32>
  %2 = nn.cast %b : <[F 8], bf16> -> <[F 8], f32>
  %3 = nn.add %1, %2 : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  %4 = nn.cast %3 : <[B 2, F 8], f32> -> <[B 2, F 8], bf16>
  nn.return %4 : !y
}

// -----

// f64, for which the library has no bias.
!x = !nn.tensor<[B 2, D 16], f64>
!w = !nn.tensor<[D 16, F 8], f64>
!b = !nn.tensor<[F 8], f64>
!y = !nn.tensor<[B 2, F 8], f64>
// CHECK-LABEL: nn.layer @f64
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @f64(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!y {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], f64>, <[D 16, F 8], f64>) -> <[B 2, F 8], f64>
  %1 = nn.add %0, %b : (<[B 2, F 8], f64>, <[F 8], f64>) -> <[B 2, F 8], f64>
  nn.return %1 : !y
}

// -----

!x = !nn.tensor<[B 2, D 16], f32>
!w = !nn.tensor<[D 16, F 8], f32>
!b = !nn.tensor<[F 8], f32>
!y = !nn.tensor<[B 2, F 8], f32>
// Each op is a call of its own.
tplan.plan @p {fuse = false}
// CHECK-LABEL: nn.layer @off
// CHECK:         nn.contract
// CHECK:         nn.add
nn.layer @off(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %b: !b {nn.role = "param", nn.name = "b"}) -> (!y {nn.role = "carried", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 16], f32>, <[D 16, F 8], f32>) -> <[B 2, F 8], f32>
  %1 = nn.add %0, %b : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  nn.return %1 : !y
}

// RUN: tplan-opt --check-gemms --split-input-file %s | FileCheck %s
// EXAMPLE
// On sm_90: 1 x 128 scales of x lie with rows side by side, 128 x 128 ones of w with panels side by side.
!x = !nn.tensor<[M 64, K 4, in.K 128], f8E4M3FN>
!xs = !nn.tensor<[K 4, M 64], f32>
!w = !nn.tensor<[N 2, in.N 128, K 4, in.K 128], f8E4M3FN>
!ws = !nn.tensor<[N 2, K 4], f32>
!y = !nn.tensor<[M 64, N 2, in.N 128], bf16>
// CHECK-LABEL: rt.func @f
// CHECK-NEXT:    rt.matmul %{{.*}}, %{{.*}} scaled %{{.*}}, %{{.*}} : {{.*}} -> !nn.tensor<[M 64, N 2, in.N 128], bf16>
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}
// END

// -----
// One scale for each operand, one for each row and column, blocks with blocks; E4M3 by E5M2.
!x = !nn.tensor<[M 64, K 256], f8E4M3FN>
!w = !nn.tensor<[N 32, K 256], f8E5M2>
!y = !nn.tensor<[M 64, N 32], f32>
!one = !nn.tensor<[], f32>
!m = !nn.tensor<[M 64], f32>
!n = !nn.tensor<[N 32], f32>
// CHECK-LABEL: rt.func @g
// CHECK-COUNT-2: rt.matmul
rt.func @g(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %one: !one {nn.role = "param", nn.name = "s"},
           %m: !m {nn.role = "carried", nn.name = "m"}, %n: !n {nn.role = "param", nn.name = "n"})
    -> (!y {nn.role = "carried", nn.name = "y"}, !y {nn.role = "carried", nn.name = "z"}) attributes {layer = @g, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w scaled %one, %one : (!x, !w, !one, !one) -> !y
  %1 = rt.matmul %x, %w scaled %m, %n : (!x, !w, !m, !n) -> !y
  rt.return %0, %1 : !y, !y
}

// -----
// Sums of 128 have one panel; and a scale for all of 128 rows is one for the operand, or for a square.
!x = !nn.tensor<[M 64, K 1, in.K 128], f8E4M3FN>
!xs = !nn.tensor<[K 1, M 64], f32>
!w = !nn.tensor<[N 1, in.N 128, K 1, in.K 128], f8E4M3FN>
!v = !nn.tensor<[N 2, in.N 128, K 1, in.K 128], f8E4M3FN>
!ws = !nn.tensor<[N 1, K 1], f32>
!vs = !nn.tensor<[N 2, K 1], f32>
!y = !nn.tensor<[M 64, N 1, in.N 128], bf16>
!z = !nn.tensor<[M 64, N 2, in.N 128], bf16>
// CHECK-LABEL: rt.func @h
// CHECK-COUNT-2: rt.matmul
rt.func @h(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"}, %v: !v {nn.role = "param", nn.name = "v"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"}, %vs: !vs {nn.role = "param", nn.name = "vs"})
    -> (!y {nn.role = "carried", nn.name = "y"}, !z {nn.role = "carried", nn.name = "z"}) attributes {layer = @h, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  %1 = rt.matmul %x, %v scaled %xs, %vs : (!x, !v, !xs, !vs) -> !z
  rt.return %0, %1 : !y, !z
}

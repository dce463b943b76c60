// RUN: tplan-opt --check-gemms --split-input-file --verify-diagnostics %s
// Two sequences have a scale each along what is summed.
!x = !nn.tensor<[M 32, B 2, K 64], f8E4M3FN>
!w = !nn.tensor<[N 32, B 2, K 64], f8E4M3FN>
!y = !nn.tensor<[M 32, N 32], f32>
!xs = !nn.tensor<[M 32, B 2], f32>
!ws = !nn.tensor<[N 32, B 2], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; no scale is for two sequences, and it has several: a microbatch of 1 sequence has one}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// What is summed lies outermost.
!x = !nn.tensor<[K 64, M 32], f8E4M3FN>
!w = !nn.tensor<[N 32, K 64], f8E4M3FN>
!y = !nn.tensor<[M 32, N 32], f32>
!xs = !nn.tensor<[], f32>
!ws = !nn.tensor<[], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error-re @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; an operand does not have what is summed innermost: {{.*}}K 64, M 32{{.*}}}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// Scales of blocks lie as those of squares do.
!x = !nn.tensor<[M 32, K 4, in.K 128], f8E4M3FN>
!w = !nn.tensor<[N 1, in.N 128, K 4, in.K 128], f8E4M3FN>
!y = !nn.tensor<[M 32, N 1, in.N 128], bf16>
!xs = !nn.tensor<[M 32, K 4], f32>
!ws = !nn.tensor<[N 1, K 4], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error-re @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; the scales of its operands are no pair that the library has}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// Elements that are summed.
!x = !nn.tensor<[M 32, K 40], f8E4M3FN>
!w = !nn.tensor<[N 32, K 40], f8E4M3FN>
!y = !nn.tensor<[M 32, N 32], f32>
!xs = !nn.tensor<[], f32>
!ws = !nn.tensor<[], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; 40 elements that it sums are no multiple of 16}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// A row of the result.
!x = !nn.tensor<[M 32, K 64], f8E4M3FN>
!w = !nn.tensor<[N 12, K 64], f8E4M3FN>
!y = !nn.tensor<[M 32, N 12], bf16>
!xs = !nn.tensor<[], f32>
!ws = !nn.tensor<[], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; a row of its result has 24 bytes, which are no multiple of 16}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// Squares with squares.
!x = !nn.tensor<[M 2, in.M 128, K 4, in.K 128], f8E4M3FN>
!w = !nn.tensor<[N 2, in.N 128, K 4, in.K 128], f8E4M3FN>
!y = !nn.tensor<[M 2, in.M 128, N 2, in.N 128], f32>
!xs = !nn.tensor<[M 2, K 4], f32>
!ws = !nn.tensor<[N 2, K 4], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; the scales of its operands are no pair that the library has}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// One scale with one for each column.
!x = !nn.tensor<[M 32, K 64], f8E4M3FN>
!w = !nn.tensor<[N 32, K 64], f8E4M3FN>
!y = !nn.tensor<[M 32, N 32], f32>
!xs = !nn.tensor<[], f32>
!ws = !nn.tensor<[N 32], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; the scales of its operands are no pair that the library has}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

// -----
// Both of E5M2.
!x = !nn.tensor<[M 32, K 64], f8E5M2>
!w = !nn.tensor<[N 32, K 64], f8E5M2>
!y = !nn.tensor<[M 32, N 32], f32>
!xs = !nn.tensor<[], f32>
!ws = !nn.tensor<[], f32>
// expected-note @+1 {{the precision is given here}}
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
rt.func @f(%x: !x {nn.role = "carried", nn.name = "x"}, %w: !w {nn.role = "param", nn.name = "w"},
           %xs: !xs {nn.role = "carried", nn.name = "xs"}, %ws: !ws {nn.role = "param", nn.name = "ws"})
    -> (!y {nn.role = "carried", nn.name = "y"}) attributes {layer = @f, part = #nn.part<forward>} {
  // expected-error @+1 {{a GEMM of this line is not one that a GPU computes in f8: leave its weight out with `except`, or lay it out otherwise; no GPU multiplies E5M2 by E5M2}}
  %0 = rt.matmul %x, %w scaled %xs, %ws : (!x, !w, !xs, !ws) -> !y
  rt.return %0 : !y
}

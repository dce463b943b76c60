// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the rt dialect refuses on its own.

// expected-error @below {{grain must be at least 1, found 0}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 0
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C1)
// expected-error @below {{needs one argument per input and one yielded value per output}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a, %a : f32, f32
}

// -----

// rt.kernel (C1)
// expected-error @below {{operands must be nn tensors, found 'f32'}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4 : (f32) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C1)
// expected-error @below {{argument must have the input's element type, found 'f64'}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  %b = arith.truncf %a : f64 to f32
  rt.yield %b : f32
}

// -----

// rt.kernel (C1)
// expected-error @below {{yielded value must have the output's element type, found 'f64'}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %b = arith.extf %a : f32 to f64
  rt.yield %b : f64
}

// -----

// rt.kernel (C2)
// expected-error @below {{needs one access per input and output, found 1}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C3)
// expected-error @below {{dimension of an operand is no loop: T}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[T 9, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C3)
// expected-error @below {{dimension of an operand is no loop: S}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 9, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C3)
// expected-error @below {{dimension of an operand is no loop: T}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[T 8, R 16], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<repeat, "D", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C4)
// expected-error @below {{only a row kernel reduces rows, found map}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %b = rt.row_reduce sum %a : f32
  rt.yield %b : f32
}

// -----

// rt.kernel (C4)
// expected-error @below {{segments are of one size, which divides the 48 columns, found 32}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 48>] grain 4
    : (!nn.tensor<[S 8, D 48], f32>) -> (!nn.tensor<[S 8, D 48], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %b = rt.segment_reduce max %a of 32 : f32
  rt.yield %b : f32
}

// -----

// rt.kernel (C4)
// expected-error @below {{segments are of one size, which divides the 64 columns, found 32}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 64>] grain 4
    : (!nn.tensor<[S 8, D 64], f32>) -> (!nn.tensor<[S 8, D 64], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %b = rt.segment_reduce max %a of 16 : f32
  %c = rt.segment_reduce max %b of 32 : f32
  rt.yield %c : f32
}

// -----

// rt.segment_reduce (C2)
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 512>] grain 4
    : (!nn.tensor<[S 8, D 512], f32>) -> (!nn.tensor<[S 8, D 512], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  // expected-error @below {{segments have a power of two of columns, from 16 to 128, found 256}}
  %b = rt.segment_reduce max %a of 256 : f32
  rt.yield %b : f32
}

// -----

// rt.segment_reduce (C1)
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  // expected-error @below {{of a segment there is only the maximum, found sum}}
  %b = rt.segment_reduce sum %a of 16 : f32
  rt.yield %b : f32
}

// -----

// rt.matmul (C1)
func.func @interleaved(%a: !nn.tensor<[M 2, K 3, N 4, J 5], f32>, %b: !nn.tensor<[K 3, J 5, P 6], f32>) {
  // expected-error @below {{is no GEMM: a group of dimensions is not contiguous in '!nn.tensor}}
  %0 = rt.matmul %a, %b : (!nn.tensor<[M 2, K 3, N 4, J 5], f32>, !nn.tensor<[K 3, J 5, P 6], f32>) -> !nn.tensor<[M 2, N 4, P 6], f32>
  return
}

// -----

func.func @accumulator(%a: !nn.tensor<[M 2, K 3], f32>, %b: !nn.tensor<[K 3, N 4], f32>, %c: !nn.tensor<[M 2, N 4], f64>) {
  // expected-error @below {{accumulator must have the result's type, found '!nn.tensor<[M 2, N 4], f64>'}}
  %0 = rt.matmul %a, %b onto %c : (!nn.tensor<[M 2, K 3], f32>, !nn.tensor<[K 3, N 4], f32>, !nn.tensor<[M 2, N 4], f64>) -> !nn.tensor<[M 2, N 4], f32>
  return
}

// -----

// rt.launch (C2)
func.func @f(%x: !nn.tensor<[B max 8, D 4], f32>) {
  // expected-error @below {{needs a count: the outermost dimension has a bound}}
  %0 = rt.launch @k(%x) : (!nn.tensor<[B max 8, D 4], f32>) -> !nn.tensor<[B max 8, D 4], f32>
  return
}

// -----

// rt.matmul (C2)
func.func @f(%x: !nn.tensor<[B 8, D 4], f32>, %w: !nn.tensor<[D 4, V 2], f32>, %n: !nn.tensor<[], i64>) {
  // expected-error @below {{has a count, but no outermost dimension with a bound}}
  %0 = rt.matmul %x, %w count %n : (!nn.tensor<[B 8, D 4], f32>, !nn.tensor<[D 4, V 2], f32>, !nn.tensor<[], i64>) -> !nn.tensor<[B 8, V 2], f32>
  return
}

// -----

// rt.matmul (C2)
!x = !nn.tensor<[B max 8, D 4], f32>
!w = !nn.tensor<[D 4, V 2], f32>
func.func @f(%x: !x, %w: !w) {
  // expected-error @below {{needs a count: the outermost dimension has a bound}}
  %0 = rt.matmul %x, %w : (!x, !w) -> !nn.tensor<[B max 8, V 2], f32>
  return
}

// -----

// rt.matmul (C2)
func.func @f(%x: !nn.tensor<[B max 8, D 4], f32>, %w: !nn.tensor<[D 4, V 2], f32>, %n: !nn.tensor<[], f32>) {
  // expected-error @below {{a count is one i64, found '!nn.tensor<[], f32>'}}
  %0 = rt.matmul %x, %w count %n : (!nn.tensor<[B max 8, D 4], f32>, !nn.tensor<[D 4, V 2], f32>, !nn.tensor<[], f32>) -> !nn.tensor<[B max 8, V 2], f32>
  return
}

// -----

// rt.matmul (C3)
func.func @f(%x: !nn.tensor<[B max 8, D 4], f32>, %y: !nn.tensor<[B max 8, V 2], f32>) {
  // expected-error @below {{cannot contract a dimension with a bound: B}}
  %0 = rt.matmul %x, %y : (!nn.tensor<[B max 8, D 4], f32>, !nn.tensor<[B max 8, V 2], f32>) -> !nn.tensor<[D 4, V 2], f32>
  return
}

// -----

// rt.matmul (C3)
!x = !nn.tensor<[B 8, D 4], f32>
!y = !nn.tensor<[B max 8, V 2], f32>
func.func @f(%x: !x, %y: !y) {
  // expected-error @below {{cannot contract a dimension with a bound: B}}
  %0 = rt.matmul %x, %y : (!x, !y) -> !nn.tensor<[D 4, V 2], f32>
  return
}

// -----

// rt.matmul (C4)
!x = !nn.tensor<[M 2, K 3], f32>
!y = !nn.tensor<[K 5, N 4], f32>
func.func @f(%x: !x, %y: !y) {
  // expected-error @below {{needs a dimension in two of operands and result, of one size, found K in}}
  %0 = rt.matmul %x, %y : (!x, !y) -> !nn.tensor<[M 2, N 4], f32>
  return
}

// -----

// rt.matmul (C4)
!x = !nn.tensor<[M 2, K 3], f32>
!y = !nn.tensor<[N 4], f32>
func.func @f(%x: !x, %y: !y) {
  // expected-error @below {{needs a dimension in two of operands and result, of one size, found K in}}
  %0 = rt.matmul %x, %y : (!x, !y) -> !nn.tensor<[M 2, N 4], f32>
  return
}

// -----

// rt.matmul (C4)
!x = !nn.tensor<[M 2, K 3], f32>
!y = !nn.tensor<[K 3], f32>
func.func @f(%x: !x, %y: !y) {
  // expected-error @below {{needs a dimension in two of operands and result, of one size, found Q in}}
  %0 = rt.matmul %x, %y : (!x, !y) -> !nn.tensor<[M 2, Q 4], f32>
  return
}

// -----

// rt.matmul (C7)
!x = !nn.tensor<[M 2, K 2, in.K 4], f8E4M3FN>
!y = !nn.tensor<[N 3, K 2, in.K 4], f8E4M3FN>
!s = !nn.tensor<[M 2, in.K 4], f32>
func.func @inner(%x: !x, %y: !y, %s: !s, %t: !nn.tensor<[N 3, K 2], f32>) {
  // expected-error @below {{needs scales of the first rows, columns and panels, found '!nn.tensor<[M 2, in.K 4], f32>' and}}
  %0 = rt.matmul %x, %y scaled %s, %t : (!x, !y, !s, !nn.tensor<[N 3, K 2], f32>) -> !nn.tensor<[M 2, N 3], f32>
  return
}

// -----

// rt.matmul (C8)
func.func @folded(%x: !nn.tensor<[M 2, K 4], bf16>, %y: !nn.tensor<[N 3, K 4], bf16>) {
  // expected-error @below {{without scales has none to fold}}
  %0 = rt.matmul %x, %y folded : (!nn.tensor<[M 2, K 4], bf16>, !nn.tensor<[N 3, K 4], bf16>) -> !nn.tensor<[M 2, N 3], bf16>
  return
}

// -----

// rt.matmul (C7)
!x = !nn.tensor<[M 2, K 4], f8E4M3FN>
func.func @chunks(%x: !x, %s: !nn.tensor<[M 2], f32>, %y: !nn.tensor<[N 3, K 4], f8E4M3FN>, %t: !nn.tensor<[N 3], f32>) {
  // expected-error @below {{with scales has no batches, no bias and no chunks}}
  %0 = rt.matmul %x, %y scaled %s, %t chunks 2 : (!x, !nn.tensor<[N 3, K 4], f8E4M3FN>, !nn.tensor<[M 2], f32>, !nn.tensor<[N 3], f32>) -> !nn.tensor<[M 2, N 3], f32>
  return
}

// -----

// expected-error @below {{operands must be nn tensors, found 'f32'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, f32) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C1)
// expected-error @below {{needs 3 inputs, found 2}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C1)
// expected-error @below {{needs 2 outputs, found 1}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C1)
// expected-error @below {{needs 6 inputs, found 3}}
rt.tile @t backward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C1)
// expected-error @below {{needs 4 outputs, found 3}}
rt.tile @t backward : (!nn.tensor<[S 8, H 4, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>, !nn.tensor<[S 8, H 4, K 16], bf16>, !nn.tensor<[S 8, H 4], f32>, !nn.tensor<[S 8, H 4], f32>) -> (!nn.tensor<[S 8, H 4, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{elements must be f64, f32, bf16 or f16, found 'i32'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], i32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{needs S, H and the width, innermost, in '!nn.tensor<[S 8, K 16, H 4], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, K 16, H 4], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{needs T, G and the width, innermost, in '!nn.tensor<[R 8, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[R 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{q and k must have one width, found '!nn.tensor<[S 8, H 4, K 16], f32>' and '!nn.tensor<[T 8, G 2, K 8], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 8], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{q and k must have the same other dimensions, found '!nn.tensor<[B 2, S 8, H 4, K 16], f32>' and '!nn.tensor<[T 8, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[B 2, S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{v must have the dimensions '!nn.tensor<[T 8, G 2, K 16], f32>', found '!nn.tensor<[T 9, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 9, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C2)
// expected-error @below {{lse must have the dimensions '!nn.tensor<[S 8, H 4], f32>', found '!nn.tensor<[S 8, H 4], f64>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f64>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C3)
// expected-error @below {{heads must be a multiple of key heads, found 4 and 3}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 3, K 16], f32>, !nn.tensor<[T 8, G 3, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C4)
// expected-error @below {{needs a start for each piece of S, found 1 and 2}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) queries [4, 4] <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C4)
// expected-error @below {{pieces must cover the 8 elements of T, found 4}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) keys [4] <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C4)
// expected-error @below {{pieces of S have at least 1 element, found 0}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) queries [8, 0] <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C4)
// expected-error @below {{needs a start for each piece of T, found 1 and 0}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C4)
// expected-error @below {{starts must be i32 scalars, found '!nn.tensor<[], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) keys [8] <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C5)
// expected-error @below {{sizes must be fixed and at least 1, found '!nn.tensor<[T max 8, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T max 8, G 2, K 16], f32>, !nn.tensor<[T max 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.tile (C5)
!q = !nn.tensor<[S 8, B max 2, H 4, K 16], f32>
!k = !nn.tensor<[T 8, B max 2, G 2, K 16], f32>
// expected-error @below {{sizes must be fixed and at least 1, found '!nn.tensor<[S 8, B max 2, H 4, K 16], f32>'}}
rt.tile @t forward : (!q, !k, !k) -> (!q, !nn.tensor<[S 8, B max 2, H 4], f32>)
    <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// expected-error @below {{sizes must be fixed and at least 1, found '!nn.tensor<[T 0, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 0, G 2, K 16], f32>, !nn.tensor<[T 0, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>

// -----

// rt.launch (C1)
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>>
func.func @launch(%q: !nn.tensor<[S 8, H 4, K 16], f32>) {
  // expected-error @+1 {{types are not those of its kernel: }}
  %0:2 = rt.launch @t(%q) : (!nn.tensor<[S 8, H 4, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>)
  return
}

// -----

// rt.launch (C3)
!x = !nn.tensor<[B 8, D 4], f32>
rt.kernel @k map rows [#nn.dim<"B", 8>] cols [#nn.dim<"D", 4>] grain 8 : (!x) -> (!x)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  rt.yield %x : f32
}
func.func @launch(%x: !x, %y: !x) {
  // expected-error @+1 {{a kernel that scatters adds onto memory, and no other does: found k}}
  %0 = rt.launch @k(%x) onto(%y : !x) : (!x) -> !x
  return
}

// -----

// rt.launch (C3)
rt.kernel @k column rows [#nn.dim<"B", 8>] cols [#nn.dim<"D", 4>] grain 8
    : (!nn.tensor<[B 8, D 4], f32>, !nn.tensor<[B 8], i32>) -> (!nn.tensor<[V 5, D 4], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<scatter, "V", 1>] {
^bb0(%x: f32, %i: i32):
  rt.yield %x : f32
}
func.func @launch(%x: !nn.tensor<[B 8, D 4], f32>, %i: !nn.tensor<[B 8], i32>) {
  // expected-error @+1 {{a kernel that scatters adds onto memory, and no other does: found k}}
  %0 = rt.launch @k(%x, %i) : (!nn.tensor<[B 8, D 4], f32>, !nn.tensor<[B 8], i32>) -> !nn.tensor<[V 5, D 4], f32>
  return
}

// -----

// rt.kernel (C5)
// expected-error @below {{transposes whole elements, found a value of a row: output 0}}
rt.kernel @k transpose rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8], f32>) -> (!nn.tensor<[S 8], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C5)
// expected-error @below {{transposes static rows, found a run-time count}}
rt.kernel @k transpose rows [#nn.dim<"S", 8, true>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[D 32, S max 8], f32>) -> (!nn.tensor<[S max 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C5)
// expected-error @below {{transposes rows and columns larger than 1}}
rt.kernel @k transpose rows [#nn.dim<"S", 1>] cols [#nn.dim<"D", 8>] grain 4
    : (!nn.tensor<[D 8, S 1], f32>) -> (!nn.tensor<[S 1, D 8], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// rt.kernel (C5)
// expected-error @below {{transposes whole elements, found a sum over rows}}
rt.kernel @k transpose rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[D 32, S 8], f32>) -> (!nn.tensor<[D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = rt.col_reduce sum %a : f32
  rt.yield %0 : f32
}

// -----

// rt.collective (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "x"}, %y: !nn.tensor<[D 4], f32> {nn.role = "carried", nn.name = "y"}) {
  // expected-error @+1 {{needs an axis of the mesh, found none}}
  %0 = rt.collective all_reduce sum %x over [] : <[B 4], f32> -> <[B 4], f32>
  rt.return
}
}

// -----

// rt.slice (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@+1 {{only a view has a shift, which is not negative, found 1}}
  %0 = rt.slice %x over ["dp"] shift 1 : <[B 4], f32> -> <[B 2], f32>
  rt.return
}
}

// -----

// rt.join (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@+1 {{axis is not of the mesh: "pp"}}
  %0 = rt.join %x, %x over ["pp"] : !nn.tensor<[B 4], f32>, !nn.tensor<[B 4], f32> -> <[B 8], f32>
  rt.return
}
}

// -----

// rt.join (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0"}, %y: !nn.tensor<[D 4], f32> {nn.role = "carried", nn.name = "c1"}) {
  // expected-error@+1 {{needs parts of one type, found '!nn.tensor<[B 4], f32>', '!nn.tensor<[D 4], f32>'}}
  %0 = rt.join %x, %y over ["dp"] : !nn.tensor<[B 4], f32>, !nn.tensor<[D 4], f32> -> <[B 8], f32>
  rt.return
}
}

// -----

// rt.join (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 3>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@+1 {{needs parts that fill '!nn.tensor<[B 12], f32>', found 2 of '!nn.tensor<[B 4], f32>'}}
  %0 = rt.join %x, %x over ["dp"] : !nn.tensor<[B 4], f32>, !nn.tensor<[B 4], f32> -> <[B 12], f32>
  rt.return
}
}

// -----

// rt.join (C3)
module attributes {dist.mesh = #dist.mesh<<"dp", 3>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@+1 {{needs a part for each of 3 members, found 2}}
  %0 = rt.join %x, %x over ["dp"] : !nn.tensor<[B 4], f32>, !nn.tensor<[B 4], f32> -> <[B 8], f32>
  rt.return
}
}

// -----

// rt.matmul (C6)
rt.func @f(%x: !nn.tensor<[B 4, S 2], f32> {nn.role = "carried", nn.name = "c0"}, %w: !nn.tensor<[S 2, F 2], f32> {nn.role = "param", nn.name = "w"}, %a: !nn.tensor<[B 4, F 2], f32> {nn.role = "carried", nn.name = "c1"}) {
  // expected-error@+1 {{is cut in chunks only without batches, onto nothing, found 2 chunks}}
  %0 = rt.matmul %x, %w onto %a chunks 2 : (!nn.tensor<[B 4, S 2], f32>, !nn.tensor<[S 2, F 2], f32>, !nn.tensor<[B 4, F 2], f32>) -> !nn.tensor<[B 4, F 2], f32>
  rt.return
}

// -----

// rt.slice (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "x"}, %y: !nn.tensor<[D 4], f32> {nn.role = "carried", nn.name = "y"}) {
  // expected-error @+1 {{axis is not of the mesh: "pp"}}
  %0 = rt.slice %x over ["pp"] dim "B" : <[B 4], f32> -> <[B 2], f32>
  rt.return
}
}

// -----

// rt.place (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "x"}, %y: !nn.tensor<[D 4], f32> {nn.role = "carried", nn.name = "y"}) {
  // expected-error @+1 {{axis given twice: "dp"}}
  %0 = rt.place %x into %y over ["dp", "dp"] : <[B 4], f32>, <[D 4], f32> -> <[D 4], f32>
  rt.return
}
}

// -----

// rt.place (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "x"}, %y: !nn.tensor<[D 4], f32> {nn.role = "carried", nn.name = "y"}) {
  // expected-error @+1 {{makes all of '!nn.tensor<[D 4], f32>', found '!nn.tensor<[B 4], f32>'}}
  %0 = rt.place %x into %y over ["dp"] : <[B 4], f32>, <[D 4], f32> -> <[B 4], f32>
  rt.return
}
}

// -----

// rt.matmul (C5)
!x = !nn.tensor<[M 2, K 3], f32>
!y = !nn.tensor<[K 3, N 4], f32>
!z = !nn.tensor<[M 2, N 4], f32>
func.func @f(%x: !x, %y: !y, %b: !nn.tensor<[M 2], f32>) {
  // expected-error @below {{takes no bias '!nn.tensor<[M 2], f32>'}}
  %0 = rt.matmul %x, %y bias %b : (!x, !y, !nn.tensor<[M 2], f32>) -> !z
  return
}

// -----

// rt.matmul (C5)
!x = !nn.tensor<[M 2, K 3], f32>
!y = !nn.tensor<[K 3, N 4], f32>
!z = !nn.tensor<[M 2, N 4], f32>
func.func @f(%x: !x, %y: !y, %b: !nn.tensor<[N 4], bf16>) {
  // expected-error @below {{takes no bias '!nn.tensor<[N 4], bf16>'}}
  %0 = rt.matmul %x, %y bias %b : (!x, !y, !nn.tensor<[N 4], bf16>) -> !z
  return
}

// -----

// rt.matmul (C5)
!x = !nn.tensor<[B 5, M 2, K 3], f32>
!y = !nn.tensor<[B 5, K 3, N 4], f32>
!z = !nn.tensor<[B 5, M 2, N 4], f32>
func.func @f(%x: !x, %y: !y, %b: !nn.tensor<[N 4], f32>) {
  // expected-error @below {{takes no bias '!nn.tensor<[N 4], f32>'}}
  %0 = rt.matmul %x, %y bias %b : (!x, !y, !nn.tensor<[N 4], f32>) -> !z
  return
}

// -----

// rt.matmul (C5)
!x = !nn.tensor<[M 2, K 3], f32>
!y = !nn.tensor<[K 3, N 4], f32>
!z = !nn.tensor<[M 2, N 4], f32>
func.func @f(%x: !x, %y: !y, %a: !z, %b: !nn.tensor<[N 4], f32>) {
  // expected-error @below {{takes no bias '!nn.tensor<[N 4], f32>'}}
  %0 = rt.matmul %x, %y onto %a bias %b : (!x, !y, !z, !nn.tensor<[N 4], f32>) -> !z
  return
}

// -----

// rt.func (C1)
// expected-error @+1 {{needs the layer of which it is a part, `layer = @...`: update}}
rt.func @f.U() attributes {part = #nn.part<update>} {
  rt.return
}

// -----

// rt.func (C2)
// expected-note @+1 {{the first is f.U, here}}
rt.func @f.U() attributes {layer = @f, part = #nn.part<update>} {
  rt.return
}
// expected-error @+1 {{is a second part update of layer @f}}
rt.func @f.again() attributes {layer = @f, part = #nn.part<update>} {
  rt.return
}

// -----

// rt.func (C3)
// expected-error @+1 {{argument 1 has the position of another one of role cot_carried: 3}}
rt.func @f(%x: !nn.tensor<[D 3], f32> {nn.role = "cot_carried", nn.name = "x", nn.position = 3 : i64},
           %y: !nn.tensor<[D 3], f32> {nn.role = "cot_carried", nn.name = "y", nn.position = 3 : i64}) {
  rt.return
}

// -----

// rt.func (C3)
// expected-error @+1 {{argument 0 has a slot, which states of an optimizer have: #nn.slot<"m" of "w">}}
rt.func @f(%x: !nn.tensor<[D 3], f32> {nn.role = "scalar", nn.name = "lr", nn.slot = #nn.slot<"m" of "w">}) {
  rt.return
}

// -----

rt.kernel @k map rows [] cols [#nn.dim<"D", 32>] grain 32 : (!nn.tensor<[D 32], f32>) -> (!nn.tensor<[D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %zero = arith.constant 0 : i64
  // expected-error @below {{operand #0 must be i32, or a vector of i32, but got 'i64'}}
  %word = rt.random %zero of (%zero, %zero, %zero, %zero) key (%zero, %zero) : i64
  %bit = arith.trunci %word : i64 to i1
  %y = arith.uitofp %bit : i1 to f32
  rt.yield %y : f32
}

// -----

// rt.collective (C2)
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@below {{is started, and its event needs one await, found 0}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] : !x -> !x, !rt.event
  rt.return %0 : !x
}
}

// -----

// rt.collective (C2)
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@below {{is started, and its event needs one await, found 2}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] : !x -> !x, !rt.event
  rt.await %e
  rt.await %e
  rt.return %0 : !x
}
}

// -----

// rt.collective (C2)
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@below {{is started, and read before its await by rt.copy}}
  %0, %e = rt.collective all_reduce sum %x over ["dp"] : !x -> !x, !rt.event
  %1 = rt.copy %0 : !x -> !x
  rt.await %e
  rt.return %1 : !x
}
}

// -----

// rt.collective (C2)
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[B 2, F 4], f32>
!g = !nn.tensor<[D 4, F 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !w {nn.role = "carried", nn.name = "c1"}, %g: !g {nn.role = "cot_param", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  // expected-error@below {{is started, and what it reads is added to before its await by rt.matmul}}
  %0, %e = rt.collective all_reduce sum %g over ["dp"] : !g -> !g, !rt.event
  %1 = rt.matmul %x, %y onto %g : (!x, !w, !g) -> !g
  rt.await %e
  rt.return %1 : !g
}
}

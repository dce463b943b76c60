// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the nn dialect refuses on its own.

// nn.param (C1)
// expected-error @+1 {{count must be at least 1, found 0}}
nn.param @w : !nn.tensor<[D 3], f32> x 0 path "w" first 0 step 1 id 0 by 1 <"normal", 0.02 : f64> "linear"

// -----

// expected-error @+1 {{dimension named twice: D}}
func.func private @twice(!nn.tensor<[D 3, D 4], f32>)

// -----

// nn.add (C1)
func.func @lacks(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{result lacks a dimension of an operand: S}}
  %0 = nn.add %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[S 2], f32>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.add (C1)
func.func @beyond(%a: !nn.tensor<[D 3], f32>) {
  // expected-error @+1 {{no operand has the result's dimension S}}
  %0 = nn.add %a, %a : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f32>) -> !nn.tensor<[D 3, S 2], f32>
  return
}

// -----

// nn.mul (C2)
func.func @elements(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[D 3], f64>) {
  // expected-error @+1 {{element types differ: 'f32', 'f64', 'f32'}}
  %0 = nn.mul %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f64>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.mul (C1)
func.func @lacks(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{result lacks a dimension of an operand: S}}
  %0 = nn.mul %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[S 2], f32>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.add (C2)
func.func @elements(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[D 3], f64>) {
  // expected-error @+1 {{element types differ: 'f32', 'f64', 'f32'}}
  %0 = nn.add %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f64>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.sub (C1)
func.func @lacks(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{result lacks a dimension of an operand: S}}
  %0 = nn.sub %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[S 2], f32>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.sub (C2)
func.func @elements(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[D 3], f64>) {
  // expected-error @+1 {{element types differ: 'f32', 'f64', 'f32'}}
  %0 = nn.sub %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f64>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.div (C1)
func.func @lacks(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{result lacks a dimension of an operand: S}}
  %0 = nn.div %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[S 2], f32>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.div (C2)
func.func @elements(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[D 3], f64>) {
  // expected-error @+1 {{element types differ: 'f32', 'f64', 'f32'}}
  %0 = nn.div %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f64>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.max (C1)
func.func @lacks(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{result lacks a dimension of an operand: S}}
  %0 = nn.max %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[S 2], f32>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.max (C2)
func.func @elements(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[D 3], f64>) {
  // expected-error @+1 {{element types differ: 'f32', 'f64', 'f32'}}
  %0 = nn.max %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f64>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.min (C1)
func.func @lacks(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{result lacks a dimension of an operand: S}}
  %0 = nn.min %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[S 2], f32>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.min (C2)
func.func @elements(%a: !nn.tensor<[D 3], f32>, %b: !nn.tensor<[D 3], f64>) {
  // expected-error @+1 {{element types differ: 'f32', 'f64', 'f32'}}
  %0 = nn.min %a, %b : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f64>) -> !nn.tensor<[D 3], f32>
  return
}

// -----

// nn.index (C1)
func.func @index() {
  // expected-error @+1 {{result must have one dimension and element type i32, found '!nn.tensor<[S 3], f32>'}}
  %0 = nn.index : !nn.tensor<[S 3], f32>
  return
}

// -----

// nn.index (C2)
func.func @index(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{needs a start for each piece of S, found 2 and 1}}
  %0 = nn.index from %i, %i pieces [3] : <[S 3], i32>
  return
}

// -----

// nn.index (C2)
func.func @index(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{pieces must cover the 3 elements of S, found 4}}
  %0 = nn.index from %i, %i pieces [2, 2] : <[S 3], i32>
  return
}

// -----

// nn.index (C2)
func.func @index(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{pieces of S have at least 1 element, found 0}}
  %0 = nn.index from %i, %i pieces [3, 0] : <[S 3], i32>
  return
}

// -----

// nn.audit (C1)
func.func @audit(%x: !nn.tensor<[B 2, D 3], f32>, %i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{with `of`, and only then, needs a size and axes for each of 2 dimensions}}
  %0 = nn.audit %x "x" layer %i of [4] axes [["dp"], []] : <[B 2, D 3], f32>
  return
}

// -----

// nn.dropout_mask (C1)
func.func @dropout(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{with starts, and only then, needs a whole size and pieces for each of 2 dimensions, found 1 and 2}}
  %0 = nn.dropout_mask %i, %i, %i, %i site 0 rate 0.5 of [8] from %i, %i pieces [array<i64: 2>, array<i64: 3>] : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 2, D 3], f32>
  return
}

// -----

// nn.dropout_mask (C2)
func.func @dropout(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{needs a start for each piece of D, found 1 and 2}}
  %0 = nn.dropout_mask %i, %i, %i, %i site 0 rate 0.5 of [8, 3] from %i, %i pieces [array<i64: 2>, array<i64: 1, 2>] : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 2, D 3], f32>
  return
}

// -----

// nn.dropout_mask (C2)
func.func @dropout(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{pieces must cover the 2 elements of B, found 4}}
  %0 = nn.dropout_mask %i, %i, %i, %i site 0 rate 0.5 of [8, 3] from %i, %i pieces [array<i64: 4>, array<i64: 3>] : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 2, D 3], f32>
  return
}

// -----

// nn.dropout_mask (C2)
func.func @dropout(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{needs a start for each piece of B, found 1 and 2}}
  %0 = nn.dropout_mask %i, %i, %i, %i site 0 rate 0.5 of [8, 3] from %i pieces [array<i64: 1, 1>, array<i64: 3>] : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 2, D 3], f32>
  return
}

// -----

// nn.dropout_mask (C2)
func.func @dropout(%i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{pieces must cover the 3 elements of D, found 0}}
  %0 = nn.dropout_mask %i, %i, %i, %i site 0 rate 0.5 of [8, 3] from %i pieces [array<i64: 2>, array<i64>] : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 2, D 3], f32>
  return
}

// -----

// nn.reduce (C1)
func.func @reduce(%a: !nn.tensor<[D 3], f32>) {
  // expected-error @+1 {{operand lacks the result's dimension S}}
  %0 = nn.reduce sum %a : !nn.tensor<[D 3], f32> -> !nn.tensor<[S 3], f32>
  return
}

// -----

func.func @sizes(%a: !nn.tensor<[D 3, S 2], f32>, %b: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{operands disagree on the size of D}}
  %0 = nn.contract %a, %b : (!nn.tensor<[D 3, S 2], f32>, !nn.tensor<[D 4], f32>) -> !nn.tensor<[S 2], f32>
  return
}

// -----

// nn.contract (C1)
func.func @beyond(%a: !nn.tensor<[D 3], f32>) {
  // expected-error @+1 {{no operand has the result's dimension S}}
  %0 = nn.contract %a, %a : (!nn.tensor<[D 3], f32>, !nn.tensor<[D 3], f32>) -> !nn.tensor<[S 2], f32>
  return
}

// -----

// nn.contract (C2)
func.func @dropped(%a: !nn.tensor<[D 3, S 2], f32>, %b: !nn.tensor<[D 3], f32>) {
  // expected-error @+1 {{dimension of one operand only is not in the result: S}}
  %0 = nn.contract %a, %b : (!nn.tensor<[D 3, S 2], f32>, !nn.tensor<[D 3], f32>) -> !nn.tensor<[], f32>
  return
}

// -----

// nn.split (C1)
func.func @uneven(%a: !nn.tensor<[D 6], f32>) {
  // expected-error @+1 {{needs a dimension D of blocks of 4, found '!nn.tensor<[D 6], f32>'}}
  %0 = nn.split %a "D" by 4 : <[D 6], f32> -> <[D 1, in.D 4], f32>
  return
}

// -----

// nn.split (C1)
func.func @bounded(%a: !nn.tensor<[D max 8], f32>) {
  // expected-error @+1 {{needs a dimension D of blocks of 4}}
  %0 = nn.split %a "D" by 4 : <[D max 8], f32> -> <[D 2, in.D 4], f32>
  return
}

// -----

// nn.split (C2)
func.func @outer(%a: !nn.tensor<[D 8], f32>) {
  // expected-error @+1 {{makes '!nn.tensor<[D 2, in.D 4], f32>', found '!nn.tensor<[D 4, in.D 2], f32>'}}
  %0 = nn.split %a "D" by 4 : <[D 8], f32> -> <[D 4, in.D 2], f32>
  return
}

// -----

// nn.merge (C1)
func.func @apart(%a: !nn.tensor<[D 2, B 3, in.D 4], f32>) {
  // expected-error @+1 {{merges what nn.split made of '!nn.tensor<[D 8, B 3], f32>', found}}
  %0 = nn.merge %a "D" : <[D 2, B 3, in.D 4], f32> -> <[D 8, B 3], f32>
  return
}

// -----

// nn.contract (C3)
func.func @unscaled(%a: !nn.tensor<[B 2, D 4], f8E4M3FN>, %b: !nn.tensor<[F 3, D 4], f8E4M3FN>) {
  // expected-error @+1 {{operands in f8, and no others, have scales in f32; found '!nn.tensor<[B 2, D 4], f8E4M3FN>' without}}
  %0 = nn.contract %a, %b : (<[B 2, D 4], f8E4M3FN>, <[F 3, D 4], f8E4M3FN>) -> <[B 2, F 3], f32>
  return
}

// -----

// nn.contract (C3)
func.func @wide(%a: !nn.tensor<[B 2, D 4], bf16>, %s: !nn.tensor<[B 2], f32>, %b: !nn.tensor<[F 3, D 4], f8E4M3FN>, %t: !nn.tensor<[F 3], f32>) {
  // expected-error @+1 {{have scales in f32; found '!nn.tensor<[B 2, D 4], bf16>' with one}}
  %0 = nn.contract %a, %b scaled %s, %t : (<[B 2, D 4], bf16>, <[F 3, D 4], f8E4M3FN>, !nn.tensor<[B 2], f32>, !nn.tensor<[F 3], f32>) -> <[B 2, F 3], f32>
  return
}

// -----

!a = !nn.tensor<[B 2, D 4], f8E4M3FN>
!b = !nn.tensor<[F 3, D 4], f8E4M3FN>
// nn.contract (C4)
func.func @other(%a: !a, %s: !nn.tensor<[D 2], f32>, %b: !b, %t: !nn.tensor<[F 3], f32>) {
  // expected-error @+1 {{operand lacks the dimension of its scale D}}
  %0 = nn.contract %a, %b scaled %s, %t : (!a, !b, !nn.tensor<[D 2], f32>, !nn.tensor<[F 3], f32>) -> <[B 2, F 3], f32>
  return
}

// -----

!a = !nn.tensor<[B 2, D 4], f8E4M3FN>
!b = !nn.tensor<[F 3, D 4], f8E4M3FN>
// nn.contract (C5)
func.func @half(%a: !a, %s: !nn.tensor<[B 2, D 4], f32>, %b: !b, %t: !nn.tensor<[F 3], f32>) {
  // expected-error @+1 {{one scale is for all of a panel, and the other not: D}}
  %0 = nn.contract %a, %b scaled %s, %t : (!a, !b, !nn.tensor<[B 2, D 4], f32>, !nn.tensor<[F 3], f32>) -> <[B 2, F 3], f32>
  return
}

// -----

!a = !nn.tensor<[B 2, D 2, E 4], f8E4M3FN>
!b = !nn.tensor<[F 3, D 2, E 4], f8E4M3FN>
!s = !nn.tensor<[B 2, E 4], f32>
!t = !nn.tensor<[F 3, E 4], f32>
// nn.contract (C5)
func.func @outermost(%a: !a, %s: !s, %b: !b, %t: !t) {
  // expected-error @+1 {{a panel is of the last dimensions that are contracted; after it lies E}}
  %0 = nn.contract %a, %b scaled %s, %t : (!a, !b, !s, !t) -> <[B 2, F 3], f32>
  return
}

// -----

// What has a scale for each 4 of D cannot be summed along B: it would have to be quantised along B.
!a = !nn.tensor<[B 2, D 1, in.D 4], f8E4M3FN>
!b = !nn.tensor<[B 2, F 1, in.F 4], f8E4M3FN>
!s = !nn.tensor<[B 2, D 1], f32>
!t = !nn.tensor<[B 2, F 1], f32>
// nn.contract (C5)
func.func @transposed(%a: !a, %s: !s, %b: !b, %t: !t) {
  // expected-error @+1 {{each element along what is contracted has a scale of its own: quantise it along that; found '!nn.tensor<[B 2, D 1], f32>'}}
  %0 = nn.contract %a, %b scaled %s, %t : (!a, !b, !s, !t) -> <[D 1, in.D 4, F 1, in.F 4], f32>
  return
}

// -----

!a = !nn.tensor<[B 2, D 4], f8E4M3FN>
!s = !nn.tensor<[B 2], f32>
// nn.contract (C6)
func.func @batch(%a: !a, %s: !s) {
  // expected-error @+1 {{with scales there are no batches, found B}}
  %0 = nn.contract %a, %a scaled %s, %s : (!a, !a, !s, !s) -> <[B 2], f32>
  return
}

// -----

// nn.contract (C7)
func.func @folded(%a: !nn.tensor<[B 2, D 4], bf16>) {
  // expected-error @+1 {{without scales has none to fold}}
  %0 = nn.contract %a, %a folded : (<[B 2, D 4], bf16>, <[B 2, D 4], bf16>) -> <[B 2], f32>
  return
}

// -----

// nn.lookup (C1)
func.func @lookup(%table: !nn.tensor<[V 9, D 3], f32>, %ids: !nn.tensor<[S 2], i32>) {
  // expected-error @+1 {{expected result '!nn.tensor<[S 2, D 3], f32>'}}
  %0 = nn.lookup %table["V" = %ids] : (!nn.tensor<[V 9, D 3], f32>, !nn.tensor<[S 2], i32>) -> !nn.tensor<[S 2], f32>
  return
}

// -----

// nn.lookup (C1)
!t = !nn.tensor<[V 9, D 3], f32>
func.func @ids(%table: !t, %ids: !nn.tensor<[S 2], f32>) {
  // expected-error @+1 {{ids must be i32, found 'f32'}}
  %0 = nn.lookup %table["V" = %ids] : (!t, !nn.tensor<[S 2], f32>) -> !nn.tensor<[S 2, D 3], f32>
  return
}

// -----

// nn.lookup (C1)
!t = !nn.tensor<[V 9, D 3], f32>
func.func @table(%table: !t, %ids: !nn.tensor<[S 2], i32>) {
  // expected-error @+1 {{table lacks dimension W}}
  %0 = nn.lookup %table["W" = %ids] : (!t, !nn.tensor<[S 2], i32>) -> !nn.tensor<[S 2, V 9, D 3], f32>
  return
}

// -----

// nn.attention (C3)
func.func @pieces(%q: !nn.tensor<[S 8, H 2, K 4], f32>, %i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{pieces must cover the 8 elements of S, found 7}}
  %0:2 = nn.attention %q, %q, %q queries from %i, %i pieces [4, 3] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5> : (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[H 2, S 8], f32>)
  return
}

// -----

// nn.attention (C3)
func.func @pieces(%q: !nn.tensor<[S 8, H 2, K 4], f32>, %i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{needs a start for each piece of S, found 1 and 2}}
  %0:2 = nn.attention %q, %q, %q keys from %i pieces [4, 4] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5> : (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[H 2, S 8], f32>)
  return
}

// -----

func.func @names(%q: !nn.tensor<[S 8, H 2, K 4], f32>, %l: !nn.tensor<[H 2, S 8], f32>) {
  // expected-error @+1 {{q needs dimension R, k needs S}}
  %0:3 = nn.attention_grad %q, %q, %q, %q, %l, %q <query = "R", key = "S", heads = "H", groups = "H", scale = 0.5> : (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[H 2, S 8], f32>, !nn.tensor<[S 8, H 2, K 4], f32>) -> (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>)
  return
}

// -----

// nn.attention_grad (C1)
func.func @pieces(%q: !nn.tensor<[S 8, H 2, K 4], f32>, %l: !nn.tensor<[H 2, S 8], f32>, %i: !nn.tensor<[], i32>) {
  // expected-error @+1 {{pieces must cover the 8 elements of S, found 9}}
  %0:3 = nn.attention_grad %q, %q, %q, %q, %l, %q keys from %i pieces [9] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5> : (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[H 2, S 8], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[], i32>) -> (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>)
  return
}

// -----

// nn.attention (C1)
func.func @heads(%q: !nn.tensor<[S 2, H 3, K 4], f32>, %k: !nn.tensor<[T 2, G 2, K 4], f32>) {
  // expected-error @+1 {{query heads must be a multiple of key heads, found 3 and 2}}
  %0:2 = nn.attention %q, %k, %k <query = "S", key = "T", heads = "H", groups = "G", scale = 1.0, mask = <causal>> : (!nn.tensor<[S 2, H 3, K 4], f32>, !nn.tensor<[T 2, G 2, K 4], f32>, !nn.tensor<[T 2, G 2, K 4], f32>) -> (!nn.tensor<[S 2, H 3, K 4], f32>, !nn.tensor<[S 2, H 3], f32>)
  return
}

// -----

func.func @spec(%q: !nn.tensor<[S 2, H 2, K 4], f32>) {
  // expected-error @+1 {{struct is missing required parameter: scale}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H"> : (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2, K 4], f32>) -> (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[H 2, S 2], f32>)
  return
}

// -----

func.func @spec(%q: !nn.tensor<[S 2, H 2, K 4], f32>) {
  // expected-error @+1 {{duplicate or unknown struct parameter name: slope}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", slope = 1.0> : (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2, K 4], f32>) -> (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[H 2, S 2], f32>)
  return
}

// -----

func.func @spec(%q: !nn.tensor<[S 2, H 2, K 4], f32>) {
  // expected-error @+2 {{invalid kind of attribute specified}}
  // expected-error @+1 {{failed to parse NN_AttentionAttr parameter 'scale'}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = "half"> : (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2, K 4], f32>) -> (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[H 2, S 2], f32>)
  return
}

// -----

// nn.layer (C1)
// expected-error @+1 {{argument without a role and a name: 0}}
nn.layer @f(%x: !nn.tensor<[D 3], f32>) {
  nn.return
}

// -----

// nn.layer (C1)
// expected-error @+1 {{result without a role and a name: 0}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "carried", nn.name = "x"}) -> !nn.tensor<[D 3], f32> {
  nn.return %x : !nn.tensor<[D 3], f32>
}

// -----

// nn.layer (C2)
// expected-error @+1 {{body must return the types of the results}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "carried", nn.name = "x"}) {
  nn.return %x : !nn.tensor<[D 3], f32>
}

// -----

// nn.layer (C2)
// expected-error @+1 {{body must return the types of the results}}
nn.layer @f() {
  %0 = nn.constant 1.0 : !nn.tensor<[], f32>
}

// -----

// expected-error @+1 {{negative size of dimension D}}
func.func private @negative(!nn.tensor<[D -3], f32>)

// -----

// expected-error @+1 {{elements must be numbers, found 'none'}}
func.func private @elements(!nn.tensor<[D 3], none>)

// -----

// expected-error @+1 {{elements must be one of f64, f32, bf16, f16, i32, i64, i1, i8, f8E4M3FN, f8E5M2, found 'f8E4M3'}}
func.func private @unknown_float(!nn.tensor<[D 3], f8E4M3>)

// -----

// expected-error @+1 {{elements must be one of f64, f32, bf16, f16, i32, i64, i1, i8, f8E4M3FN, f8E5M2, found 'i16'}}
func.func private @unknown_integer(!nn.tensor<[D 3], i16>)

// -----

// expected-error @+1 {{unknown mask: casual}}
func.func private @mask() attributes {m = #nn.mask<casual>}

// -----

// nn.rope (C1)
func.func @rope(%x: !nn.tensor<[S 2, K 3], f32>, %t: !nn.tensor<[S 2, R 1], f32>) {
  // expected-error @+1 {{needs a last dimension of even static size named K}}
  %0 = nn.rope %x, %t, %t over "K" : !nn.tensor<[S 2, K 3], f32>, !nn.tensor<[S 2, R 1], f32>, !nn.tensor<[S 2, R 1], f32>
  return
}

// -----

// nn.rope (C1)
!x = !nn.tensor<[K 4, S 2], f32>
func.func @last(%x: !x) {
  // expected-error @+1 {{needs a last dimension of even static size named K}}
  %0 = nn.rope %x, %x, %x over "K" : !x, !x, !x
  return
}

// -----

// nn.rope (C1)
func.func @bounded(%x: !nn.tensor<[K max 4], f32>, %t: !nn.tensor<[R 2], f32>) {
  // expected-error @+1 {{needs a last dimension of even static size named K}}
  %0 = nn.rope %x, %t, %t over "K" : !nn.tensor<[K max 4], f32>, !nn.tensor<[R 2], f32>, !nn.tensor<[R 2], f32>
  return
}

// -----

// nn.rope (C2)
func.func @tables(%x: !nn.tensor<[S 2, K 4], f32>, %t: !nn.tensor<[T 2, R 2], f32>) {
  // expected-error @+1 {{operand lacks the tables' dimension T}}
  %0 = nn.rope %x, %t, %t over "K" : !nn.tensor<[S 2, K 4], f32>, !nn.tensor<[T 2, R 2], f32>, !nn.tensor<[T 2, R 2], f32>
  return
}

// -----

// nn.rope (C2)
func.func @halves(%x: !nn.tensor<[S 2, K 4], f32>, %t: !nn.tensor<[S 2, K 2], f32>) {
  // expected-error @+1 {{needs tables with a last dimension of their own, of 2; found '!nn.tensor<[S 2, K 2], f32>'}}
  %0 = nn.rope %x, %t, %t over "K" : !nn.tensor<[S 2, K 4], f32>, !nn.tensor<[S 2, K 2], f32>, !nn.tensor<[S 2, K 2], f32>
  return
}

// -----

// nn.rope (C2)
func.func @sizes(%x: !nn.tensor<[S 2, K 4], f32>, %t: !nn.tensor<[S 2, R 4], f32>) {
  // expected-error @+1 {{needs tables with a last dimension of their own, of 2; found '!nn.tensor<[S 2, R 4], f32>'}}
  %0 = nn.rope %x, %t, %t over "K" : !nn.tensor<[S 2, K 4], f32>, !nn.tensor<[S 2, R 4], f32>, !nn.tensor<[S 2, R 4], f32>
  return
}

// -----

// nn.rope (C2)
func.func @types(%x: !nn.tensor<[S 2, K 4], f32>, %t: !nn.tensor<[S 2, R 2], f32>, %u: !nn.tensor<[S 2, R 2], f64>) {
  // expected-error @+1 {{needs tables of one type, of floats; found '!nn.tensor<[S 2, R 2], f32>' and '!nn.tensor<[S 2, R 2], f64>'}}
  %0 = nn.rope %x, %t, %u over "K" : !nn.tensor<[S 2, K 4], f32>, !nn.tensor<[S 2, R 2], f32>, !nn.tensor<[S 2, R 2], f64>
  return
}

// -----

func.func @names(%q: !nn.tensor<[S 2, H 2, K 4], f32>, %k: !nn.tensor<[T 2, G 2, K 4], f32>) {
  // expected-error @+1 {{q needs dimensions X and H, k needs T and G}}
  %0:2 = nn.attention %q, %k, %k <query = "X", key = "T", heads = "H", groups = "G", scale = 1.0, mask = <causal>> : (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[T 2, G 2, K 4], f32>, !nn.tensor<[T 2, G 2, K 4], f32>) -> (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2], f32>)
  return
}

// -----

// nn.attention (C2)
func.func @values(%q: !nn.tensor<[S 2, H 2, K 4], f32>, %k: !nn.tensor<[T 2, G 2, K 4], f32>, %v: !nn.tensor<[T 2, G 2, K 5], f32>) {
  // expected-error @+1 {{q, k and v must agree, found '!nn.tensor<[S 2, H 2, K 4], f32>', '!nn.tensor<[T 2, G 2, K 4], f32>', '!nn.tensor<[T 2, G 2, K 5], f32>'}}
  %0:2 = nn.attention %q, %k, %v <query = "S", key = "T", heads = "H", groups = "G", scale = 1.0, mask = <causal>> : (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[T 2, G 2, K 4], f32>, !nn.tensor<[T 2, G 2, K 5], f32>) -> (!nn.tensor<[S 2, H 2, K 4], f32>, !nn.tensor<[S 2, H 2], f32>)
  return
}

// -----

// nn.attention (C2)
!q = !nn.tensor<[S 2, H 2, K 4], f32>
!k = !nn.tensor<[T 2, G 2, K 5], f32>
func.func @width(%q: !q, %k: !k) {
  // expected-error @+1 {{q, k and v must agree, found '!nn.tensor<[S 2, H 2, K 4], f32>', '!nn.tensor<[T 2, G 2, K 5]}}
  %0:2 = nn.attention %q, %k, %k <query = "S", key = "T", heads = "H", groups = "G", scale = 1.0, mask = <causal>>
      : (!q, !k, !k) -> (!q, !nn.tensor<[S 2, H 2], f32>)
  return
}

// -----

// nn.run (C3)
nn.chain @hands {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2], f32>
  // expected-error @+1 {{hands on what its next layer takes: types carried in and out must agree}}
  %y = nn.run [@a] x 2 layer 0 carried(%x) invariant() params [{}] : (!nn.tensor<[B 2], f32>) -> !nn.tensor<[B 2], f64>
}

// -----

// nn.run (C4)
nn.chain @sends {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2], f32>
  // expected-error @+1 {{says of each result how it is sent, found 2 for 1}}
  %y = nn.run [@a] x 1 layer 0 carried(%x) invariant() params [{}] {messages = [@m, unit]} : (!nn.tensor<[B 2], f32>) -> !nn.tensor<[B 2], f32>
}

// -----

// nn.layer (C3)
// expected-error @+1 {{a forward takes no cotangent, found argument 0}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "cot_invariant", nn.name = "i0", nn.position = 0 : i64}) attributes {layer = @layer, part = #nn.part<forward>} {
  nn.return
}

// -----

// nn.layer (C4)
// expected-error @+1 {{needs the layer of which it is a part, `layer = @...`: norm}}
nn.layer @f.N() attributes {part = #nn.part<norm>} {
  nn.return
}

// -----

// nn.layer (C4)
// expected-error @+1 {{needs the part that it is of its layer, `part = #nn.part<...>`: @f}}
nn.layer @f.N() attributes {layer = @f} {
  nn.return
}

// -----

// nn.layer (C5)
// expected-note @+1 {{the first is f.N, here}}
nn.layer @f.N() attributes {layer = @f, part = #nn.part<norm>} {
  nn.return
}
nn.layer @g.N() attributes {layer = @g, part = #nn.part<norm>} {
  nn.return
}
// expected-error @+1 {{is a second part norm of layer @f}}
nn.layer @f.again() attributes {layer = @f, part = #nn.part<norm>} {
  nn.return
}

// -----

// nn.layer (C6)
// expected-error @+1 {{argument 0 needs a whole number as its position, found -1 : i64}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "carried", nn.name = "c0", nn.position = -1 : i64}) {
  nn.return
}

// -----

// nn.layer (C6)
// expected-error @+1 {{argument 0 has a position, which carried and invariant values and their cotangents have; found role param}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "param", nn.name = "w", nn.position = 0 : i64}) {
  nn.return
}

// -----

// nn.layer (C6)
// expected-error @+1 {{argument 2 has the position of another one of role carried: 0}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "carried", nn.name = "x", nn.position = 0 : i64},
            %i: !nn.tensor<[D 3], f32> {nn.role = "invariant", nn.name = "x", nn.position = 0 : i64},
            %y: !nn.tensor<[D 3], f32> {nn.role = "carried", nn.name = "y", nn.position = 0 : i64}) {
  nn.return
}

// -----

// nn.layer (C7)
// expected-error @+1 {{argument 0 has a slot, which states of an optimizer have: #nn.slot<"m" of "w">}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "param", nn.name = "w", nn.slot = #nn.slot<"m" of "w">}) {
  nn.return
}

// -----

// nn.layer (C7)
// expected-error @+1 {{result 0 is a state that has another slot as an argument: "w.m"}}
nn.layer @f(%x: !nn.tensor<[D 3], f32> {nn.role = "state", nn.name = "w.m", nn.slot = #nn.slot<"m" of "w">})
    -> (!nn.tensor<[D 3], f32> {nn.role = "state", nn.name = "w.m"}) {
  nn.return %x : !nn.tensor<[D 3], f32>
}

// -----

// nn.layer (C8)
// expected-error @+1 {{argument 0 counts something, which scalars, losses and metrics do, by its name: "main"}}
nn.layer @f(%x: !nn.tensor<[], f64> {nn.role = "param", nn.name = "w", nn.counts = "main"}) {
  nn.return
}

// -----

// nn.layer (C8)
// expected-error @+1 {{argument 0 is a member's number, which scalars are, in a group of axes: []}}
nn.layer @f(%x: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "member", nn.member = []}) {
  nn.return
}

// -----

// nn.layer (C8)
// expected-error @+1 {{argument 0 is a member's number, which scalars are, in a group of axes: ["dp"]}}
nn.layer @f(%x: !nn.tensor<[], i32> {nn.role = "loss", nn.name = "member", nn.member = ["dp"]}) {
  nn.return
}

// -----

// expected-error @+1 {{unknown kind of parameter: lineal}}
nn.param @w : !nn.tensor<[D 3], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "lineal"

// -----

// nn.param (C2)
// expected-error @+1 {{needs the weight of which it is a copy, `copy_of @...`: kind copy}}
nn.param @w.bf16 : !nn.tensor<[D 3], bf16> x 1 path "w.bf16" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "copy"

// -----

// nn.param (C2)
// expected-error @+1 {{says of which weight it is a copy, but is of kind linear}}
nn.param @w.bf16 : !nn.tensor<[D 3], bf16> x 1 path "w.bf16" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear" copy_of @w

// -----

// nn.pack (C1)
func.func @f(%x: !nn.tensor<[D 4], i32>) {
  // expected-error @+1 {{makes i32 of i64, found '!nn.tensor<[D 4], i32>' of '!nn.tensor<[D 4], i32>'}}
  %0 = nn.pack %x : <[D 4], i32> -> <[D 4], i32>
  return
}

// -----

// nn.unpack (C1)
func.func @f(%x: !nn.tensor<[D 4], i32>) {
  // expected-error @+1 {{makes i64 of i32, found '!nn.tensor<[D 3], i64>' of '!nn.tensor<[D 4], i32>'}}
  %0 = nn.unpack %x : <[D 4], i32> -> <[D 3], i64>
  return
}

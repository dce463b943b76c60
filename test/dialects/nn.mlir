// RUN: tplan-opt %s | tplan-opt | FileCheck %s
// RUN: tplan-opt --mlir-print-op-generic %s | tplan-opt | FileCheck %s
// What attention computes is one attribute. The mask that hides nothing is not printed, nor is the type of a number.
!q = !nn.tensor<[S 8, H 2, K 4], f32>
!l = !nn.tensor<[H 2, S 8], f32>
// CHECK-LABEL: func.func @attention(
// CHECK:         nn.attention %arg0, %arg0, %arg0 <query = "S", key = "S", heads = "H", groups = "H", scale = 5.000000e-01> :
// CHECK:         nn.attention_grad %arg0, {{.*}} <query = "S", key = "S", heads = "H", groups = "H", scale = 0.17677669529663687, mask = <and(causal, window(4))>> :
func.func @attention(%q: !q) {
  %0:2 = nn.attention %q, %q, %q <mask = <all>, query = "S", key = "S", heads = "H", groups = "H", scale = 0.5> : (!q, !q, !q) -> (!q, !l)
  %1:3 = nn.attention_grad %q, %q, %q, %0#0, %0#1, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.17677669529663687, mask = <and(causal, window(4))>> : (!q, !q, !q, !q, !l, !q) -> (!q, !q, !q)
  return
}
// Starts stand before the sizes of their pieces.
!i = !nn.tensor<[], i32>
// CHECK-LABEL: func.func @starts(
// CHECK:         nn.index from %arg1, %arg1 pieces [2, 6] : <[S 8], i32>
// CHECK:         nn.dropout_mask {{.*}} rate 5.000000e-01 of [16] from %arg1, %arg1 pieces [array<i64: 2, 6>] :
// CHECK:         nn.attention %arg0, %arg0, %arg0 queries from %arg1, %arg1 pieces [2, 6] keys from %arg1 pieces [8] <query = "S"
// CHECK:         nn.attention_grad %arg0, {{.*}}, %arg0 keys from %arg1 pieces [8] <query = "S"
func.func @starts(%q: !q, %i: !i) {
  %0 = nn.index from %i, %i pieces [2, 6] : <[S 8], i32>
  %1 = nn.dropout_mask %i, %i, %i, %i site 0 rate 0.5 of [16] from %i, %i pieces [array<i64: 2, 6>] : (!i, !i, !i, !i, !i, !i) -> !nn.tensor<[S 8], f32>
  %2:2 = nn.attention %q, %q, %q queries from %i, %i pieces [2, 6] keys from %i pieces [8] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5> : (!q, !q, !q, !i, !i, !i) -> (!q, !l)
  %3:3 = nn.attention_grad %q, %q, %q, %2#0, %2#1, %q keys from %i pieces [8] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5> : (!q, !q, !q, !q, !l, !q, !i) -> (!q, !q, !q)
  return
}
// What is recorded of a rank's part of a batch, and of a weight before the first step.
// CHECK-LABEL: func.func @records(
// CHECK-NEXT:    nn.audit %arg0 "w x D amax" layer %arg1 step %arg1 offset %arg1 along "S" of [16, 2, 4] axes {{\[}}["dp"], [], []] : <[S 8, H 2, K 4], f32>
// CHECK-NEXT:    nn.audit %arg0 "w.scale" layer %arg1 : <[S 8, H 2, K 4], f32>
func.func @records(%q: !q, %i: !i) {
  %0 = nn.audit %q "w x D amax" layer %i step %i offset %i along "S" of [16, 2, 4] axes [["dp"], [], []] : <[S 8, H 2, K 4], f32>
  %1 = nn.audit %q "w.scale" layer %i : <[S 8, H 2, K 4], f32>
  return
}

// The primitives. An operand that lacks a dimension is repeated along it.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4], f32>
!c = !nn.tensor<[B 2, D 4], i1>
// CHECK-LABEL: func.func @element_wise(
// CHECK-NEXT:    nn.constant 5.000000e-01 : <[], f32>
// CHECK-NEXT:    nn.neg
// CHECK-NEXT:    nn.exp
// CHECK-NEXT:    nn.log
// CHECK-NEXT:    nn.tanh
// CHECK-NEXT:    nn.erf
// CHECK-NEXT:    nn.sin
// CHECK-NEXT:    nn.cos
// CHECK-NEXT:    nn.rsqrt
// CHECK-NEXT:    nn.sqrt
// CHECK-NEXT:    nn.add %arg0, %arg1 : (<[B 2, D 4], f32>, <[D 4], f32>) -> <[B 2, D 4], f32>
// CHECK-NEXT:    nn.sub
// CHECK-NEXT:    nn.mul
// CHECK-NEXT:    nn.div
// CHECK-NEXT:    nn.max
// CHECK-NEXT:    nn.min
// CHECK-NEXT:    nn.cmp lt %arg0, %arg1
// CHECK-NEXT:    nn.select
// CHECK-NEXT:    nn.cast %arg0 : <[B 2, D 4], f32> -> <[B 2, D 4], bf16>
// CHECK-NEXT:    nn.round %arg0 as bf16
// CHECK-NEXT:    nn.broadcast %arg1 : <[D 4], f32> -> <[B 2, D 4], f32>
// CHECK-NEXT:    nn.constant
// CHECK-NEXT:    nn.pack %{{.+}} : <[D 4], i64> -> <[D 4], i32>
// CHECK-NEXT:    nn.unpack %{{.+}} : <[D 4], i32> -> <[D 4], i64>
func.func @element_wise(%x: !x, %w: !w) {
  %half = nn.constant 0.5 : <[], f32>
  %neg = nn.neg %x : !x
  %exp = nn.exp %x : !x
  %log = nn.log %x : !x
  %tanh = nn.tanh %x : !x
  %erf = nn.erf %x : !x
  %sin = nn.sin %x : !x
  %cos = nn.cos %x : !x
  %rsqrt = nn.rsqrt %x : !x
  %sqrt = nn.sqrt %x : !x
  %add = nn.add %x, %w : (!x, !w) -> !x
  %sub = nn.sub %x, %w : (!x, !w) -> !x
  %mul = nn.mul %x, %w : (!x, !w) -> !x
  %div = nn.div %x, %w : (!x, !w) -> !x
  %max = nn.max %x, %w : (!x, !w) -> !x
  %min = nn.min %x, %w : (!x, !w) -> !x
  %less = nn.cmp lt %x, %w : (!x, !w) -> !c
  %chosen = nn.select %less, %x, %w : (!c, !x, !w) -> !x
  %narrow = nn.cast %x : <[B 2, D 4], f32> -> <[B 2, D 4], bf16>
  %rounded = nn.round %x as bf16 : !x
  %repeated = nn.broadcast %w : <[D 4], f32> -> <[B 2, D 4], f32>
  %bytes = nn.constant 7.0 : <[D 4], i64>
  %halves = nn.pack %bytes : <[D 4], i64> -> <[D 4], i32>
  %again = nn.unpack %halves : <[D 4], i32> -> <[D 4], i64>
  return
}
// CHECK-LABEL: func.func @structured(
// CHECK-NEXT:    nn.scalar "lr" : <[], f64>
// CHECK-NEXT:    nn.reduce sum %arg0 : <[B 2, D 4], f32> -> <[B 2], f32>
// CHECK-NEXT:    nn.reduce max %arg0 detached
// CHECK-NEXT:    nn.contract %arg0, %arg1 : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
// CHECK-NEXT:    nn.rope %arg0, %arg2, %arg2 over "D"
// CHECK-NEXT:    nn.rope %{{.*}} inverse
// CHECK-NEXT:    nn.lookup %arg1["F" = %arg3] : (<[F 8, D 4], f32>, <[B 2], i32>) -> <[B 2, D 4], f32>
// CHECK-NEXT:    nn.lookup_grad %arg0["F" = %arg3] : (<[B 2, D 4], f32>, <[B 2], i32>) -> <[F 8, D 4], f32>
func.func @structured(%x: !x, %w: !nn.tensor<[F 8, D 4], f32>, %table: !nn.tensor<[half.D 2], f32>, %ids: !nn.tensor<[B 2], i32>) {
  %lr = nn.scalar "lr" : <[], f64>
  %sum = nn.reduce sum %x : <[B 2, D 4], f32> -> <[B 2], f32>
  %most = nn.reduce max %x detached : <[B 2, D 4], f32> -> <[B 2], f32>
  %y = nn.contract %x, %w : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
  %turned = nn.rope %x, %table, %table over "D" : !x, !nn.tensor<[half.D 2], f32>, !nn.tensor<[half.D 2], f32>
  %back = nn.rope %turned, %table, %table over "D" inverse : !x, !nn.tensor<[half.D 2], f32>, !nn.tensor<[half.D 2], f32>
  %rows = nn.lookup %w["F" = %ids] : (<[F 8, D 4], f32>, <[B 2], i32>) -> <[B 2, D 4], f32>
  %dw = nn.lookup_grad %x["F" = %ids] : (<[B 2, D 4], f32>, <[B 2], i32>) -> <[F 8, D 4], f32>
  return
}
// Operands in f8: blocks of 4 of x along D have one scale, and blocks of 4 by 4 of w.
// CHECK-LABEL: func.func @scaled(
// CHECK-NEXT:    nn.floor_pow2 %arg2
// CHECK-NEXT:    nn.split %arg0 "D" by 4 : <[B 2, D 8], f8E4M3FN> -> <[B 2, D 2, in.D 4], f8E4M3FN>
// CHECK:         nn.contract %{{.+}}, %{{.+}} scaled %arg2, %arg3 folded : (<[B 2, D 2, in.D 4], f8E4M3FN>, <[F 1, in.F 4, D 2, in.D 4], f8E5M2>, !nn.tensor<[B 2, D 2], f32>, !nn.tensor<[F 1, D 2], f32>) -> <[B 2, F 1, in.F 4], f32>
// CHECK-NEXT:    nn.merge %{{.+}} "F" : <[B 2, F 1, in.F 4], f32> -> <[B 2, F 4], f32>
func.func @scaled(%x: !nn.tensor<[B 2, D 8], f8E4M3FN>, %w: !nn.tensor<[F 4, D 8], f8E5M2>, %of_x: !nn.tensor<[B 2, D 2], f32>,
                  %of_w: !nn.tensor<[F 1, D 2], f32>) {
  %power = nn.floor_pow2 %of_x : <[B 2, D 2], f32>
  %0 = nn.split %x "D" by 4 : <[B 2, D 8], f8E4M3FN> -> <[B 2, D 2, in.D 4], f8E4M3FN>
  %1 = nn.split %w "D" by 4 : <[F 4, D 8], f8E5M2> -> <[F 4, D 2, in.D 4], f8E5M2>
  %2 = nn.split %1 "F" by 4 : <[F 4, D 2, in.D 4], f8E5M2> -> <[F 1, in.F 4, D 2, in.D 4], f8E5M2>
  %y = nn.contract %0, %2 scaled %of_x, %of_w folded : (<[B 2, D 2, in.D 4], f8E4M3FN>, <[F 1, in.F 4, D 2, in.D 4], f8E5M2>, !nn.tensor<[B 2, D 2], f32>, !nn.tensor<[F 1, D 2], f32>) -> <[B 2, F 1, in.F 4], f32>
  %z = nn.merge %y "F" : <[B 2, F 1, in.F 4], f32> -> <[B 2, F 4], f32>
  return
}
// A model: a list of three layers, each with a gain of its own.
// CHECK:       nn.param @l.gain : !nn.tensor<[D 4], f32> x 3 path "l.{i}.gain" first 0 step 1 id 0 by 1 <"constant", 1.000000e+00 : f64> "norm"
// CHECK:       nn.chain @train losses {main = 1.000000e+00 : f64} {
// CHECK-NEXT:    nn.input "x" shift 0 vocabulary 0
// CHECK-NEXT:    nn.run [@layer] x 3 layer 0 carried(%0) invariant() params [{gain = @l.gain}]
// CHECK:       nn.layer @layer(
// CHECK:         nn.return
nn.param @l.gain : !w x 3 path "l.{i}.gain" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : !x
  %y = nn.run [@layer] x 3 layer 0 carried(%x) invariant() params [{gain = @l.gain}] : (!x) -> !x
}
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "gain"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.mul %x, %w : (!x, !w) -> !x
  nn.return %0 : !x
}

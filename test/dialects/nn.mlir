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

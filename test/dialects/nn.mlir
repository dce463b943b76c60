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

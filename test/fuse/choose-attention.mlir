// RUN: tplan-opt --choose-attention --form-kernels %s | FileCheck %s
// EXAMPLE
// On a GPU the library computes attention in bf16, forward and backward; the width 12, and f32,
// stay kernels, whose launches say why. Nothing makes row sums for the library: it takes out.
// CHECK-LABEL: rt.func @f
// CHECK:         %[[O:.+]]:2 = rt.attention forward %arg0, %arg1, %arg1 <query = "S", key = "T", heads = "H", groups = "G", scale = 2.500000e-01, mask = <and(causal, window(4))>>
// CHECK-NEXT:    rt.attention backward %arg0, %arg1, %arg1, %[[O]]#0, %arg0, %[[O]]#1 <query = "S", key = "T", heads = "H", groups = "G"
// CHECK-LABEL: rt.func @twelve
// CHECK:         rt.launch @twelve.attention0({{.*}} {fuse.generated_for = "heads of 12 elements"}
// CHECK-LABEL: rt.func @real
// CHECK:         rt.launch @real.attention0({{.*}} {fuse.generated_for = "elements of f32"}
!q = !nn.tensor<[B 2, S 8, H 4, K 16], bf16>
!k = !nn.tensor<[B 2, T 8, G 2, K 16], bf16>
!l = !nn.tensor<[B 2, H 4, S 8], f32>
!w = !nn.tensor<[B 2, S 8, H 4, K 12], bf16>
!r = !nn.tensor<[B 2, S 8, H 4, K 16], f32>
module attributes {tplan.target = #tplan.target<{arch = "sm_90"}>} {
  nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}, %k: !k {nn.role = "carried", nn.name = "k"}) -> (!q {nn.role = "carried", nn.name = "d"}) {
    %0:2 = nn.attention %q, %k, %k <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <and(causal, window(4))>> : (!q, !k, !k) -> (!q, !l)
    %1:3 = nn.attention_grad %q, %k, %k, %0#0, %0#1, %q <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <and(causal, window(4))>> : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
    nn.return %1#0 : !q
  }
  nn.layer @twelve(%q: !w {nn.role = "carried", nn.name = "q"}) -> (!w {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!w, !w, !w) -> (!w, !l)
    nn.return %0#0 : !w
  }
  nn.layer @real(%q: !r {nn.role = "carried", nn.name = "q"}) -> (!r {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!r, !r, !r) -> (!r, !l)
    nn.return %0#0 : !r
  }
}
// END

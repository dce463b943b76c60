// RUN: tplan-opt --choose-attention --split-input-file %s | FileCheck %s
// What the library does not take, and what the target or the command line leaves to kernels.
!q = !nn.tensor<[B 2, S 8, H 4, K 256], bf16>
!l = !nn.tensor<[B 2, H 4, S 8], f32>
// CHECK: nn.attention {{.*}} {fuse.generated_for = "heads of 256 elements"}
module attributes {tplan.target = #tplan.target<{arch = "sm_80", attention_forward = 128 : i64, attention_backward = 128 : i64}>} {
  nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
    nn.return %0#0 : !q
  }
}

// -----
!q = !nn.tensor<[B 2, S 8, H 4, K 256], bf16>
!l = !nn.tensor<[B 2, H 4, S 8], f32>
// CHECK: nn.attention {{.*}} {fuse.library}
// CHECK: nn.attention {{.*}} {fuse.generated_for = "the mask #nn.mask<prefix(3)>"}
// CHECK: nn.attention {{.*}} {fuse.generated_for = "the mask #nn.mask<or(causal, prefix(3))>"}
// CHECK: nn.attention_grad {{.*}} {fuse.generated_for = "a cotangent of the row sums"}
module attributes {tplan.target = #tplan.target<{arch = "sm_90"}>} {
  nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}, %l: !l {nn.role = "carried", nn.name = "l"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
    %1:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <prefix(3)>> : (!q, !q, !q) -> (!q, !l)
    %2:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <or(causal, prefix(3))>> : (!q, !q, !q) -> (!q, !l)
    %3:3 = nn.attention_grad %q, %q, %q, %q, %l, %q, %l <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q, !q, !l, !q, !l) -> (!q, !q, !q)
    nn.return %0#0 : !q
  }
}

// -----
!q = !nn.tensor<[B 2, S 8, H 4, K 64], bf16>
!l = !nn.tensor<[B 2, H 4, S 8], f32>
!i = !nn.tensor<[], i32>
// CHECK: nn.attention {{.*}} {fuse.generated_for = "positions that a step computes"}
// CHECK: nn.attention_grad {{.*}} {fuse.generated_for = "positions that a step computes"}
module attributes {tplan.target = #tplan.target<{arch = "sm_90"}>} {
  nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}, %i: !i {nn.role = "scalar", nn.name = "i"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %q, %q queries from %i pieces [8] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q, !i) -> (!q, !l)
    %1:3 = nn.attention_grad %q, %q, %q, %0#0, %0#1, %q keys from %i pieces [8] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q, !q, !l, !q, !i) -> (!q, !q, !q)
    nn.return %1#0 : !q
  }
}

// -----
!q = !nn.tensor<[B 2, S 65536, H 8, K 64], bf16>
!k = !nn.tensor<[B 2, S 65536, G 1, K 64], bf16>
!l = !nn.tensor<[B 2, H 8, S 65536], f32>
// One key head's gradients of scores are 64 GiB.
// CHECK: nn.attention {{.*}} {fuse.library}
// CHECK: nn.attention_grad {{.*}} {fuse.generated_for = "a workspace of {{[0-9]+}} bytes"}
module attributes {tplan.target = #tplan.target<{arch = "sm_90"}>} {
  nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}, %k: !k {nn.role = "carried", nn.name = "k"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %k, %k <query = "S", key = "S", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!q, !k, !k) -> (!q, !l)
    %1:3 = nn.attention_grad %q, %k, %k, %0#0, %0#1, %q <query = "S", key = "S", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
    nn.return %1#0 : !q
  }
}

// -----
!q = !nn.tensor<[B 2, S 8, H 4, K 64], bf16>
!l = !nn.tensor<[B 2, H 4, S 8], f32>
// CHECK: nn.attention {{.*}} {fuse.generated_for = "--attention=generated"}
module attributes {tplan.target = #tplan.target<{arch = "sm_90", attention = "generated"}>} {
  nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
    %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
    nn.return %0#0 : !q
  }
}

// -----
!q = !nn.tensor<[B 2, S 8, H 4, K 64], bf16>
!l = !nn.tensor<[B 2, H 4, S 8], f32>
// On a CPU nothing is chosen.
// CHECK: nn.attention
// CHECK-NOT: fuse.
nn.layer @f(%q: !q {nn.role = "carried", nn.name = "q"}) -> (!q {nn.role = "carried", nn.name = "o"}) {
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.25, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
  nn.return %0#0 : !q
}

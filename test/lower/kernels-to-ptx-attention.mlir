// Attention as PTX, with the CUDA toolkit hidden: 16 bytes an access of global memory except for
// lse, delta and the bf16 that a thread writes; no local memory, no f64, no function of anybody
// else.
//
// RUN: env -u PATH -u CUDA_HOME %bin/tplan-translate --kernels-to-ptx=sm_90 %s -o %t
// RUN: FileCheck %s --input-file=%t --implicit-check-not=.local --implicit-check-not=.f64 \
// RUN:   --implicit-check-not=call --implicit-check-not=.extern --implicit-check-not=.func
// RUN: FileCheck %s --input-file=%t --check-prefix=MEMORY --implicit-check-not=ld.global \
// RUN:   --implicit-check-not=st.global
//
// CHECK: .version 7.8
// CHECK: .target sm_90

// Scores: 32 multiply-adds for three loads. Probabilities times V: 128 for twelve.
// CHECK-LABEL: .entry forward(
// CHECK: .maxntid 128, 1, 1
// CHECK-NEXT: .maxnreg 255
// CHECK: bar.sync
// CHECK: bar.sync
// CHECK-COUNT-3: ld.shared.v4.b32
// CHECK-NOT: ld.shared
// CHECK-COUNT-32: fma.rn.f32
// CHECK: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// CHECK: bar.sync
// CHECK-COUNT-8: st.shared.v4.b32
// CHECK: bar.sync
// CHECK-COUNT-12: ld.shared.v4.b32
// CHECK-NOT: ld.shared
// CHECK: div.rn.f32
// MEMORY-LABEL: .entry forward(
// MEMORY-COUNT-16: ld.global.v4.b32
// MEMORY-COUNT-8: st.global.b32
// MEMORY-COUNT-8: st.global.v4.b32
rt.tile @forward forward : (!nn.tensor<[S 256, H 4, K 64], f32>, !nn.tensor<[S 256, G 2, K 64], f32>, !nn.tensor<[S 256, G 2, K 64], f32>) -> (!nn.tensor<[S 256, H 4, K 64], f32>, !nn.tensor<[S 256, H 4], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

// Blocks that own keys: q and k, lse by column, d_out, then d_out and v, delta, q. Those that
// own queries: q and k, lse in a loop over rows, d_out and v, delta by row, k.
// CHECK-LABEL: .entry backward(
// MEMORY-LABEL: .entry backward(
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY-COUNT-4: ld.global.b32
// MEMORY-COUNT-16: ld.global.v4.b32
// MEMORY-COUNT-4: ld.global.b32
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY-COUNT-16: st.global.v4.b32
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY: ld.global.b32
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY-COUNT-8: ld.global.b32
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY-COUNT-8: st.global.v4.b32
rt.tile @backward backward : (!nn.tensor<[S 256, H 4, K 64], f32>, !nn.tensor<[S 256, G 2, K 64], f32>, !nn.tensor<[S 256, G 2, K 64], f32>, !nn.tensor<[S 256, H 4, K 64], f32>, !nn.tensor<[S 256, H 4], f32>, !nn.tensor<[S 256, H 4], f32>) -> (!nn.tensor<[S 256, H 4, K 64], f32>, !nn.tensor<[S 256, G 2, K 64], f32>, !nn.tensor<[S 256, G 2, K 64], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

// CHECK-LABEL: .entry forward_bf16(
// MEMORY-LABEL: .entry forward_bf16(
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY-COUNT-8: st.global.b32
// MEMORY-COUNT-8: st.global.v2.b32
rt.tile @forward_bf16 forward : (!nn.tensor<[S 256, H 4, K 64], bf16>, !nn.tensor<[S 256, G 2, K 64], bf16>, !nn.tensor<[S 256, G 2, K 64], bf16>) -> (!nn.tensor<[S 256, H 4, K 64], bf16>, !nn.tensor<[S 256, H 4], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

// CHECK-LABEL: .entry backward_bf16(
// MEMORY-LABEL: .entry backward_bf16(
// MEMORY-COUNT-4: ld.global.v4.b32
// MEMORY-COUNT-4: ld.global.b32
// MEMORY-COUNT-8: ld.global.v4.b32
// MEMORY-COUNT-4: ld.global.b32
// MEMORY-COUNT-4: ld.global.v4.b32
// MEMORY-COUNT-16: st.global.v2.b32
// MEMORY-COUNT-4: ld.global.v4.b32
// MEMORY: ld.global.b32
// MEMORY-COUNT-4: ld.global.v4.b32
// MEMORY-COUNT-8: ld.global.b32
// MEMORY-COUNT-4: ld.global.v4.b32
// MEMORY-COUNT-8: st.global.v2.b32
rt.tile @backward_bf16 backward : (!nn.tensor<[S 256, H 4, K 64], bf16>, !nn.tensor<[S 256, G 2, K 64], bf16>, !nn.tensor<[S 256, G 2, K 64], bf16>, !nn.tensor<[S 256, H 4, K 64], bf16>, !nn.tensor<[S 256, H 4], f32>, !nn.tensor<[S 256, H 4], f32>) -> (!nn.tensor<[S 256, H 4, K 64], bf16>, !nn.tensor<[S 256, G 2, K 64], bf16>, !nn.tensor<[S 256, G 2, K 64], bf16>, !nn.tensor<[S 256, H 4, K 64], f32>) <query = "S", key = "S", heads = "H", groups = "G", scale = 0.125, mask = <causal>>

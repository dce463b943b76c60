// RUN: tplan-opt %s -split-input-file -verify-diagnostics -lower-attention-gpu

// expected-error @below {{has heads of at most 384 elements in 'f32' on a GPU, found 385}}
rt.tile @bf16 forward : (!nn.tensor<[S 8, H 1, K 385], bf16>, !nn.tensor<[S 8, H 1, K 385], bf16>, !nn.tensor<[S 8, H 1, K 385], bf16>) -> (!nn.tensor<[S 8, H 1, K 385], bf16>, !nn.tensor<[S 8, H 1], f32>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125>

// -----

// expected-error @below {{has heads of at most 192 elements in 'f64' on a GPU, found 200}}
rt.tile @f64 forward : (!nn.tensor<[S 8, H 1, K 200], f64>, !nn.tensor<[S 8, H 1, K 200], f64>, !nn.tensor<[S 8, H 1, K 200], f64>) -> (!nn.tensor<[S 8, H 1, K 200], f64>, !nn.tensor<[S 8, H 1], f64>) <query = "S", key = "S", heads = "H", groups = "H", scale = 0.125>

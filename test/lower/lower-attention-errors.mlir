// RUN: tplan-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{operands must be nn tensors, found 'f32'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, f32) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{needs 3 inputs, found 2}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{needs 2 outputs, found 1}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{needs 6 inputs, found 3}}
rt.tile @t backward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{needs 4 outputs, found 3}}
rt.tile @t backward : (!nn.tensor<[S 8, H 4, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>, !nn.tensor<[S 8, H 4, K 16], bf16>, !nn.tensor<[S 8, H 4], f32>, !nn.tensor<[S 8, H 4], f32>) -> (!nn.tensor<[S 8, H 4, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>, !nn.tensor<[T 8, G 2, K 16], bf16>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{elements must be f64, f32 or bf16, found 'f16'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f16>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{needs S, H and the width, innermost, in '!nn.tensor<[S 8, K 16, H 4], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, K 16, H 4], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{needs T, G and the width, innermost, in '!nn.tensor<[R 8, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[R 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{q and k must have one width, found '!nn.tensor<[S 8, H 4, K 16], f32>' and '!nn.tensor<[T 8, G 2, K 8], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 8], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{q and k must have the same other dimensions, found '!nn.tensor<[B 2, S 8, H 4, K 16], f32>' and '!nn.tensor<[T 8, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[B 2, S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{v must have the dimensions '!nn.tensor<[T 8, G 2, K 16], f32>', found '!nn.tensor<[T 9, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 9, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{lse must have the dimensions '!nn.tensor<[S 8, H 4], f32>', found '!nn.tensor<[S 8, H 4], f64>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f64>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{heads must be a multiple of key heads, found 4 and 3}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 3, K 16], f32>, !nn.tensor<[T 8, G 3, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----

// expected-error @below {{positions of S must continue at 4, found #nn.segment<5, 3, 0, 1>}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal> {q_positions = [#nn.segment<0, 4, 0, 1>, #nn.segment<5, 3, 0, 1>]}

// -----

// expected-error @below {{positions must cover the 8 elements of T, found 4}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>, !nn.tensor<[T 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal> {k_positions = [#nn.segment<0, 4, 0, 1>]}

// -----

// expected-error @below {{sizes must be fixed and at least 1, found '!nn.tensor<[T max 8, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T max 8, G 2, K 16], f32>, !nn.tensor<[T max 8, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// -----
// expected-error @below {{sizes must be fixed and at least 1, found '!nn.tensor<[T 0, G 2, K 16], f32>'}}
rt.tile @t forward : (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[T 0, G 2, K 16], f32>, !nn.tensor<[T 0, G 2, K 16], f32>) -> (!nn.tensor<[S 8, H 4, K 16], f32>, !nn.tensor<[S 8, H 4], f32>) over "S", "T" heads "H", "G" scale 0.25 mask <causal>

// RUN: tplan-opt --verify-diagnostics --split-input-file %s

// rt.attention (C1)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}) {
  // expected-error @below {{needs 3 operands, found 2}}
  %0:2 = rt.attention forward %a0, %a1 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C1)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, H 4, S 8], f32> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{needs 3 results, found 2}}
  %0:2 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], f32> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], f32> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], f32> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes elements of f32}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], f32>, !nn.tensor<[B 2, T 8, G 2, K 16], f32>, !nn.tensor<[B 2, T 8, G 2, K 16], f32>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], f32>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 20], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 20], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 20], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes heads of 20 elements}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 20], bf16>, !nn.tensor<[B 2, T 8, G 2, K 20], bf16>, !nn.tensor<[B 2, T 8, G 2, K 20], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 20], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes the mask #nn.mask<prefix(4)>}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <prefix(4)>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 3, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 3, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes 4 heads for 3}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 3, K 16], bf16>, !nn.tensor<[B 2, T 8, G 3, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 4, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 4, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes a window with fewer keys than queries: 4}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <and(causal, window(2))>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 4, G 2, K 16], bf16>, !nn.tensor<[B 2, T 4, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 1, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 1, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 1, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes one query and one key}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 1, H 4, K 16], bf16>, !nn.tensor<[B 2, T 1, G 2, K 16], bf16>, !nn.tensor<[B 2, T 1, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 1, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 1], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, C 3, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, C 3, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, C 3, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes batches in several pieces}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, C 3, H 4, K 16], bf16>, !nn.tensor<[B 2, C 3, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, C 3, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, C 3, H 4, K 16], bf16>, !nn.tensor<[B 2, C 3, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C2)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{no library takes a tensor without queries, keys or heads}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "E", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{v must be '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>', found '!nn.tensor<[B 2, S 8, H 4, K 16], bf16>'}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{lse must be '!nn.tensor<[B 2, H 4, S 8], f32>', found '!nn.tensor<[B 2, S 8, H 4], f32>'}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4], f32>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}) {
  // expected-error @below {{out must be '!nn.tensor<[B 2, S 8, H 4, K 16], bf16>', found '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>'}}
  %0:2 = rt.attention forward %a0, %a1, %a2 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, H 4, S 8], f32> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{out must be '!nn.tensor<[B 2, S 8, H 4, K 16], bf16>', found '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>'}}
  %0:3 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, H 4, S 8], f32> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{d_out must be '!nn.tensor<[B 2, S 8, H 4, K 16], bf16>', found '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>'}}
  %0:3 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{lse must be '!nn.tensor<[B 2, H 4, S 8], f32>', found '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>'}}
  %0:3 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, H 4, S 8], f32> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{d_q must be '!nn.tensor<[B 2, S 8, H 4, K 16], bf16>', found '!nn.tensor<[B 2, H 4, S 8], f32>'}}
  %0:3 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>) -> (!nn.tensor<[B 2, H 4, S 8], f32>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, H 4, S 8], f32> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{d_k must be '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>', found '!nn.tensor<[B 2, H 4, S 8], f32>'}}
  %0:3 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>)
  rt.return
}

// -----

// rt.attention (C3)
rt.func @f(%a0: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a0"}, %a1: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a1"}, %a2: !nn.tensor<[B 2, T 8, G 2, K 16], bf16> {nn.role = "carried", nn.name = "a2"}, %a3: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a3"}, %a4: !nn.tensor<[B 2, S 8, H 4, K 16], bf16> {nn.role = "carried", nn.name = "a4"}, %a5: !nn.tensor<[B 2, H 4, S 8], f32> {nn.role = "carried", nn.name = "a5"}) {
  // expected-error @below {{d_v must be '!nn.tensor<[B 2, T 8, G 2, K 16], bf16>', found '!nn.tensor<[B 2, H 4, S 8], f32>'}}
  %0:3 = rt.attention backward %a0, %a1, %a2, %a3, %a4, %a5 <query = "S", key = "T", heads = "H", groups = "G", scale = 0.25, mask = <causal>> : (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>) -> (!nn.tensor<[B 2, S 8, H 4, K 16], bf16>, !nn.tensor<[B 2, T 8, G 2, K 16], bf16>, !nn.tensor<[B 2, H 4, S 8], f32>)
  rt.return
}

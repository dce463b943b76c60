// RUN: tplan-opt --split-microbatches -verify-diagnostics -split-input-file %s
// expected-error @+1 {{microbatch must divide the batch of 8, found 3}}
tplan.plan @p {microbatch = 3 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "tokens" shift 0 vocabulary 9 : <[B 8, S 8], i32>
}

// -----

!x = !nn.tensor<[B 8], f32>
tplan.plan @p {microbatch = 2 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8], f32>
}
nn.layer @statistics(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error @+1 {{microbatches would change what depends on several sequences of the batch, and is no loss; train the batch as one microbatch, found a sum over B}}
  %0 = nn.reduce sum %x : <[B 8], f32> -> <[], f32>
  %1 = nn.sub %x, %0 : (<[B 8], f32>, <[], f32>) -> <[B 8], f32>
  nn.return %1 : !x
}

// -----

!x = !nn.tensor<[B 8, D 8], f32>
tplan.plan @p {microbatch = 2 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, D 8], f32>
}
nn.layer @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!nn.tensor<[D 8], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error @+1 {{and is no loss; train the batch as one microbatch, found a maximum over B}}
  %0 = nn.reduce max %x : <[B 8, D 8], f32> -> <[D 8], f32>
  nn.return %0 : !nn.tensor<[D 8], f32>
}

// -----

!x = !nn.tensor<[B 8, D 8], f32>
tplan.plan @p {microbatch = 2 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, D 8], f32>
}
nn.layer @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!nn.tensor<[D 8], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error @+1 {{and is no loss; train the batch as one microbatch, found a contraction over B}}
  %0 = nn.contract %x, %x : (<[B 8, D 8], f32>, <[B 8, D 8], f32>) -> <[D 8], f32>
  nn.return %0 : !nn.tensor<[D 8], f32>
}

// -----

!x = !nn.tensor<[B 8, D 8], f32>
tplan.plan @p {microbatch = 2 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, D 8], f32>
}
nn.layer @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!nn.tensor<[B 8], i32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error @+1 {{and is no loss; train the batch as one microbatch, found positions over B}}
  %0 = nn.index : <[B 8], i32>
  nn.return %0 : !nn.tensor<[B 8], i32>
}

// -----

!x = !nn.tensor<[B 8, H 2, K 4], f32>
tplan.plan @p {microbatch = 2 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, H 2, K 4], f32>
}
nn.layer @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error @+1 {{and is no loss; train the batch as one microbatch, found attention over B}}
  %0:2 = nn.attention %x, %x, %x <query = "B", key = "B", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!x, !x, !x) -> (!x, !nn.tensor<[B 8, H 2], f32>)
  nn.return %0#0 : !x
}

// -----

!x = !nn.tensor<[B 8, D 4], f32>
tplan.plan @p {microbatch = 2 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, D 4], f32>
}
nn.layer @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %i: !nn.tensor<[S 3], i32> {nn.role = "invariant", nn.name = "i0"}) -> (!nn.tensor<[S 3, D 4], f32> {nn.role = "carried", nn.name = "c0"}) {
  // expected-error @+1 {{and is no loss; train the batch as one microbatch, found a lookup over B}}
  %0 = nn.lookup %x["B" = %i] : (<[B 8, D 4], f32>, <[S 3], i32>) -> <[S 3, D 4], f32>
  nn.return %0 : !nn.tensor<[S 3, D 4], f32>
}

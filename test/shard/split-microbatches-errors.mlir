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
  // expected-error @+1 {{microbatches would change a sum over the batch that is no loss; train the batch as one microbatch, found a sum over B}}
  %0 = nn.reduce sum %x : <[B 8], f32> -> <[], f32>
  %1 = nn.sub %x, %0 : (<[B 8], f32>, <[], f32>) -> <[B 8], f32>
  nn.return %1 : !x
}

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

// -----

// Until layouts are applied, one rank would compute less than the step.
// expected-error @+1 {{a mesh of more than one rank is not built: give each axis the size 1, or drop the line}}
tplan.plan @p {microbatch = 4 : i64, mesh = [{name = "dp", size = 2 : i64}], shard = [{dims = ["B"], axes = ["dp"]}]}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8], f32>
}

// -----

// What no rank can hold is refused where sizes become those of a rank: an array of weights, a value.
tplan.plan @p {microbatch = 8 : i64}
// expected-error @+1 {{a rank holds at most 16 TiB of one value, found '!nn.tensor<[D 1048576, F 65536], f32>'}}
nn.param @w : !nn.tensor<[D 1048576, F 65536], f32> x 128 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8], f32>
}

// -----

tplan.plan @p {microbatch = 8 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  // expected-error @+1 {{a rank holds at most 16 TiB of one value, found '!nn.tensor<[B 8, S 1099511627776], i32>'}}
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, S 1099511627776], i32>
}

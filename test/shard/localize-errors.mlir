// RUN: tplan-opt --localize -verify-diagnostics -split-input-file %s
// What no rank can hold is refused where sizes become those of a rank: an array of weights, a value.
tplan.plan @p {microbatch = 8 : i64}
// expected-error @+1 {{a rank holds at most 16 TiB of one value, found 128 times [D 1048576, F 65536] in f32}}
nn.param @w : !nn.tensor<[D 1048576, F 65536], f32> x 128 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8], f32>
}

// -----

tplan.plan @p {microbatch = 8 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  // expected-error @+1 {{a rank holds at most 16 TiB of one value, found [B 8, S 1099511627776] in i32}}
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 8, S 1099511627776], i32>
}

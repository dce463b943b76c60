// RUN: tplan-opt --split-microbatches -verify-diagnostics %s
// expected-error @+1 {{microbatch must divide the batch of 8, found 3}}
tplan.plan @p {microbatch = 3 : i64}
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "tokens" shift 0 vocabulary 9 : <[B 8, S 8], i32>
}

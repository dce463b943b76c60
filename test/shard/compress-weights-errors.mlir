// RUN: tplan-opt --compress-weights --verify-diagnostics %s
// 24 elements in blocks of 64: the gather stays as it is.
!w = !nn.tensor<[D 48], f32>
!own = !nn.tensor<[own.rows 24], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// expected-warning @+1 {{no weight is compressed: what ranks gather is no whole number of blocks of a rank; choose a smaller block, or drop `weights`}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress_weights = {format = "int8", block = 64 : i64, axes = ["dp"]}}
nn.param @w : !own x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "norm" {dist.global = !w}
nn.layer @a(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = dist.collective all_gather sum %w over ["dp"] : <[own.rows 24], f32> -> <[D 48], f32>
  nn.return %0 : !w
}
nn.chain @train { nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> () }
}

// RUN: tplan-opt --compress-gradients --split-input-file --verify-diagnostics %s
// A gain of 24 elements has no block of 32 for each of two ranks.
!g = !nn.tensor<[D 24], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// expected-warning @+1 {{no sum of a gradient is compressed: what one rank sends another is no whole number of blocks; choose a smaller block, or drop the line}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress = {format = "int8", block = 32 : i64, axes = ["dp"]}}
nn.param @gain : !g x 1 path "gain" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "norm" {dist.global = !g}
nn.layer @b.R(%g: !g {nn.role = "cot_param", nn.name = "gain"}) -> (!g {nn.role = "cot_param", nn.name = "gain"})
    attributes {layer = @b, part = #nn.part<reduce>} {
  %0 = dist.collective all_reduce sum %g over ["dp"] : <[D 24], f32> -> <[D 24], f32>
  nn.return %0 : !g
}
nn.chain @train { nn.run [@b] x 1 layer 0 carried() invariant() params [{gain = @gain}] : () -> () }
}

// -----

// Factors of eight columns have as many elements as the weight.
!w = !nn.tensor<[F 16, D 16], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// expected-warning @+1 {{no sum of a gradient is compressed: two factors have more than half of the elements of each weight, or stages share all weights; choose a smaller rank, or drop the line, found 8}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress = {format = "powersgd", rank = 8 : i64, axes = ["dp"]}}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !w}
nn.layer @b.R(%w: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @b, part = #nn.part<reduce>} {
  %0 = dist.collective all_reduce sum %w over ["dp"] : <[F 16, D 16], f32> -> <[F 16, D 16], f32>
  nn.return %0 : !w
}
nn.chain @train { nn.run [@b] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> () }
}

// RUN: tplan-opt --order-tasks --form-program --warn-waits -verify-diagnostics -split-input-file %s
// EXAMPLE
// Six calls in a step, of three layers for two microbatches: each has a latency of 15 us and sends
// 524,288 bytes at 1 GB/s.
!w = !nn.tensor<[H 512, D 256], f32>
!whole = !nn.tensor<[H 1024, D 256], f32>
module attributes {dist.mesh = #dist.mesh<<"tp.0", 2 of "tp">, <"tp.1", 2 of "tp">>} {
// expected-note @below {{predicted by the links of this cluster, with 2 devices a node}}
tplan.cluster @c {devices = 2 : i64, nodes = 2 : i64, between = {bits_per_second = 8000000000 : i64}, inside = {bits_per_second = 8000000000 : i64}}
tplan.recipe @r {batch = 4 : i64}
// expected-warning @below {{tensor parallelism over tp crosses nodes: each rank sends 3.1 MB of activations a step, which takes 3.2 ms, predicted}}
// expected-note @below {{let tp have a number of ranks that divides 2}}
// expected-warning @below {{this cut of H is undone for work that no line cuts over tp: each rank sends 3.1 MB a step, predicted 3.2 ms}}
// expected-note @below {{`shard F over tp` shares this work}}
tplan.plan @p {recipe = "r", microbatch = 2 : i64, mesh = [{name = "tp", size = 4 : i64}]}
nn.chain @train losses {} {
  nn.run [@a] x 3 layer 0 carried() invariant() params [{w = @w}] : () -> ()
}
nn.param @w : !w x 3 path "l.{i}.w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
rt.func @a.F(%w: !w {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<forward>} {
  // expected-note @+1 {{gathered here}}
  %0 = rt.collective all_gather sum %w over ["tp.0"] dim "H" {dist.activation, dist.unasked = #dist.unasked<gathers "H", line "shard.0", instead ["F"]>} : !w -> !whole
  // A weight is gathered by zero.
  %1 = rt.collective all_gather sum %w over ["tp.0"] dim "H" : !w -> !whole
  rt.return
}
}
// END

// -----

// Not reported: more than a millisecond, but less than a tenth of all.
!w = !nn.tensor<[H 128, D 256], f32>
!whole = !nn.tensor<[H 256, D 256], f32>
!v = !nn.tensor<[H 2048, D 256], f32>
!all = !nn.tensor<[H 4096, D 256], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
tplan.cluster @c {devices = 2 : i64, nodes = 2 : i64, between = {bits_per_second = 800000000 : i64}, inside = {bits_per_second = 800000000 : i64}}
tplan.recipe @r {batch = 4 : i64}
tplan.plan @p {recipe = "r", microbatch = 4 : i64, mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}]}
nn.chain @train losses {} {
  nn.run [@a] x 1 layer 0 carried() invariant() params [{v = @v, w = @w}] : () -> ()
}
nn.param @v : !v x 1 path "v" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
rt.func @a.F(%v: !v {nn.role = "param", nn.name = "v"}, %w: !w {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.collective all_gather sum %w over ["tp"] dim "H" {dist.activation, dist.unasked = #dist.unasked<gathers "H", line "shard.0", instead ["F"]>} : !w -> !whole
  %1 = rt.collective all_gather sum %v over ["dp"] dim "H" : !v -> !all
  rt.return
}
}

// -----

// Not reported: all of the wait, but less than a millisecond.
!w = !nn.tensor<[H 128, D 256], f32>
!whole = !nn.tensor<[H 256, D 256], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.recipe @r {batch = 4 : i64}
tplan.plan @p {recipe = "r", microbatch = 4 : i64, mesh = [{name = "tp", size = 2 : i64}]}
nn.chain @train losses {} {
  nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> ()
}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
rt.func @a.F(%w: !w {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.collective all_gather sum %w over ["tp"] dim "H" {dist.activation, dist.unasked = #dist.unasked<gathers "H", line "shard.0", instead ["F"]>} : !w -> !whole
  rt.return
}
}

// RUN: tplan-opt --narrow-moments --split-input-file --verify-diagnostics %s
// No formula keeps anything.
// expected-note @+1 {{the optimizer is given here}}
tplan.recipe @r {optimizer = {kind = "sgd"}}
// expected-error @+1 {{this optimizer keeps no moments: drop `moments`, or give it a momentum; found bf16}}
tplan.plan @p {moments = "bf16"}

// -----

// expected-note @+1 {{the optimizer is given here}}
tplan.recipe @r {optimizer = {kind = "adamw", beta1 = 9.0e-1 : f64, beta2 = 9.99e-1 : f64}}
// expected-warning @+1 {{a moment in bf16 may never decay: a step takes less of it than rounding gives back; take a smaller beta2, or leave it in f32; found beta2 = 0.999}}
tplan.plan @p {moments = "bf16"}
nn.layer @layer.U(%v: !nn.tensor<[D 4], f32> {nn.role = "state", nn.name = "w.v", nn.slot = #nn.slot<"v" of "w">})
    -> (!nn.tensor<[D 4], f32> {nn.role = "state", nn.name = "w.v", nn.slot = #nn.slot<"v" of "w">})
    attributes {layer = @layer, part = #nn.part<update>} {
  nn.return %v : !nn.tensor<[D 4], f32>
}

// RUN: tplan-opt --form-program --split-input-file --verify-diagnostics %s
// expected-error@below {{there is no sched.program to form}}
module {}

// -----

nn.param @w : !nn.tensor<[B 2], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
rt.func @a.F(%s: !nn.tensor<[B 2], f32> {nn.role = "state", nn.name = "m", nn.slot = #nn.slot<"m" of "v">}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  nn.chain @train {
    // expected-error@below {{has a state that belongs to no parameter of a: m}}
    nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> ()
  }
}

// -----

rt.func @a.F(%s: !nn.tensor<[B 2], f32> {nn.role = "param", nn.name = "v"}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  nn.chain @train {
    // expected-error@below {{binds no parameter to a v}}
    nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> ()
  }
}

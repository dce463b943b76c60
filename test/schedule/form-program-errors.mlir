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

// -----

// A state that two stages read would be moved by one of them.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{is a state that layers of several stages read, and these are on several ranks: put the layers into one stage, found stages 0 and 1}}
nn.param @w : !x x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "state"
rt.func @a.F(%w: !x {nn.role = "state", nn.name = "w"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%w) : (!x) -> !x
  rt.return %0 : !x
}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  nn.chain @train {
    %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] {stage = 0 : i64} : () -> !x
    %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{w = @w}] {stage = 1 : i64} : () -> !x
  }
}

// -----

// A list of which two stages have some layers in common has one gradient for both.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{belongs to layers that are called more than once, in stages of several ranks: let one stage hold them, found stages 0 and 1}}
nn.param @w : !x x 3 path "l.{i}.w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear"
rt.func @a.F(%w: !x {nn.role = "param", nn.name = "w"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%w) : (!x) -> !x
  rt.return %0 : !x
}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  nn.chain @train {
    %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] {stage = 0 : i64} : () -> !x
    %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{w = @w}] {stage = 1 : i64} : () -> !x
    %z = nn.run [@a] x 1 layer 2 carried() invariant() params [{w = @w}] {first_instance = 1 : i64, stage = 1 : i64} : () -> !x
  }
}

// -----

// Two stages have a part of one gradient, and nothing adds them up.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{has no function that adds up what stages have of its gradient, as sum-stages makes it, for stage 1}}
nn.param @w : !x x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear"
rt.func @a.F(%w: !x {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.B(%w: !x {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<backward>} {
  rt.return
}
rt.func @a.U(%p: !x {nn.role = "param", nn.name = "w"}, %w: !x {nn.role = "cot_param", nn.name = "w"}) -> (!x {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<update>} {
  %0 = rt.launch @k(%p, %w) : (!x, !x) -> !x
  rt.return %0 : !x
}
rt.func @b.F(%w: !x {nn.role = "param", nn.name = "w"}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}
rt.func @b.B(%w: !x {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @b, part = #nn.part<backward>} {
  rt.return
}
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 0 0, F 1 0, B 1 0, B 0 0] {
  nn.chain @train {
    nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] {stage = 0 : i64} : () -> ()
    nn.run [@b] x 1 layer 1 carried() invariant() params [{w = @w}] {stage = 1 : i64} : () -> ()
  }
}

// -----

!x = !nn.tensor<[B 2], f32>
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  nn.chain @train {
    // expected-error@below {{sends a result in parts by a layer that lacks part cut or gather: message.0}}
    %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {messages = [@message.0]} : () -> !x
  }
}

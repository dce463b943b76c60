// RUN: tplan-opt --order-tasks --form-program --count-slots --plan-frames --plan-arena --split-input-file --verify-diagnostics %s
!x = !nn.tensor<[B 100], f32>
// expected-error@below {{a rank may use 512 bytes of memory, found a plan that needs 960}}
// expected-note@below {{the peak is at forward of a, stage 0, microbatch 0}}
// expected-note@below {{a smaller microbatch, recompute or another pipeline needs less}}
tplan.plan @p {memory = 512 : i64}
// The plan's own limit counts before the machine's.
tplan.cluster @c {memory = 100 : i64}
// expected-note@below {{448 bytes at the peak are param w}}
nn.param @w : !x x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
// expected-note@below {{448 bytes at the peak are r0.a.0.out.c0}}
// expected-note@below {{64 bytes at the peak are loss main}}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> !x
}
rt.func @a.F(%w: !x {nn.role = "param", nn.name = "w"},
             %l: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%w) : (!x) -> !x
  rt.return %0 : !x
}
rt.func @a.B(%w: !x {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<backward>} {
  rt.return
}

// -----

!x = !nn.tensor<[B 100], f32>
tplan.plan @p {}
// Everything lives from step to step: no task is the peak.
// expected-error@below {{a rank may use 100 bytes of memory, found a plan that needs 512}}
// expected-note@below {{a smaller microbatch, recompute or another pipeline needs less}}
tplan.cluster @c {memory = 100 : i64}
// expected-note@below {{448 bytes at the peak are param w}}
nn.param @w : !x x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
// expected-note@below {{64 bytes at the peak are loss main}}
nn.chain @train {
  nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> ()
}
rt.func @a.F(%w: !x {nn.role = "param", nn.name = "w"},
             %l: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.B(%w: !x {nn.role = "param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<backward>} {
  rt.return
}

// -----

// expected-error@below {{there is no chain @train to order}}
module {}

// -----

// nn.run (C2)
!x = !nn.tensor<[B 4], f32>
nn.chain @train {
  // expected-error@below {{binds no parameter to a w}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.F(%w: !x {nn.role = "param", nn.name = "w"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%w) : (!x) -> !x
  rt.return %0 : !x
}

// -----

!x = !nn.tensor<[B 4], f32>
nn.param @w : !x x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
nn.chain @train {
  // expected-error@below {{has a state that belongs to no parameter of a: v.m}}
  nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> ()
}
rt.func @a.F() attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.U(%m: !x {nn.role = "state", nn.name = "v.m", nn.slot = #nn.slot<"m" of "v">}) attributes {layer = @a, part = #nn.part<update>} {
  rt.return
}

// -----

// The rank that needs too much is named, where there are several.
!x = !nn.tensor<[B 100], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
tplan.plan @p {mesh = [{name = "pp", size = 2 : i64}], stage_axis = "pp", stages = [1, 1]}
// expected-error@below {{a rank may use 100 bytes of memory, found a plan that needs 448}}
// expected-note@below {{on the ranks that hold stage 1}}
// expected-note@below {{those that hold stage 0 need 0}}
// expected-note@below {{a smaller microbatch, recompute or another pipeline needs less}}
tplan.cluster @c {memory = 100 : i64}
// expected-note@below {{448 bytes at the peak are param w}}
nn.param @w : !x x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
nn.chain @train {
  nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {nn.list, stage = 0 : i64} : () -> ()
  nn.run [@b] x 1 layer 1 carried() invariant() params [{w = @w}] {nn.list, stage = 1 : i64} : () -> ()
}
rt.func @a.F() attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @b.F(%w: !x {nn.role = "param", nn.name = "w"}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}
}

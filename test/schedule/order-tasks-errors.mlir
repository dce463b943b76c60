// RUN: tplan-opt --order-tasks --split-input-file --verify-diagnostics %s
// expected-error@below {{there is no chain @train to order}}
module {}

// -----

!x = !nn.tensor<[B 1], f32>
// expected-error@below {{a batch of 6 sequences is no multiple of the microbatch, 4; choose a divisor of the batch}}
tplan.plan @p {microbatch = 4 : i64}
tplan.recipe @r {batch = 6 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

!x = !nn.tensor<[B 1], f32>
// expected-error@below {{the batch must be a multiple of the 4 ranks that share it, found 6}}
tplan.plan @p {microbatch = 1 : i64, mesh = [{name = "dp", size = 4 : i64}], shard = [{axes = ["dp"], dims = ["B"]}]}
tplan.recipe @r {batch = 6 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{has neither part forward nor evaluate of layer a}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}

// -----

!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{has no part forward of layer a}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.E() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<evaluate>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{needs part backward of layer a}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @a.W() -> (!x {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<backward_weights>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  // expected-error@below {{does not belong into a chain}}
  %y = nn.neg %x : !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C2)
!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{needs a dictionary of parameters for each of its layers, found 0}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C2)
!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{binds parameters by name, found @w}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [@w] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C2)
!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{binds w of layer a to no nn.param: @w}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C2)
!x = !nn.tensor<[B 1], f32>
nn.param @w : !x x 2 path "w.{i}" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear"
nn.chain @train {
  %in = nn.input "x" shift 0 vocabulary 0 : !x
  // expected-error@below {{needs 3 instances of @w, which has 2}}
  %x = nn.run [@a] x 3 layer 0 carried(%in) invariant() params [{w = @w}] : (!x) -> !x
}
rt.func @a.F(%c: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%c) : (!x) -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C1)
!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{gives layer a 0 values of role invariant; part forward also takes i0}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.F(%i: !x {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C1)
!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  %i = nn.input "x" shift 0 vocabulary 0 : !x
  // expected-error@below {{gives layer a 1 values of role invariant; part forward also takes i0}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant(%i) params [{}] : (!x) -> !x
}
// expected-note@below {{it has no nn.position, which says the number of the value}}
rt.func @a.F(%i: !x {nn.role = "invariant", nn.name = "i0"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C1)
!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  // expected-error@below {{has more results than part forward of layer a carries out: 2}}
  %x:2 = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> (!x, !x)
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C1)
!x = !nn.tensor<[B 1], f32>
!y = !nn.tensor<[B 1], f64>
nn.chain @train {
  %in = nn.input "x" shift 0 vocabulary 0 : !y
  // expected-error@below {{gives part forward of layer a c0 as '!nn.tensor<[B 1], f64>', it takes '!nn.tensor<[B 1], f32>'}}
  %x = nn.run [@a] x 1 layer 0 carried(%in) invariant() params [{}] : (!y) -> !x
}
rt.func @a.F(%c: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%c) : (!x) -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C1)
!x = !nn.tensor<[B 1], f32>
!y = !nn.tensor<[B 1], f64>
nn.chain @train {
  // expected-error@below {{takes c0 of part forward of layer a as '!nn.tensor<[B 1], f64>', it is '!nn.tensor<[B 1], f32>'}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !y
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

!x = !nn.tensor<[B 1], f32>
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  // expected-error@below {{carries a value whose cotangent is given twice}}
  // expected-note@below {{given here, as carried}}
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] : (!x) -> ()
  // expected-note@below {{given here, as carried}}
  nn.run [@b] x 1 layer 2 carried(%x) invariant() params [{}] : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}
rt.func @b.B() -> (!x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<backward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}

// -----

// nn.run (C2)
!x = !nn.tensor<[B 1], f32>
!y = !nn.tensor<[B 1], f64>
nn.param @w : !y x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear"
nn.chain @train {
  // expected-error@below {{gives part forward of layer a w as '!nn.tensor<[B 1], f64>', it takes '!nn.tensor<[B 1], f32>'}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> !x
}
rt.func @a.F(%w: !x {nn.role = "param", nn.name = "w"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k(%w) : (!x) -> !x
  rt.return %0 : !x
}

// -----

// Ranks hold the stages of the schedule.
!x = !nn.tensor<[B 1], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
// expected-error@below {{with accumulate these stages lie on 1 ranks, found ranks along their axis: 2}}
tplan.plan @p {microbatch = 1 : i64, mesh = [{name = "pp", size = 2 : i64}], stage_axis = "pp"}
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
}
// -----

// The schedule says how many stages a rank holds.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{zb_v has 2 stages on each rank, found chunks = 1}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "zb_v", chunks = 1 : i64}
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
// -----

// The schedule says how many stages a rank holds.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{interleaved has 4 stages on each rank, found stages: 2}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "interleaved", chunks = 4 : i64}
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
// -----

// The schedule says how many stages a rank holds.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{1f1b has no groups of microbatches, found group = 2}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "1f1b", group = 2 : i64}
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
// -----

// The schedule says how many stages a rank holds.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{of 5 microbatches, groups of at least 2 leave none over, or at least 2; group may be 3, 5, found group = 2}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "interleaved", chunks = 1 : i64}
tplan.recipe @r {batch = 5 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
// -----

// The schedule says how many stages a rank holds.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{dualpipe_v has at least two microbatches for each rank: 2, found 1}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "dualpipe_v"}
tplan.recipe @r {batch = 1 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
// -----

// The schedule says how many stages a rank holds.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{dualpipe has an even number of ranks, found 1}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "dualpipe"}
tplan.recipe @r {batch = 4 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
// -----

// A copy of a stage has no state of its own.
!x = !nn.tensor<[B 1], f32>
// expected-error@below {{dualpipe has two copies of each layer, and states, delayed scales among them, and metrics are of one; choose a schedule with one copy, such as dualpipe_v; found a layer with them: a}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "dualpipe"}
tplan.recipe @r {batch = 4 : i64}
nn.chain @train {
  // expected-note@below {{the layer is called here}}
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  %y = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 1 : i64} : () -> !x
  %z = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 2 : i64} : () -> !x
  %w = nn.run [@a] x 1 layer 1 carried() invariant() params [{}] {stage = 3 : i64} : () -> !x
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @a.S() attributes {layer = @a, part = #nn.part<states>} {
  rt.return
}

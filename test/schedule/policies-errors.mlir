// RUN: schedule-opt --order-tasks --split-input-file --verify-diagnostics %s
// Orders with one fault each, from test/schedule/policies.cpp.
// expected-error@below {{the order must have 2 ranks, found 1}}
// expected-note@below {{in the order of schedule no_last_stage}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "no_last_stage"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{task stands in the list of rank 0: B of stage 1, microbatch 0}}
// expected-note@below {{in the order of schedule foreign}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "foreign"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{task is done twice: F of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule twice}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "twice"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{task is missing: B of stage 0, microbatch 1}}
// expected-note@below {{in the order of schedule missing}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "missing"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{task is missing: W of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule missing_w}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "missing_w"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{backward is done both whole and in parts: B of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule both}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "both"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{stage 0 sends microbatch 1 where stage 1 receives another: F of stage 1, microbatch 0}}
// expected-note@below {{in the order of schedule not_fifo}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "not_fifo"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{task comes before F of stage 0, microbatch 0, which it needs: B of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule early}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "early"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{deadlock: ranks wait for each other at B of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule deadlock}}
// expected-note@below {{rank 0 waits in B of stage 0, microbatch 0 for B of stage 1, microbatch 0}}
// expected-note@below {{rank 1 waits in F of stage 1, microbatch 1 for F of stage 0, microbatch 1}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "deadlock"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{there is no task before it that it is done together with: F of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule first_together}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "first_together"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{task comes before F of stage 0, microbatch 0, which it needs: B of stage 0, microbatch 0}}
// expected-note@below {{in the order of schedule needy_pair}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "needy_pair"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// -----

// expected-error@below {{there is no pipeline schedule: 2f2b}}
// expected-note@below {{schedules are 1f1b, 1f1b_pairs, accumulate, auto, backwards, both, cheapest, deadlock, dualpipe, dualpipe_v, early, first_together, foreign, gpipe, gpipe_split, interleaved, interleaved_zb, looped_bfs, missing, missing_w, mixed, needy_pair, no_last_stage, not_fifo, pairs, twice, unlike, v_half, v_min, zb_h1, zb_h2, zb_v}}
tplan.plan @p {microbatch = 1 : i64, pipeline = "2f2b"}
!x = !nn.tensor<[B 1], f32>
tplan.recipe @r {batch = 2 : i64}
nn.chain @train {
  %x = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64} : () -> !x
  nn.run [@b] x 1 layer 1 carried(%x) invariant() params [{}] {stage = 1 : i64} : (!x) -> ()
}
rt.func @a.F() -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @k() : () -> !x
  rt.return %0 : !x
}
rt.func @b.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the sched dialect refuses on its own.

// sched.program (C1)
// expected-error@below {{needs at least one stage and microbatch, and triples as tasks}}
sched.program @step policy "p" stages 0 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C1)
// expected-error@below {{needs at least one stage and microbatch, and triples as tasks}}
"sched.program"() <{sym_name = "step", policy = "p", stages = 1 : i64, microbatches = 1 : i64,
                    tasks = array<i32: 0, 0>}> ({
^bb0:
}) : () -> ()

// -----

// sched.program (C1)
// expected-error@below {{no such stage or microbatch: F of stage 1, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 1 0] {
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C1)
// expected-error@below {{no such kind of task: 13}}
"sched.program"() <{sym_name = "step", policy = "p", stages = 1 : i64, microbatches = 1 : i64,
                    tasks = array<i32: 13, 0, 0>}> ({
^bb0:
}) : () -> ()

// -----

// sched.program (C2)
// expected-error@below {{task stands twice: F of stage 0, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 0] {
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C2)
// expected-error@below {{the backward of a stage is whole for some microbatches and in parts for others: stage 0, microbatch 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, I 0 1, W 0 1] {
}

// -----

// sched.program (C2)
// expected-error@below {{needs F, and B or both I and W, of stage 0, microbatch 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, I 0 1] {
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C2)
// expected-error@below {{R is done once a step and has the first microbatch of its stage, found R of stage 0 with 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1, R 0 0, R 0 1] {
}

// -----

// sched.program (C1)
// expected-error@below {{only F, B, I and W are done together, found R of stage 0}}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0 with R 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{a stage is reduced after all of its backwards, found after that W of stage 0, microbatch 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, I 0 0, W 0 0, F 0 1, I 0 1, R 0 0, W 0 1] {
}

// -----

// sched.program (C7)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  // expected-error@below {{is of a task that no entry executes: R.0}}
  sched.section @R.0 task R 0 {}
  sched.entry step [#sched.execute<tasks>]
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before F of stage 0, microbatch 1, which it needs: B of stage 0, microbatch 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, B 0 1, F 0 1] {
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before I of stage 0, microbatch 0, which it needs: W of stage 0, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, W 0 0, I 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before F of stage 0, microbatch 0, which it needs: F of stage 1, microbatch 0}}
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 1 0, F 0 0, B 1 0, B 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before I of stage 1, microbatch 0, which it needs: B of stage 0, microbatch 0}}
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 0 0, F 1 0, B 0 0, B 1 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before F of stage 0, microbatch 0, which it needs: B of stage 0, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0 with B 0 0] {
}

// -----

// sched.program (C1)
// expected-error@below {{only F, B, I and W are done together, found SF of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0 with SF 0 0, RB 0 0, B 0 0] {
}

// -----

// sched.program (C1)
// expected-error@below {{only F, B, I and W are done together, found B of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0 with B 0 0] {
}

// -----

// sched.family (C2): in a pair the slot of one is not free when the other takes it.
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  // expected-error@below {{microbatches share a slot while both are live: 0 and 1}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C4)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-note@below {{see existing symbol definition here}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
  // expected-error@below {{redefinition of symbol named 's0.fw'}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
}

// -----

// sched.program (C5)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] arena 100 live 100 {
  // expected-error@below {{lies outside of the arena of bytes 100}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] at [0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C5)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] arena 1000 live 1000 {
  // expected-error@below {{lies outside of the arena of bytes 1000}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0] at [-64]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.family (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs at least one slot and a slot for each microbatch, found 1 slots for 1 microbatches}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.family (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{no such slot: 1}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 1]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{names a stage that the program lacks}}
  sched.family @s0.fw from F 0 to B 1 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C6)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{bytes must be the sum of its values, 192, found 120}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 120 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.family (C2)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  // expected-error@below {{microbatches share a slot while both are live: 0 and 1}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.value (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs bytes of at least 0, a count of at least 1 and an offset that is a multiple of 64}}
  sched.value <scalar "x"> scalar always bytes 8 x 1 at 8
}

// -----

// sched.value (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs bytes of at least 0, a count of at least 1 and an offset that is a multiple of 64}}
  sched.value <scalar "x"> scalar always bytes -8 x 1
}

// -----

// sched.value (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs bytes of at least 0, a count of at least 1 and an offset that is a multiple of 64}}
  sched.value <scalar "x"> scalar always bytes 8 x 0
}

// -----

sched.program @step policy "p" stages 1 microbatches 1
    // expected-error@below {{expected a kind of task, one of F, B, I, W, SF, RF, SB, RB, R, ASF, ARF, ASB, ARB; found X}}
    tasks [X 0 0] {
}

// -----

// sched.program (C4)
// expected-error@below {{holds chains, families, values, sections and entries, found nn.param}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  nn.param @w : !nn.tensor<[B 2], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
}

// -----

// sched.family (C3)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] arena 1000 live 1000 {
  // expected-error@below {{needs an offset for each slot, found 2 for 1}}
  sched.family @s0.fw from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] at [0, 192]
  sched.value <activation "r"> residual microbatch bytes 40 x 3 in @s0.fw
}

// -----

// sched.program (C4)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.value <scalar "lr"> scalar always bytes 8 x 1
  // expected-error@below {{key stands twice: scalar lr}}
  sched.value <scalar "lr"> scalar always bytes 8 x 1
}

// -----

// sched.program (C5)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] arena 64 live 64 {
  // expected-error@below {{lies outside of the arena of bytes 64}}
  sched.value <scalar "lr"> scalar always bytes 8 x 1 at 64
}

// -----

// sched.program (C6)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{there is no family: f}}
  sched.value <activation "h"> residual microbatch bytes 8 x 1 in @f
}

// -----

// sched.program (C7)
// expected-error@below {{has no section for B of stage 0, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.section @F.0 task F 0 {
  }
  sched.entry step [#sched.execute<tasks>]
}

// -----

// sched.value (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.family @f from F 0 to B 0 slots 1 bytes 64 slot_of [0]
  // expected-error@below {{is in a family, so it must live as long as a microbatch, found always}}
  sched.value <activation "h"> residual always bytes 8 x 1 in @f
}

// -----

// sched.entry (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{needs a section of the program, or the tasks, found #sched.execute<once @end>}}
  sched.entry step [#sched.execute<once @end>]
}

// -----

// sched.entry (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{executes sections, found @end}}
  sched.entry step [@end]
}

// -----

// sched.entry (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.section @end {}
  sched.entry step [#sched.execute<tasks>]
  // expected-error@below {{is the second of its kind, found step}}
  sched.entry step [#sched.execute<once @end>]
}

// -----

sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{one of the following enum values for attribute 'kind' [prepare, step, evaluate, predict, early_step]}}
  sched.entry steps [#sched.execute<tasks>]
}

// -----

// sched.section (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{holds the work of a step and runs, found sched.value}}
  sched.section @end {
    sched.value <scalar "lr"> scalar always bytes 8 x 1
  }
}

// -----

// sched.section (C4)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{stands for the section of some tasks, and is of none: end}}
  sched.section @end last {}
}

// -----

// sched.section (C4)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{stands for the section of some tasks, and is of none: begin}}
  sched.section @begin early {}
}

// -----

// sched.section (C4)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{is of the first task or of the last, found both: F.0}}
  sched.section @F.0 task F 0 first last {}
}

// -----

// sched.section (C5)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  // expected-error@below {{is of F and a backward that is done with it, found B and F}}
  sched.section @B.0.F.0 task B 0 with F 0 shift 1 {}
}

// -----

// sched.section (C5)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  // expected-error@below {{is of F and a backward that is done with it, found F and B}}
  sched.section @F.0.B.0 task F 0 with B 0 shift -1 last {}
}

// -----

// sched.section (C5)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  // expected-error@below {{is of two microbatches, found a shift of 0: F.0.B.0}}
  sched.section @F.0.B.0 task F 0 with B 0 shift 0 {}
}

// -----

// sched.section (C6)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  sched.family @s0.fw from F 0 to B 0 slots 2 bytes 64 slot_of [0, 1]
  %r = sched.value <activation "r"> residual microbatch bytes 40 x 1 in @s0.fw
  sched.section @F.0.B.0 task F 0 with B 0 shift -1 {
    // expected-error@below {{uses what is of another microbatch than its section's tasks: r}}
    sched.zero to(%r of microbatch - 2)
  }
}

// -----

sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  %l = sched.value <scalar "lr"> scalar always bytes 8 x 1
  sched.section @F.0.B.0 task F 0 with B 0 shift -1 {
    // expected-error@below {{a use is of the section's microbatch, plus or minus a number}}
    sched.zero to(%l of period - 2)
  }
}

// -----

// sched.call (C2)
rt.func @f() { rt.return }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %e = sched.value <event "e"> event always bytes 64 x 1
  sched.section @end {
    // expected-error@below {{is started, and its event needs an await, in its section or in one other: event e}}
    sched.call @f to(%e) started
  }
}

// -----

// sched.call (C1)
rt.func @f() { rt.return }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 1
  sched.section @end {
    // expected-error@below {{is started, and its last value is no event: x}}
    sched.call @f to(%x) started
  }
}

// -----

// sched.await (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <number "x"> scalar always bytes 8 x 1
  sched.section @end {
    // expected-error@below {{reads events, and nothing else}}
    sched.await from(%x)
  }
}

// -----

// sched.section (C3)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  // expected-error@below {{issues some of its ops by themselves, which are 1, found 2}}
  sched.section @end head 2 {
    sched.zero to(%x)
  }
}

// -----

// sched.section (C3)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{names a graph for each microbatch, which are 1, found 2}}
  sched.section @end graph 0 of [0, 1] {
  }
}

// -----

// sched.run (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.section @end {
    // expected-error@below {{needs at least one period, found 0}}
    sched.run "update" "block" x 0 {
    }
  }
}

// -----

// sched.run (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.section @end {
    // expected-error@below {{holds the work of a step, found sched.run}}
    sched.run "update" "block" x 1 {
      sched.run "update" "block" x 1 {
      }
    }
  }
}

// -----

// Uses (U2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    sched.run "zero" "block" x 4 {
      // expected-error@below {{uses an instance that x, which has 3, has not: 3}}
      sched.zero to(%x[period])
    }
  }
}

// -----

// Uses (U2): the border takes the first period off.
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  %y = sched.value <activation "y"> residual section bytes 8 x 1
  sched.section @end {
    sched.run "zero" "block" x 4 {
      sched.zero to(%x[period - 1] first %y)
      // expected-error@below {{uses an instance that x, which has 3, has not: -1}}
      sched.zero to(%x[period - 1] last %y)
    }
  }
}

// -----

// Uses (U1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    // expected-error@below {{needs a value for each use and each border, found 1 for 1 and 1}}
    "sched.zero"(%x) <{instances = [affine_map<()[s0, s1] -> (0)>], borders = array<i32: 0>, reads = 0 : i64}> : (!sched.memory) -> ()
  }
}

// -----

// sched.zero
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    // expected-error@below {{reads nothing, found values: 1}}
    sched.zero from(%x)
  }
}

// -----

// sched.copy (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 1
  %y = sched.value <activation "y"> residual section bytes 16 x 1
  sched.section @end {
    sched.zero to(%x)
    // expected-error@below {{copies one value to another of as many bytes}}
    sched.copy from(%x) to(%y)
  }
}

// -----

// sched.call
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    sched.zero to(%x)
    // expected-error@below {{there is no function: f}}
    sched.call @f from(%x)
  }
}

// -----

// sched.call (C1)
rt.func @f(%x: !nn.tensor<[B 2], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  rt.return
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    sched.zero to(%x)
    // expected-error@below {{gives 2 values, of them 1 to read, to a function that has 1, of them 1 arguments}}
    sched.call @f from(%x) to(%x)
  }
}

// -----

// sched.unpack (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    // expected-error@below {{takes the rows of an input to a value with a type}}
    sched.unpack shift 0 from(%x) to(%x)
  }
}

// -----

// sched.all_reduce
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    // expected-error@below {{takes each value to another}}
    sched.all_reduce "x" over ["dp"] from(%x)
  }
}

// -----

// Uses (U2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    // expected-error@below {{an instance is a sum of the period and the microbatch, each times a number, or its remainder, found affine_map<()[s0, s1] -> (s0 mod 2 + 1)>}}
    sched.zero to(%x[period mod 2 + 1])
  }
}

// -----

// Uses (U2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 8 x 3
  sched.section @end {
    // expected-error@below {{an instance is a sum of the period and the microbatch, each times a number, or its remainder, found affine_map<()[s0, s1] -> (s0 floordiv 2)>}}
    sched.zero to(%x[period floordiv 2])
  }
}

// -----

// sched.unpack (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %rows = sched.value <rows "tokens"> input always bytes 72 x 1 rows <2 x 9 positions 8 vocabulary 32>
  %x = sched.value <activation "x"> residual section bytes 64 x 1
  sched.section @end {
    // expected-error@below {{takes the rows of an input to a value with a type}}
    sched.unpack shift 0 from(%rows) to(%x)
  }
}

// -----

// sched.call (C1)
rt.func @f(%x: !nn.tensor<[B 2], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  rt.return
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 4 x 1
  sched.section @end {
    sched.zero to(%x)
    // expected-error@below {{gives x for 8 bytes, it has 4}}
    sched.call @f from(%x)
  }
}

// -----

// sched.all_reduce (C1)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 4 x 1
  sched.section @end {
    // expected-error@below {{adds up numbers of 8 bytes, found 4}}
    sched.all_reduce "x" over ["dp"] from(%x) to(%x)
  }
}

// -----

// sched.program (C2): what a neighbour on another rank leaves must come.
// expected-error@below {{messages go between stages of unlike ranks, one for each microbatch; lacks RF of stage 1, microbatch 0}}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [SB 1 0, F 1 0, B 1 0] {
}

// -----

// sched.program (C2)
// expected-error@below {{messages go between stages of unlike ranks, one for each microbatch; has SF of stage 0, microbatch 0}}
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 0 0, SF 0 0, F 1 0, B 1 0, B 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before F of stage 0, microbatch 0, which it needs: SF of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [SF 0 0, F 0 0, RB 0 0, B 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before I of stage 1, microbatch 0, which it needs: B of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, B 0 0, RB 0 0] {
}

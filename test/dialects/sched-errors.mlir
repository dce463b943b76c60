// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the sched dialect refuses on its own.

// sched.program (C1)
// expected-error@below {{needs at least one stage and microbatch, and triples as tasks}}
sched.program @step policy "p" stages 0 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
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
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.program (C1)
// expected-error@below {{no such kind of task: 4}}
"sched.program"() <{sym_name = "step", policy = "p", stages = 1 : i64, microbatches = 1 : i64,
                    tasks = array<i32: 4, 0, 0>}> ({
^bb0:
}) : () -> ()

// -----

// sched.program (C2)
// expected-error@below {{task stands twice: F of stage 0, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 0] {
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.program (C2)
// expected-error@below {{needs F, and B or both I and W, of stage 0, microbatch 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, I 0 1] {
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before its F: B of stage 0, microbatch 1}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, B 0 1, F 0 1] {
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before its I: W of stage 0, microbatch 0}}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, W 0 0, I 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before F of the stage before it: F of stage 1, microbatch 0}}
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 1 0, F 0 0, B 1 0, B 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before the backward of the stage behind it: B of stage 0, microbatch 0}}
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 0 0, F 1 0, B 0 0, B 1 0] {
}

// -----

// sched.program (C4)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
  // expected-error@below {{name stands twice: s0.fw}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.program (C5)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] arena 100 live 100 {
  // expected-error@below {{lies outside of the arena of bytes 100}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] at [0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.program (C5)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] arena 1000 live 1000 {
  // expected-error@below {{lies outside of the arena of bytes 1000}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0] at [-64] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.family (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs at least one slot and a slot for each microbatch, found 1 slots for 1 microbatches}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.family (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{no such slot: 1}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 1] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{names a stage that the program lacks}}
  sched.family "s0.fw" from F 0 to B 1 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.family (C3)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{bytes must be the sum of its values, 192, found 120}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 120 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.family (C2)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  // expected-error@below {{microbatches share a slot while both are live: 0 and 1}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// -----

// sched.value (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs bytes of at least 0, a count of at least 1 and an offset that is a multiple of 64}}
  sched.value "x" scalar bytes 8 x 1 at 8
}

// -----

// sched.value (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs bytes of at least 0, a count of at least 1 and an offset that is a multiple of 64}}
  sched.value "x" scalar bytes -8 x 1
}

// -----

// sched.value (C1)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{needs bytes of at least 0, a count of at least 1 and an offset that is a multiple of 64}}
  sched.value "x" scalar bytes 8 x 0
}

// -----

sched.program @step policy "p" stages 1 microbatches 1
    // expected-error@below {{expected a task F, B, I or W, found X}}
    tasks [X 0 0] {
}

// -----

// sched.program (C4)
// expected-error@below {{holds chains, families and values, found nn.param}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  nn.param @w : !nn.tensor<[B 2], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
}

// -----

sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // expected-error@below {{holds values only, found nn.param}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 0 slot_of [0, 0] {
    nn.param @w : !nn.tensor<[B 2], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "linear"
  }
}

// -----

// sched.family (C4)
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] arena 1000 live 1000 {
  // expected-error@below {{needs an offset for each slot, found 2 for 1}}
  sched.family "s0.fw" from F 0 to B 0 slots 1 bytes 192 slot_of [0, 0] at [0, 192] {
    sched.value "r0.a.0.res_fw.r0" residual bytes 40 x 3
  }
}

// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// Programs of several ranks, messages, chains, pools.

// sched.program (C8)
// expected-error@below {{holds stages of the step, ascending, found array<i64: 1, 0>}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [1, 0] tasks [F 0 0, F 1 0, B 1 0, B 0 0] {
}

// -----

// A task of a stage that another rank holds.
// expected-error@below {{no such stage or microbatch: F of stage 1, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, F 1 0] {
}

// -----

// sched.all_reduce (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <term "x"> scalar always bytes 8 x 1
  %y = sched.value <sum "x"> scalar always bytes 8 x 1
  sched.section @end {
    sched.run "update" "block" x 2 {
      // expected-error@below {{expects parent op 'sched.section'}}
      sched.all_reduce "x" over ["dp"] from(%x) to(%y)
    }
  }
}

// -----

// sched.send (C3)
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <scalar "x"> scalar always bytes 4 x 1
  sched.section @end {
    sched.run "update" "block" x 2 {
      // expected-error@below {{expects parent op 'sched.section'}}
      sched.send "F of stage 0" to rank 1 from(%x)
    }
  }
}

// -----

// sched.receive (C3)
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <scalar "x"> scalar always bytes 4 x 1
  sched.section @end {
    sched.run "update" "block" x 2 {
      // expected-error@below {{expects parent op 'sched.section'}}
      sched.receive "B of stage 1" from rank 1 to(%x)
    }
  }
}

// -----

// sched.send (C1)
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 4 x 1
  sched.section @end {
    // expected-error@below {{needs values to read and no others}}
    sched.send "F of stage 0" to rank 1 to(%x)
  }
}

// -----

// sched.receive (C1)
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 4 x 1
  sched.section @end {
    // expected-error@below {{needs values to write and no others}}
    sched.receive "B of stage 1" from rank 1 from(%x)
  }
}

// -----

// sched.send (C2)
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 4 x 1
  sched.section @end {
    // expected-error@below {{goes between programs of a pipeline, found the peer 0}}
    sched.send "F of stage 0" to rank 0 from(%x)
  }
}

// -----

// sched.receive (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual section bytes 4 x 1
  sched.section @end {
    // expected-error@below {{goes between programs of a pipeline, found the peer 1}}
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
}

// -----

// sched.launch (C1)
rt.kernel @k map rows [] cols [#nn.dim<"D", 1>] grain 1 : (!nn.tensor<[D 1], f64>) -> (!nn.tensor<[D 1], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  rt.yield %a : f64
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @end {
    // expected-error@below {{gives 3 values, of them 2 to read, to a kernel that has 2, of them 1 inputs}}
    sched.launch @k from(%n, %n) to(%n)
  }
}

// -----

// sched.launch (C1)
rt.kernel @k map rows [] cols [#nn.dim<"D", 1>] grain 1 : (!nn.tensor<[D 1], f64>) -> (!nn.tensor<[D 1], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  rt.yield %a : f64
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  %h = sched.value <number "h"> scalar always bytes 4 x 1
  sched.section @end {
    // expected-error@below {{gives h of 4 bytes to a kernel that takes 8}}
    sched.launch @k from(%n) to(%h)
  }
}

// -----

// What was in the buffer of another section is gone.
// sched.section (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain section bytes 8 x 1
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @first {
    sched.launch @k from(%n) to(%x)
    sched.launch @k from(%x) to(%n)
  }
  sched.section @second {
    // expected-error@below {{reads what lives as long as a section, and this one has not written: x}}
    sched.launch @k from(%x) to(%n)
  }
}

// -----

// What is read and written at once is read first.
// sched.section (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain section bytes 8 x 1
  sched.section @end {
    // expected-error@below {{reads what lives as long as a section, and this one has not written: x}}
    sched.launch @k from(%x) to(%x)
  }
}

// -----

// At the border another value is read; after it this one is, which only a later op has written.
// sched.section (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain section bytes 8 x 1
  %y = sched.value <activation "y"> chain section bytes 8 x 1
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @end {
    sched.run "forward" "a[0..1]" x 2 {
      // expected-error@below {{reads what lives as long as a section, and this one has not written: x}}
      sched.launch @k from(%x first %n) to(%n)
      sched.launch @k from(%n) to(%y)
    }
  }
}

// -----

// The last period is the first of a run that descends.
// sched.section (C2)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain section bytes 8 x 1
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @end {
    sched.run "backward" "a[0..1]" x 2 descending {
      // expected-error@below {{reads what lives as long as a section, and this one has not written: x}}
      sched.launch @k from(%x first %n) to(%n)
      sched.launch @k from(%n) to(%x)
    }
  }
}

// -----

// sched.program (C9)
// expected-error@below {{has chains that divide its stages and microbatches, found 2}}
sched.program @step policy "p" stages 2 chains 2 microbatches 1 tasks [F 0 0, B 0 0] {
}

// -----

// The second copy of a stage does the second half of the microbatches.
// expected-error@below {{no such stage or microbatch: F of stage 1, microbatch 0}}
sched.program @step policy "p" stages 2 chains 2 microbatches 2 tasks [F 0 0, B 0 0, F 1 0, B 1 0] {
}

// -----

// sched.family (C4)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{needs a slot of its pool for each of its slots}}
  sched.family @f from F 0 to B 0 slots 1 bytes 0 slot_of [0] pool 0 [0, 1]
}

// -----

// sched.family (C4)
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 0 0, F 1 0, B 1 0, B 0 0] {
  sched.family @f from F 0 to B 0 slots 1 bytes 64 slot_of [0] pool 0 [0]
  // expected-error@below {{families of a pool have slots of the same bytes, 64, found 0}}
  sched.family @g from F 1 to B 1 slots 1 bytes 0 slot_of [0] pool 0 [1]
  sched.value <activation "h"> residual microbatch bytes 8 x 1 in @f
}

// -----

// sched.family (C4)
sched.program @step policy "p" stages 2 microbatches 1 tasks [F 0 0, F 1 0, B 1 0, B 0 0] {
  sched.family @f from F 0 to B 0 slots 1 bytes 0 slot_of [0] pool 0 [0]
  // expected-error@below {{microbatches share a slot of a pool while both are live: 0 of f and 0}}
  sched.family @g from F 1 to B 1 slots 1 bytes 0 slot_of [0] pool 0 [0]
}

// -----

// sched.value (C3)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{ranges of instances ascend and do not overlap, found array<i64: 2, 2, 3, 1>}}
  sched.value <scalar "layer"> scalar always bytes 8 x 3 first 2 x 2, 3 x 1
}

// -----

// sched.value (C3)
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // expected-error@below {{ranges have all of its instances, 4, found 3}}
  sched.value <scalar "layer"> scalar always bytes 8 x 4 first 2 x 2, 6 x 1
}

// -----

// sched.program (C2)
// expected-error@below {{starts messages, and one has no await: RB of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, ASF 0 0, RB 0 0, B 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before SF of stage 0, microbatch 0, which it needs: ASF of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, ASF 0 0, SF 0 0, RB 0 0, ARB 0 0, B 0 0] {
}

// -----

// sched.program (C3)
// expected-error@below {{task comes before I of stage 1, microbatch 0, which it needs: B of stage 0, microbatch 0}}
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, ASF 0 0, RB 0 0, B 0 0, ARB 0 0] {
}

// -----

// sched.send (C1)
!x = !nn.tensor<[B 2], f32>
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, ASF 0 0, RB 0 0, ARB 0 0, B 0 0] {
  %e = sched.value <event "SF.0"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{needs values to read and no others}}
    sched.send "F of stage 0" to rank 1 to(%e[microbatch]) started
  }
  sched.section @ASF.0 task ASF 0 { sched.await from(%e[microbatch]) }
  sched.section @RB.0 task RB 0 {}
  sched.section @ARB.0 task ARB 0 {}
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}

// -----

// sched.receive (C4)
!x = !nn.tensor<[B 2], f32>
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, ASF 0 0, RB 0 0, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %e = sched.value <event "RB.0"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {}
  sched.section @ASF.0 task ASF 0 {}
  sched.section @RB.0 task RB 0 {
    // expected-error@below {{is started, and its event needs an await, in its section or in one other: event RB.0}}
    sched.receive "B of stage 1" from rank 1 to(%x, %e[microbatch]) started
  }
  sched.section @ARB.0 task ARB 0 {}
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}

// -----

// sched.send (C4)
!x = !nn.tensor<[B 2], f32>
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, ASF 0 0, RB 0 0, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{is started, and its last value is no event: x}}
    sched.send "F of stage 0" to rank 1 from(%x) to(%x) started
  }
  sched.section @ASF.0 task ASF 0 {}
  sched.section @RB.0 task RB 0 {}
  sched.section @ARB.0 task ARB 0 {}
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}

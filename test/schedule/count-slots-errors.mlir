// RUN: tplan-opt --count-slots --split-input-file --verify-diagnostics %s
// expected-error@below {{a rank holds at most 16 TiB of what one task leaves to another; recompute or use smaller microbatches, found more in stage 0}}
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %x = sched.value <activation "x"> residual microbatch bytes 8796093022272 x 1
  sched.section @F.0 task F 0 {
    sched.zero to(%x)
  }
  sched.section @B.0 task B 0 {
    sched.launch @k from(%x)
  }
}

// -----

// Two slots of half of the limit are as much as there may be.
sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %x = sched.value <activation "x"> residual microbatch bytes 8796093022208 x 1
  sched.section @F.0 task F 0 {
    sched.zero to(%x)
  }
  sched.section @B.0 task B 0 {
    sched.launch @k from(%x)
  }
}

// -----

// What a family keeps begins and ends at the same ops for each microbatch.
// expected-error@below {{tasks that touch one value come in the same order for each microbatch, and those of x do not, for microbatch 1}}
sched.program @step policy "p" stages 2 microbatches 2 tasks [F 0 0, F 1 0, I 1 0, I 0 0, W 0 0, W 1 0, F 0 1, F 1 1, I 1 1, I 0 1, W 1 1, W 0 1] {
  %x = sched.value <activation "x"> residual microbatch bytes 8 x 1
  sched.section @I.0 task I 0 {
    sched.zero to(%x)
  }
  sched.section @W.0 task W 0 {
    sched.launch @k from(%x)
  }
  sched.section @W.1 task W 1 {
    sched.launch @k from(%x)
  }
  sched.section @F.0 task F 0 {
  }
  sched.section @F.1 task F 1 {
  }
  sched.section @I.1 task I 1 {
  }
  sched.entry step [#sched.execute<tasks>]
}

// -----

sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  %x = sched.value <activation "x"> residual microbatch bytes 64 x 1
  sched.section @F.0 task F 0 {
    sched.zero to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    // expected-error@below {{belongs to no task, so it cannot touch a value that each microbatch has its own of: x}}
    sched.zero to(%x)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}

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

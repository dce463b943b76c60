// RUN: tplan-opt --check-messages --split-input-file --verify-diagnostics %s
// What ranks send each other, with one fault each.
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{sends 2 values to a rank that takes 1}}
    sched.send "F of stage 0" to rank 1 from(%x, %x)
  }
  sched.section @RB.0 task RB 0 {
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {
    sched.receive "F of stage 0" from rank 0 to(%x)
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {
    sched.send "B of stage 1" to rank 0 from(%x)
  }
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{sends 8 bytes of x as value 0 to a rank that takes 16}}
    sched.send "F of stage 0" to rank 1 from(%x)
  }
  sched.section @RB.0 task RB 0 {
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  // expected-note@below {{it takes x here}}
  %x = sched.value <activation "x"> chain microbatch bytes 16 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {
    sched.receive "F of stage 0" from rank 0 to(%x)
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {
    sched.send "B of stage 1" to rank 0 from(%x)
  }
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    sched.send "F of stage 0" to rank 1 from(%x)
  }
  sched.section @RB.0 task RB 0 {
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    // expected-note@below {{on rank 0}}
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {
    sched.receive "F of stage 0" from rank 0 to(%x)
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {
    sched.send "B of stage 1" to rank 0 from(%x)
  }
  sched.section @end {
    // expected-error@below {{ranks add up other numbers at one time: 1 of loss, found 1 of norm}}
    sched.all_reduce "loss" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{deadlock: ranks wait for each other in the entry step, at send F of stage 0, microbatch 0}}
    // expected-note@below {{rank 0 waits in send F of stage 0, microbatch 0, for rank 1}}
    sched.send "F of stage 0" to rank 1 from(%x)
  }
  sched.section @RB.0 task RB 0 {
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {
    // expected-note@below {{rank 1 waits in send B of stage 1, microbatch 0, for rank 0}}
    sched.send "B of stage 1" to rank 0 from(%x)
  }
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{there is no such rank at the other end: 7}}
    sched.send "F of stage 0" to rank 7 from(%x)
  }
  sched.section @RB.0 task RB 0 {
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {
    sched.receive "F of stage 0" from rank 0 to(%x)
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {
    sched.send "B of stage 1" to rank 0 from(%x)
  }
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 2 rank 0 holds [0] tasks [F 0 0, SF 0 0, F 0 1, SF 0 1, RB 0 0, B 0 0, RB 0 1, B 0 1] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{sends one microbatch where another one is received: send F of stage 0, microbatch 0, found receive F of stage 0, microbatch 1}}
    sched.send "F of stage 0" to rank 1 from(%x)
  }
  sched.section @RB.0 task RB 0 {}
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
sched.program @step.1 policy "p" stages 2 microbatches 2 rank 1 holds [1] tasks [RF 1 1, RF 1 0, F 1 0, B 1 0, SB 1 0, F 1 1, B 1 1, SB 1 1] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  sched.section @RF.1 task RF 1 {
    sched.receive "F of stage 0" from rank 0 to(%x)
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {}
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {
    // expected-error@below {{sends F of stage 2 where another message is received: F of stage 0}}
    sched.send "F of stage 2" to rank 1 from(%x)
  }
  sched.section @RB.0 task RB 0 {
    sched.receive "B of stage 1" from rank 1 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {
    sched.receive "F of stage 0" from rank 0 to(%x)
  }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {
    sched.send "B of stage 1" to rank 0 from(%x)
  }
  sched.section @end {
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

// Two of three ranks wait for each other in a message, and the third one waits for them in a sum.
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 3>, stages "pp">} {
sched.program @step.0 policy "p" stages 3 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {}
  sched.section @RB.0 task RB 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @end { sched.all_reduce "norm" over ["pp"] from(%n) to(%n) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 3 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, SF 1 0, RB 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 {}
  sched.section @F.1 task F 1 {}
  sched.section @SF.1 task SF 1 {}
  sched.section @RB.1 task RB 1 {
    // expected-error@below {{deadlock: ranks wait for each other in the entry step, at receive B of stage 2, microbatch 0}}
    // expected-note@below {{rank 1 waits in receive B of stage 2, microbatch 0, for rank 2}}
    sched.receive "B of stage 2" from rank 2 to(%x)
  }
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {}
  sched.section @end { sched.all_reduce "norm" over ["pp"] from(%n) to(%n) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.2 policy "p" stages 3 microbatches 1 rank 2 holds [2] tasks [RF 2 0, F 2 0, B 2 0, SB 2 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.2 task RF 2 {
    // expected-note@below {{rank 2 waits in receive F of stage 1, microbatch 0, for rank 1}}
    sched.receive "F of stage 1" from rank 1 to(%x)
  }
  sched.section @F.2 task F 2 {}
  sched.section @B.2 task B 2 {}
  sched.section @SB.2 task SB 2 {}
  sched.section @end { sched.all_reduce "norm" over ["pp"] from(%n) to(%n) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {}
  sched.section @RB.0 task RB 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @end {
    // expected-error@below {{a rank waits for one that has come to its end, in the entry step, at sum of norm}}
    // expected-note@below {{rank 0 waits in sum of norm, for rank 1}}
    sched.all_reduce "norm" over ["pp"] from(%n) to(%n)
  }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  sched.section @RF.1 task RF 1 {}
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {}
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 {}
  sched.section @RB.0 task RB 0 {
    // expected-error@below {{there is no such rank at the other end: 7}}
    sched.receive "B of stage 1" from rank 7 to(%x)
  }
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  sched.section @RF.1 task RF 1 {}
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {}
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// Each rank awaits what it receives before it sends.
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 4 chains 2 microbatches 2 rank 0 holds [0, 3]
    tasks [RF 3 1, ARF 3 1, F 0 0, SF 0 0, ASF 0 0, F 3 1, B 3 1, SB 3 1, ASB 3 1, RB 0 0, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %a = sched.value <event "SF.0"> event always bytes 64 x 2
  %b = sched.value <event "RF.3"> event always bytes 64 x 2
  sched.section @F.0 task F 0 {}
  sched.section @F.3 task F 3 {}
  sched.section @B.0 task B 0 {}
  sched.section @B.3 task B 3 {}
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) to(%a[microbatch]) started }
  sched.section @ASF.0 task ASF 0 { sched.await from(%a[microbatch]) }
  sched.section @RF.3 task RF 3 { sched.receive "F of stage 2" from rank 1 to(%x, %b[microbatch]) started }
  sched.section @ARF.3 task ARF 3 {
    // expected-note@below {{rank 0 waits in await of receive F of stage 2, microbatch 1, for rank 1}}
    // expected-error@below {{deadlock: ranks wait for each other in the entry step, at await of receive F of stage 2, microbatch 1}}
    sched.await from(%b[microbatch])
  }
  sched.section @SB.3 task SB 3 {}
  sched.section @ASB.3 task ASB 3 {}
  sched.section @RB.0 task RB 0 {}
  sched.section @ARB.0 task ARB 0 {}
  sched.entry step [#sched.execute<tasks>]
}
sched.program @step.1 policy "p" stages 4 chains 2 microbatches 2 rank 1 holds [1, 2]
    tasks [RF 1 0, ARF 1 0, F 2 1, SF 2 1, ASF 2 1, F 1 0, B 1 0, SB 1 0, ASB 1 0, RB 2 1, ARB 2 1, B 2 1] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %a = sched.value <event "SF.2"> event always bytes 64 x 2
  %b = sched.value <event "RF.1"> event always bytes 64 x 2
  sched.section @F.2 task F 2 {}
  sched.section @F.1 task F 1 {}
  sched.section @B.2 task B 2 {}
  sched.section @B.1 task B 1 {}
  sched.section @SF.2 task SF 2 { sched.send "F of stage 2" to rank 0 from(%x) to(%a[microbatch]) started }
  sched.section @ASF.2 task ASF 2 { sched.await from(%a[microbatch]) }
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x, %b[microbatch]) started }
  sched.section @ARF.1 task ARF 1 {
    // expected-note@below {{rank 1 waits in await of receive F of stage 0, microbatch 0, for rank 0}}
    sched.await from(%b[microbatch])
  }
  sched.section @SB.1 task SB 1 {}
  sched.section @ASB.1 task ASB 1 {}
  sched.section @RB.2 task RB 2 {}
  sched.section @ARB.2 task ARB 2 {}
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// An await in a section that comes before that of its message.
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, ASF 0 0, RB 0 0, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %a = sched.value <event "SF.0"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {
    // expected-error@below {{awaits what has not been posted: await of send F of stage 0, microbatch 0}}
    sched.await from(%a[microbatch])
  }
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) to(%a[microbatch]) started }
  sched.section @ASF.0 task ASF 0 {}
  sched.section @RB.0 task RB 0 {}
  sched.section @ARB.0 task ARB 0 {}
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 {}
  sched.entry step [#sched.execute<tasks>]
}
}

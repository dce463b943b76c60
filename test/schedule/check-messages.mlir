// RUN: tplan-opt --check-messages %s | FileCheck %s
// EXAMPLE
// Two ranks: what F of the first leaves goes to the second, the cotangent comes back, and at last both
// add up a number. Each send meets a receive, so the pass leaves all as it is.
// CHECK: sched.program @step.0
// CHECK: sched.program @step.1
!x = !nn.tensor<[B 2], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @F.0 task F 0 {}
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) }
  sched.section @RB.0 task RB 0 { sched.receive "B of stage 1" from rank 1 to(%x) }
  sched.section @B.0 task B 0 {}
  sched.section @end { sched.all_reduce "norm" over ["pp"] from(%n) to(%n) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
sched.program @step.1 policy "p" stages 2 microbatches 1 rank 1 holds [1] tasks [RF 1 0, F 1 0, B 1 0, SB 1 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x) }
  sched.section @F.1 task F 1 {}
  sched.section @B.1 task B 1 {}
  sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) }
  sched.section @end { sched.all_reduce "norm" over ["pp"] from(%n) to(%n) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>]
}
}
// END

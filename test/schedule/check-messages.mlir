// RUN: tplan-opt --check-messages --split-input-file %s | FileCheck %s
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

// -----

// Messages that are started wait where they are awaited: here each rank sends before it receives, and a send waits for
// its receive.
// CHECK-LABEL: module @started
// CHECK: sched.send "F of stage 0" to rank 1 from({{.*}}) to({{.*}}[microbatch]) started
!x = !nn.tensor<[B 2], f32>
module @started attributes {dist.mesh = #dist.mesh<<"pp", 2>, stages "pp">} {
sched.program @step.0 policy "p" stages 4 chains 2 microbatches 2 rank 0 holds [0, 3]
    tasks [F 0 0, SF 0 0, RF 3 1, ASF 0 0, ARF 3 1, F 3 1, B 3 1, SB 3 1, RB 0 0, ASB 3 1, ARB 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %y = sched.value <activation "y"> chain microbatch bytes 8 x 1 of !x
  %a = sched.value <event "SF.0"> event always bytes 64 x 2
  %b = sched.value <event "RF.3"> event always bytes 64 x 2
  %c = sched.value <event "SB.3"> event always bytes 64 x 2
  %d = sched.value <event "RB.0"> event always bytes 64 x 2
  sched.section @F.0 task F 0 {}
  sched.section @F.3 task F 3 {}
  sched.section @B.0 task B 0 {}
  sched.section @B.3 task B 3 {}
  sched.section @SF.0 task SF 0 { sched.send "F of stage 0" to rank 1 from(%x) to(%a[microbatch]) started }
  sched.section @ASF.0 task ASF 0 { sched.await from(%a[microbatch]) }
  // One await may be that of messages of several sections, of which a task executes one.
  sched.section @RF.3.first task RF 3 first { sched.receive "F of stage 2" from rank 1 to(%y, %b[microbatch]) started }
  sched.section @RF.3 task RF 3 { sched.receive "F of stage 2" from rank 1 to(%y, %b[microbatch]) started }
  sched.section @ARF.3 task ARF 3 { sched.await from(%b[microbatch]) }
  sched.section @SB.3 task SB 3 { sched.send "B of stage 3" to rank 1 from(%y) to(%c[microbatch]) started }
  sched.section @ASB.3 task ASB 3 { sched.await from(%c[microbatch]) }
  sched.section @RB.0 task RB 0 { sched.receive "B of stage 1" from rank 1 to(%x, %d[microbatch]) started }
  sched.section @ARB.0 task ARB 0 { sched.await from(%d[microbatch]) }
  sched.entry step [#sched.execute<tasks>]
}
sched.program @step.1 policy "p" stages 4 chains 2 microbatches 2 rank 1 holds [1, 2]
    tasks [F 2 1, SF 2 1, RF 1 0, ASF 2 1, ARF 1 0, F 1 0, B 1 0, SB 1 0, RB 2 1, ASB 1 0, ARB 2 1, B 2 1] {
  %x = sched.value <activation "x"> chain microbatch bytes 8 x 1 of !x
  %y = sched.value <activation "y"> chain microbatch bytes 8 x 1 of !x
  %a = sched.value <event "SF.2"> event always bytes 64 x 2
  %b = sched.value <event "RF.1"> event always bytes 64 x 2
  %c = sched.value <event "SB.1"> event always bytes 64 x 2
  %d = sched.value <event "RB.2"> event always bytes 64 x 2
  sched.section @F.2 task F 2 {}
  sched.section @F.1 task F 1 {}
  sched.section @B.2 task B 2 {}
  sched.section @B.1 task B 1 {}
  sched.section @SF.2 task SF 2 { sched.send "F of stage 2" to rank 0 from(%y) to(%a[microbatch]) started }
  sched.section @ASF.2 task ASF 2 { sched.await from(%a[microbatch]) }
  sched.section @RF.1 task RF 1 { sched.receive "F of stage 0" from rank 0 to(%x, %b[microbatch]) started }
  sched.section @ARF.1 task ARF 1 { sched.await from(%b[microbatch]) }
  sched.section @SB.1 task SB 1 { sched.send "B of stage 1" to rank 0 from(%x) to(%c[microbatch]) started }
  sched.section @ASB.1 task ASB 1 { sched.await from(%c[microbatch]) }
  sched.section @RB.2 task RB 2 { sched.receive "B of stage 3" from rank 0 to(%y, %d[microbatch]) started }
  sched.section @ARB.2 task ARB 2 { sched.await from(%d[microbatch]) }
  sched.entry step [#sched.execute<tasks>]
}
}

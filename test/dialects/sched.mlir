// RUN: tplan-opt %s | tplan-opt | FileCheck %s
// RUN: tplan-opt --mlir-print-op-generic %s | tplan-opt | FileCheck %s
// The syntax of the sched dialect, there and back.

// CHECK: sched.program @step policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1, I 0 0, I 0 1, W 0 0, W 0 1] losses {main = 1.000000e+00 : f64} arena 1408 live 1280 {
sched.program @step policy "p" stages 1 microbatches 2
    tasks [F 0 0, F 0 1, I 0 0, I 0 1, W 0 0, W 0 1] losses {main = 1.0 : f64} arena 1408 live 1280 {
  // CHECK: sched.family @s0.fw from F 0 to W 0 slots 2 bytes 192 slot_of [0, 1] at [128, 320]
  sched.family @s0.fw from F 0 to W 0 slots 2 bytes 192 slot_of [0, 1] at [128, 320]
  // CHECK-NEXT: %[[R:.*]] = sched.value <activation "r0.a.0.res_fw.r0"> residual microbatch bytes 40 x 3 of !nn.tensor<[B 2, S 5], i32> in @s0.fw at 0
  %r = sched.value <activation "r0.a.0.res_fw.r0"> residual microbatch bytes 40 x 3 of !nn.tensor<[B 2, S 5], i32> in @s0.fw at 0
  // CHECK: sched.family @x from I 0 to I 0 slots 1 bytes 0 slot_of [0, 0] at [512]
  sched.family @x from I 0 to I 0 slots 1 bytes 0 slot_of [0, 0] at [512]
  // CHECK: %scalar_lr = sched.value <scalar "lr"> scalar always bytes 8 x 1 of !nn.tensor<[], f64> at 0 given {unit = "1"}
  %lr = sched.value <scalar "lr"> scalar always bytes 8 x 1 of !nn.tensor<[], f64> at 0 given {unit = "1"}
  // CHECK: sched.value <state "m" of @w> state always bytes 8 x 1 at 64
  %m = sched.value <state "m" of @w> state always bytes 8 x 1 at 64
  // CHECK: sched.value <scratch over ["dp"]> workspace always bytes 64 x 1 at 576
  %s = sched.value <scratch over ["dp"]> workspace always bytes 64 x 1 at 576
  // CHECK: %[[N:.*]] = sched.value <rows "tokens"> input always bytes 288 x 1 of !nn.tensor<[B 2, S 8], i32> at 640 given rows <2 x 9 positions 8 vocabulary 32 over ["dp"]>
  %rows = sched.value <rows "tokens"> input always bytes 288 x 1 of !nn.tensor<[B 2, S 8], i32> at 640 given rows <2 x 9 positions 8 vocabulary 32 over ["dp"]>
  // CHECK: %[[L:.*]] = sched.value <loss "main"> scalar always bytes 8 x 2 at 960 pending ["dp"]
  %l = sched.value <loss "main"> scalar always bytes 8 x 2 at 960 pending ["dp"]
  %c = sched.value <activation "c"> chain section bytes 8 x 1 at 1024
  // CHECK: %[[F:.*]] = sched.value <frame "r0.F"> frame section bytes 64 x 1 at 1088
  %f = sched.value <frame "r0.F"> frame section bytes 64 x 1 at 1088
  // CHECK: %[[E:.*]] = sched.value <event "R.0.0"> event always bytes 64 x 4 at 1152
  %e = sched.value <event "R.0.0"> event always bytes 64 x 4 at 1152
  // On a GPU: two ops that are issued by themselves, a graph for each microbatch.
  // CHECK: sched.section @F.0 task F 0 head 2 graph 3 of [0, 1] {
  sched.section @F.0 task F 0 head 2 graph 3 of [0, 1] {
    // CHECK-NEXT: sched.unpack shift 1 from(%[[N]]) to(%[[R]])
    sched.unpack shift 1 from(%rows) to(%r)
    // CHECK-NEXT: sched.copy from(%[[L]][microbatch]) to(%[[C:.*]])
    sched.copy from(%l[microbatch]) to(%c)
    // CHECK-NEXT: sched.run "forward" "a[0..3]" x 4 {
    sched.run "forward" "a[0..3]" x 4 {
      // CHECK-NEXT: sched.call @f from(%[[R]][period - 1] first %scalar_lr) frame %[[F]]
      sched.call @f from(%r[period - 1] first %lr) frame %f
    }
  }
  // CHECK: sched.section @I.0 task I 0 {
  sched.section @I.0 task I 0 {
    // CHECK-NEXT: sched.run "backward" "a[0..3]" x 4 descending {
    sched.run "backward" "a[0..3]" x 4 descending {
      // CHECK-NEXT: sched.zero to(%[[R]][period] last %scalar_lr)
      sched.zero to(%r[period] last %lr)
      // CHECK-NEXT: sched.zero to(%[[L]][(period * 3 + 1) mod 2])
      sched.zero to(%l[(period * 3 + 1) mod 2])
    }
  }
  sched.section @W.0 task W 0 {
    // CHECK: sched.call @f from(%scalar_lr) layers 3
    sched.call @f from(%lr) layers 3
  }
  // CHECK: sched.section @W.0.last task W 0 last {
  sched.section @W.0.last task W 0 last {
    sched.run "backward_weights" "a[0..3]" x 4 {
      // CHECK: sched.call @f from(%scalar_lr) to(%[[E]][period]) started
      sched.call @f from(%lr) to(%e[period]) started
    }
  }
  // CHECK: sched.section @end {
  sched.section @end {
    // CHECK-NEXT: sched.run "await" "a[0..3]" x 4 {
    // CHECK-NEXT: sched.await from(%[[E]][period])
    sched.run "await" "a[0..3]" x 4 { sched.await from(%e[period]) }
    // CHECK: sched.ready
    sched.ready
    // CHECK-NEXT: sched.all_reduce "norm" over ["dp"] from(%[[L]]) to(%[[L]][1])
    sched.all_reduce "norm" over ["dp"] from(%l) to(%l[1])
    // CHECK-NEXT: sched.launch @k from(%[[L]], %[[L]][microbatch]) to(%scalar_lr)
    sched.launch @k from(%l, %l[microbatch]) to(%lr)
  }
  // CHECK: sched.entry step [#sched.execute<each_microbatch @end>, #sched.execute<tasks>, #sched.execute<once @end>]
  sched.entry step [#sched.execute<each_microbatch @end>, #sched.execute<tasks>, #sched.execute<once @end>]
}

// CHECK: rt.func @f
// CHECK: rt.copy %arg0 {sched.places = [#sched.place<frame, 64>]}
rt.func @f(%x: !nn.tensor<[B 2], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = rt.copy %x {sched.places = [#sched.place<frame, 64>]} : !nn.tensor<[B 2], f32> -> !nn.tensor<[B 2], f32>
  rt.return
}

// A pair of tasks: what is of the second one's microbatch says so.
// CHECK: sched.program @pairs
sched.program @pairs policy "p" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  sched.family @s0.fw from F 0 to B 0 slots 2 bytes 128 slot_of [0, 1]
  %r = sched.value <activation "r"> residual microbatch bytes 16 x 2 in @s0.fw
  // CHECK: sched.section @F.0.B.0 task F 0 with B 0 shift -1 {
  sched.section @F.0.B.0 task F 0 with B 0 shift -1 {
    sched.run "forward with backward" "a" x 2 {
      // CHECK: sched.zero to(%[[R:.*]][period], %[[R]][-period + 1] of microbatch - 1, %[[R]][1] first %[[R]] of microbatch - 1)
      sched.zero to(%r[period], %r[-period + 1] of microbatch - 1, %r[1] first %r of microbatch - 1)
    }
  }
}

// A program of several: its stages, its messages, and where its part of a list begins.
// CHECK: sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
sched.program @step.0 policy "p" stages 2 microbatches 1 rank 0 holds [0] tasks [F 0 0, SF 0 0, RB 0 0, B 0 0] {
  // CHECK: %[[W:.*]] = sched.value <parameter of @w> parameter always bytes 8 x 2 first 3
  %w = sched.value <parameter of @w> parameter always bytes 8 x 2 first 3
  // CHECK: %[[P:.*]] = sched.value <gradient_part "stage 1" of @w> gradient always bytes 8 x 1
  %p = sched.value <gradient_part "stage 1" of @w> gradient always bytes 8 x 1
  // CHECK: sched.section @SF.0 task SF 0 {
  sched.section @SF.0 task SF 0 {
    // CHECK-NEXT: sched.send "F of stage 0" to rank 1 from(%[[W]][1], %[[P]])
    sched.send "F of stage 0" to rank 1 from(%w[1], %p)
  }
  sched.section @RB.0 task RB 0 {
    // CHECK: sched.receive "B of stage 1" from rank 1 to(%[[P]])
    sched.receive "B of stage 1" from rank 1 to(%p)
  }
  sched.section @end {
    // CHECK: sched.all_reduce "norm" over ["pp"] from(%[[W]], %[[W]][1]) to(%[[P]], %[[P]])
    sched.all_reduce "norm" over ["pp"] from(%w, %w[1]) to(%p, %p)
  }
}

// What a later op of a period hands to the next period is written before it is read, because the border stands for it in the first.
sched.program @handed_on policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %n = sched.value <number "n"> scalar always bytes 8 x 1
  %x = sched.value <activation "x"> carried section bytes 8 x 1
  %y = sched.value <activation "y"> carried section bytes 8 x 1
  sched.section @end {
    // CHECK: sched.run "forward" "(a, b)[0..5]" x 3 {
    sched.run "forward" "(a, b)[0..5]" x 3 {
      // CHECK-NEXT: sched.launch @k from(%x first %n) to(%y)
      sched.launch @k from(%x first %n) to(%y)
      // CHECK-NEXT: sched.launch @k from(%y) to(%x last %n)
      sched.launch @k from(%y) to(%x last %n)
    }
    // CHECK: sched.run "backward" "(a, b)[0..5]" x 3 descending {
    sched.run "backward" "(a, b)[0..5]" x 3 descending {
      // CHECK-NEXT: sched.launch @k from(%x last %n) to(%y)
      sched.launch @k from(%x last %n) to(%y)
      // CHECK-NEXT: sched.launch @k from(%y) to(%x first %n)
      sched.launch @k from(%y) to(%x first %n)
    }
  }
}

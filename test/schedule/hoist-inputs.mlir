// RUN: tplan-opt --hoist-inputs %s | FileCheck %s
// EXAMPLE
// The tokens of a microbatch, and the row at which its dropout begins, are copied first: two ops that are issued by
// themselves. The function reads both where they are for every microbatch.
!i = !nn.tensor<[], i32>
!t = !nn.tensor<[B 1, S 17], i32>
// CHECK:      %[[OFFSET:.*]] = sched.value <scalar "offset">
// CHECK-NEXT: %[[HERE:.*]] = sched.value <activation "microbatch.offset"> chain section bytes 4 x 1
// CHECK:      sched.section @F.0 task F 0 head 2 {
// CHECK-NEXT:   sched.unpack shift 0
// CHECK-NEXT:   sched.copy from(%[[OFFSET]][microbatch]) to(%[[HERE]])
// CHECK-NEXT:   sched.zero to(%{{.*}})
// CHECK-NEXT:   sched.call @a.F from(%{{.*}}, %[[HERE]])
sched.program @step policy "gpipe" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  %rows = sched.value <rows "tokens"> input always bytes 144 x 1 of !t given rows <1 x 18 positions 17 vocabulary 61>
  %offset = sched.value <scalar "offset"> scalar always bytes 4 x 2 of !i
  %sum = sched.value <loss "main"> scalar always bytes 4 x 1 of !i
  %tokens = sched.value <activation "tokens+0"> input section bytes 68 x 1 of !t
  sched.section @F.0 task F 0 {
    sched.zero to(%sum)
    sched.unpack shift 0 from(%rows) to(%tokens)
    sched.call @a.F from(%tokens, %offset[microbatch])
  }
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
rt.func @a.F(%t: !t {nn.role = "invariant", nn.name = "t"}, %o: !i {nn.role = "scalar", nn.name = "offset"}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
// END

// A value that is read in several sections is copied in each, to one place. One that is written stays where it is, and
// so does one that is read by another number, or in another section.
// CHECK-LABEL: sched.program @several
// CHECK:       sched.section @begin {
// CHECK-NEXT:    sched.zero to(%{{.*}}[microbatch])
// CHECK:       sched.section @F.0 task F 0 head 1 {
// CHECK-NEXT:    sched.copy from(%[[FROM:.*]][microbatch]) to(%[[TO:.*]])
// CHECK-NEXT:    sched.run "forward" "a" x 1 {
// CHECK-NEXT:      sched.call @b.F from(%[[TO]], %[[FROM]][microbatch * 2])
// CHECK:       sched.section @B.0 task B 0 head 1 {
// CHECK-NEXT:    sched.copy from(%[[FROM]][microbatch]) to(%[[TO]])
// CHECK-NEXT:    sched.zero to(%{{.*}}[microbatch])
// CHECK-NEXT:    sched.call @b.F from(%[[TO]], %[[TO]])
sched.program @several policy "gpipe" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  %offset = sched.value <scalar "offset"> scalar always bytes 4 x 3 of !i
  %sum = sched.value <loss "main"> scalar always bytes 4 x 2 of !i
  sched.section @begin {
    sched.zero to(%sum[microbatch])
  }
  sched.section @F.0 task F 0 {
    sched.run "forward" "a" x 1 {
      sched.call @b.F from(%offset[microbatch], %offset[microbatch * 2])
    }
  }
  sched.section @B.0 task B 0 {
    sched.zero to(%sum[microbatch])
    sched.call @b.F from(%offset[microbatch], %offset[microbatch])
  }
  sched.entry step [#sched.execute<once @begin>, #sched.execute<tasks>]
}
rt.func @b.F(%o: !i {nn.role = "scalar", nn.name = "o"}, %p: !i {nn.role = "scalar", nn.name = "p"}) attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}

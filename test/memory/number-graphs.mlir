// RUN: tplan-opt --number-graphs %s | FileCheck %s
// EXAMPLE
// x is kept in two slots, so F and B each are one of two graphs; what the step does once is a graph of its own. Graphs
// are numbered in the order of the step: F is 1 or 2, B is 3 or 4.
// CHECK: sched.section @begin graph 0 {
// CHECK: sched.section @F.0 task F 0 graph 1 of [0, 1, 0, 1] {
// CHECK: sched.section @B.0 task B 0 graph 3 of [0, 1, 0, 1] {
// CHECK: sched.section @evaluate {
!x = !nn.tensor<[D 256], f32>
sched.program @step policy "1f1b" stages 1 microbatches 4 tasks [F 0 0, F 0 1, B 0 0, F 0 2, B 0 1, F 0 3, B 0 2, B 0 3] {
  sched.family @x from F 0 to B 0 slots 2 bytes 1024 slot_of [0, 1, 0, 1]
  %x = sched.value <activation "x"> residual microbatch bytes 1024 x 1 of !x in @x
  %sum = sched.value <loss "main"> scalar always bytes 8 x 1
  sched.section @begin { sched.zero to(%sum) }
  sched.section @F.0 task F 0 { sched.zero to(%x) }
  sched.section @B.0 task B 0 { sched.zero to(%x) }
  sched.section @evaluate { sched.zero to(%x) }
  sched.entry step [#sched.execute<once @begin>, #sched.execute<tasks>]
  sched.entry evaluate [#sched.execute<once @evaluate>]
}
// END

// The head is in no graph; without it all microbatches are alike. What is used by the number of the microbatch makes a
// graph for each, in a remainder as many as there are, whatever the period is. Two families make as many as there are
// pairs of their slots.
// CHECK-LABEL: sched.program @alike
// CHECK: sched.section @F.0 task F 0 head 1 graph 0 {
// CHECK: sched.section @B.0 task B 0 graph 1 of [0, 1, 2, 3] {
// CHECK: sched.section @each graph 5 of [0, 1, 0, 1] {
// CHECK: sched.section @rows graph 7 of [0, 1, 2, 3] {
!t = !nn.tensor<[B 1, S 17], i32>
sched.program @alike policy "1f1b" stages 1 microbatches 4 tasks [F 0 0, F 0 1, B 0 0, F 0 2, B 0 1, F 0 3, B 0 2, B 0 3] {
  sched.family @x from F 0 to B 0 slots 2 bytes 1024 slot_of [0, 1, 0, 1]
  sched.family @y from F 0 to B 0 slots 3 bytes 1024 slot_of [0, 1, 2, 0]
  %x = sched.value <activation "x"> residual microbatch bytes 1024 x 1 in @x
  %y = sched.value <activation "y"> residual microbatch bytes 1024 x 1 in @y
  %sums = sched.value <loss "main"> scalar always bytes 8 x 4
  %rows = sched.value <rows "tokens"> input always bytes 144 x 1 of !t given rows <1 x 18 positions 17 vocabulary 61>
  %tokens = sched.value <activation "tokens+0"> input section bytes 68 x 1 of !t
  sched.section @F.0 task F 0 head 1 {
    sched.zero to(%sums[microbatch])
    sched.zero to(%tokens)
  }
  sched.section @B.0 task B 0 {
    sched.zero to(%x)
    sched.zero to(%y)
  }
  sched.section @each {
    sched.run "zero" "b" x 2 {
      sched.zero to(%sums[(microbatch + period) mod 2])
    }
  }
  sched.section @rows { sched.unpack shift 0 from(%rows) to(%tokens) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<each_microbatch @each>, #sched.execute<each_microbatch @rows>]
}

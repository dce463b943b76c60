// RUN: tplan-opt --merge-pairs --check-starts --split-input-file --verify-diagnostics %s | FileCheck %s
// RUN: sed 's/"tp", 2>>}/"tp", 2>>, tplan.room = array<i64: 2, 0, 0>}/' %s | tplan-opt --merge-pairs --split-input-file 2>&1 | FileCheck %s --check-prefix=ROOM
// EXAMPLE
// F of the second microbatch and B of the first are done together: two layers up in the one, down in the other, call by call.
!x = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["pairs"]}
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c"}) -> (!x {nn.role = "carried", nn.name = "c"}) {
  %0 = rt.collective all_reduce sum %x over ["tp"] {dist.activation} : !x -> !x rt.return %0 : !x }
rt.func @a.B(%x: !x {nn.role = "res_fw", nn.name = "c"}, %g: !x {nn.role = "cot_param", nn.name = "w"}) -> (!x {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !x }
// CHECK:      rt.func @a.F.a.B(%[[X:.+]]: {{.*}} {nn.name = "c", nn.role = "carried"}, %{{.+}} {nn.name = "backward.c", nn.role = "res_fw"}, %[[G:.+]]: {{.*}} {nn.name = "backward.w", nn.role = "cot_param"})
// CHECK:        %[[Y:.+]] = rt.collective all_reduce sum %[[X]]
// CHECK-NEXT:   rt.return %[[Y]], %[[G]]
sched.program @step policy "1f1b_pairs" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  sched.family @s from F 0 to B 0 slots 2 bytes 192 slot_of [0, 1]
  %x = sched.value <activation "x"> residual microbatch bytes 32 x 3 in @s
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 2
  sched.section @F.0 task F 0 { sched.run "forward" "a[0..1]" x 2 { sched.call @a.F from(%x[period]) to(%x[period + 1]) } }
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..1]" x 2 descending { sched.call @a.B from(%x[period + 1], %g[period]) } }
  // CHECK:      sched.section @F.0.B.0 task F 0 with B 0 shift -1 {
  // CHECK-NEXT: sched.run "forward with backward" "a[0..1] with a[0..1]" x 2 {
  // CHECK-NEXT: sched.call @a.F.a.B from(%[[A:.+]][period], %[[A]][-period + 2] of microbatch - 1, %{{.+}}[-period + 1]) to(%[[A]][period + 1]) frame
  sched.entry step [#sched.execute<tasks>] } }
// END

// -----

// F has a layer more, which comes alone; B has the frame of the forward, and gets one of its own; the last layer of B takes
// its cotangent from elsewhere, which is the first turn now.
!x = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["pairs"]}
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c"}) -> (!x {nn.role = "carried", nn.name = "c"}) {
  %0 = rt.collective all_reduce sum %x over ["tp"] {dist.activation} : !x -> !x rt.return %0 : !x }
rt.func @a.B(%x: !x {nn.role = "res_fw", nn.name = "c"}, %g: !x {nn.role = "cot_carried", nn.name = "c"}) -> (!x {nn.role = "cot_carried", nn.name = "c"}) { rt.return %g : !x }
sched.program @step policy "1f1b_pairs" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  sched.family @s from F 0 to B 0 slots 2 bytes 256 slot_of [0, 1]
  %x = sched.value <activation "x"> residual microbatch bytes 32 x 4 in @s
  %frame = sched.value <frame "f"> frame section bytes 64 x 1
  // CHECK: %[[D:.+]] = sched.value <activation "d"> cotangent section bytes 32 x 3
  // CHECK: %[[E:.+]] = sched.value <activation "e"> cotangent section bytes 32 x 1
  %d = sched.value <activation "d"> cotangent section bytes 32 x 3
  %e = sched.value <activation "e"> cotangent section bytes 32 x 1
  %s = sched.value <scalar "s"> scalar always bytes 32 x 1
  sched.section @F.0 task F 0 {
    sched.zero to(%x)
    sched.run "forward" "a[0..2]" x 3 { sched.call @a.F from(%x[period]) to(%x[period + 1]) frame %frame }
    sched.call @a.B from(%s, %s) to(%e) frame %frame
  }
  sched.section @B.0 task B 0 {
    sched.zero to(%e)
    sched.run "backward" "a[0..1]" x 2 descending { sched.call @a.B from(%x[period + 1], %d[period + 1] last %e) to(%d[period]) frame %frame }
  }
  // CHECK:      sched.section @F.0.B.0 task F 0 with B 0 shift -1 {
  // CHECK-NEXT: sched.zero to(%[[A:.+]])
  // CHECK-NEXT: sched.zero to(%[[MINE:.+]])
  // CHECK-NEXT: sched.run "forward with backward" "a[0..2] with a[0..1]" x 2 {
  // CHECK-NEXT: sched.call @a.F.a.B from(%[[A]][period], %[[A]][-period + 2] of microbatch - 1, %[[D]][-period + 2] first %[[MINE]]) to(%[[A]][period + 1], %[[D]][-period + 1]) frame
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "forward" "a[0..2]" x 1 {
  // CHECK-NEXT: sched.call @a.F from(%[[A]][2]) to(%[[A]][3]) frame
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.call @a.B from(%{{.+}}, %{{.+}}) to(%[[E]]) frame
  sched.entry step [#sched.execute<tasks>] } }

// -----

// Both write one sum: they stay as they are.
!x = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
// expected-warning@below {{`pairs` merges nothing: layers gain by it that exchange activations, as those of `shard .. over tp` do, and neither weights nor gradients, as with zero 2 and 3, and tasks that write nothing that the other one touches; found schedule accumulate}}
tplan.plan @p {recipe = "r", cluster = "", overlap = ["pairs"]}
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c"}) -> (!x {nn.role = "carried", nn.name = "c"}) {
  %0 = rt.collective all_reduce sum %x over ["tp"] {dist.activation} : !x -> !x rt.return %0 : !x }
sched.program @step policy "1f1b_pairs" stages 1 microbatches 2 tasks [F 0 0, F 0 1 with B 0 0, B 0 1] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 1
  sched.section @F.0 task F 0 { sched.run "forward" "a" x 1 { sched.call @a.F from(%g) to(%g) } }
  // CHECK: sched.section @B.0
  // CHECK-NOT: sched.section @F
  // CHECK: sched.entry
  sched.section @B.0 task B 0 { sched.run "backward" "a" x 1 { sched.call @a.F from(%g) to(%g) } }
  sched.entry step [#sched.execute<tasks>] } }

// -----

// Nothing is done together.
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
// expected-warning@below {{`pairs` merges nothing: no F is done together with a backward that follows it; with 1f1b_pairs, dualpipe or dualpipe_v it is; found schedule accumulate}}
tplan.plan @p {recipe = "r", cluster = "", overlap = ["tp", "pairs"]}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>] } }

// A program whose memory holds gathers, and nothing else in flight, has no room for the temporaries of both.
// ROOM:     tplan.room = array<i64: 2, 0, 0>
// ROOM-NOT: with B 0 shift
// ROOM:     tplan.room = array<i64: 2, 0, 0>
// ROOM-NOT: with B 0 shift
// ROOM:     tplan.room = array<i64: 2, 0, 0>

// RUN: tplan-opt --keep-gathered --check-starts --split-input-file %s | FileCheck %s
// EXAMPLE
// The backward of each microbatch follows its forward, so it reads the weight that this one has gathered.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @exit.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
// CHECK-NOT: rt.func @exit.B.gather
rt.func @exit.B.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
rt.func @exit.B(%w: !w {nn.role = "in_flight", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !w }
sched.program @step policy "accumulate" stages 1 microbatches 2 tasks [F 0 0, B 0 0, F 0 1, B 0 1] {
  // CHECK: sched.family @F.0.kept from F 0 to B 0 slots 1 bytes 64 slot_of [0, 0]
  // CHECK: %[[KEPT:.+]] = sched.value <in_flight "F"> in_flight microbatch bytes 32 x 1 in @F.0.kept
  // CHECK-NOT: sched.value <in_flight "B">
  %w = sched.value <parameter of @exit.w> parameter always bytes 16 x 1
  %g = sched.value <gradient of @exit.w> gradient always bytes 32 x 1
  %f = sched.value <in_flight "F"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "B"> in_flight section bytes 32 x 1
  %e = sched.value <event "F"> event always bytes 64 x 1
  %d = sched.value <event "B"> event always bytes 64 x 1
  sched.section @F.0 task F 0 { sched.run "forward" "exit" x 1 { sched.call @exit.F.gather from(%w) to(%f, %e) started sched.await from(%e) } }
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK-NEXT: sched.run "backward" "exit" x 1 {
  // CHECK-NEXT: sched.call @exit.B from(%[[KEPT]], %{{.+}})
  sched.section @B.0 task B 0 { sched.run "backward" "exit" x 1 { sched.call @exit.B.gather from(%w) to(%b, %d) started sched.await from(%d) sched.call @exit.B from(%b, %g) } }
  sched.entry step [#sched.execute<tasks>] } }
// END

// -----

// The forward of the next microbatch comes before the backward, and gathers into the same memory: both gather.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @exit.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
rt.func @exit.B.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
sched.program @step policy "gpipe" stages 1 microbatches 2 tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
  // CHECK-NOT: sched.family
  %w = sched.value <parameter of @exit.w> parameter always bytes 16 x 1
  %f = sched.value <in_flight "F"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "B"> in_flight section bytes 32 x 1
  %e = sched.value <event "F"> event always bytes 64 x 1
  %d = sched.value <event "B"> event always bytes 64 x 1
  sched.section @F.0 task F 0 { sched.run "forward" "exit" x 1 { sched.call @exit.F.gather from(%w) to(%f, %e) started sched.await from(%e) } }
  // CHECK: sched.call @exit.B.gather
  sched.section @B.0 task B 0 { sched.run "backward" "exit" x 1 { sched.call @exit.B.gather from(%w) to(%b, %d) started sched.await from(%d) } }
  sched.entry step [#sched.execute<tasks>] } }

// -----

// In another type: the backward gathers what it needs.
!w = !nn.tensor<[D 8], f32>
!n = !nn.tensor<[D 8], bf16>
!own = !nn.tensor<[own.rows 4], f32>
!ownn = !nn.tensor<[own.rows 4], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @exit.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
rt.func @exit.B.gather(%w: !ownn {nn.role = "param", nn.name = "w"}) -> (!n {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !ownn -> !n rt.return %0 : !n }
sched.program @step policy "accumulate" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %w = sched.value <parameter of @exit.w> parameter always bytes 16 x 1
  %v = sched.value <parameter of @exit.w.bf16> parameter always bytes 8 x 1
  %f = sched.value <in_flight "F"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "B"> in_flight section bytes 16 x 1
  %e = sched.value <event "F"> event always bytes 64 x 1
  %d = sched.value <event "B"> event always bytes 64 x 1
  sched.section @F.0 task F 0 { sched.run "forward" "exit" x 1 { sched.call @exit.F.gather from(%w) to(%f, %e) started sched.await from(%e) } }
  // CHECK: sched.section @B.0
  // CHECK: sched.call @exit.B.gather
  sched.section @B.0 task B 0 { sched.run "backward" "exit" x 1 { sched.call @exit.B.gather from(%v) to(%b, %d) started sched.await from(%d) } }
  sched.entry step [#sched.execute<tasks>] } }

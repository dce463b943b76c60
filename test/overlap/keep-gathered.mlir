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
rt.func @exit.F(%w: !w {nn.role = "in_flight", nn.name = "w"}) { rt.return }
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
  sched.section @F.0 task F 0 { sched.run "forward" "exit" x 1 { sched.call @exit.F.gather from(%w) to(%f, %e) started sched.await from(%e) sched.call @exit.F from(%f) } }
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

// The first layer's weight would be kept while the second one is computed twice: it is gathered twice. The second one's
// is kept, and its gather stays a function because the evaluation calls it.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
// CHECK: rt.func @z.gather
rt.func @z.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w rt.return %0 : !w }
rt.func @layer(%w: !w {nn.role = "in_flight", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !w }
sched.program @step policy "accumulate" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  // CHECK: sched.family @F.0.kept from F 0 to B 0 slots 1 bytes 64
  // CHECK: %[[Z:.+]] = sched.value <in_flight "Fz"> in_flight microbatch bytes 32 x 1 in @F.0.kept
  %a = sched.value <parameter of @a.w> parameter always bytes 16 x 1
  %z = sched.value <parameter of @z.w> parameter always bytes 16 x 1
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 1
  %fa = sched.value <in_flight "Fa"> in_flight section bytes 32 x 1
  %fz = sched.value <in_flight "Fz"> in_flight section bytes 32 x 1
  %ba = sched.value <in_flight "Ba"> in_flight section bytes 32 x 1
  %bz = sched.value <in_flight "Bz"> in_flight section bytes 32 x 1
  %ez = sched.value <in_flight "Ez"> in_flight section bytes 32 x 1
  %e0 = sched.value <event "0"> event always bytes 64 x 1
  %e1 = sched.value <event "1"> event always bytes 64 x 1
  %e2 = sched.value <event "2"> event always bytes 64 x 1
  %e3 = sched.value <event "3"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {
    sched.run "forward" "a" x 1 { sched.call @a.gather from(%a) to(%fa, %e0) started sched.await from(%e0) sched.call @layer from(%fa, %g) }
    sched.run "forward" "z" x 1 { sched.call @z.gather from(%z) to(%fz, %e1) started sched.await from(%e1) sched.call @layer from(%fz, %g) } }
  // CHECK: sched.section @B.0 task B 0
  // CHECK-NEXT: sched.run "backward" "z" x 1 {
  // CHECK-NEXT: sched.call @layer from(%[[Z]]
  // CHECK: sched.run "backward" "a" x 1 {
  // CHECK-NEXT: sched.call @a.gather
  sched.section @B.0 task B 0 {
    sched.run "backward" "z" x 1 { sched.call @z.gather from(%z) to(%bz, %e2) started sched.await from(%e2) sched.call @layer from(%bz, %g) }
    sched.run "backward" "a" x 1 { sched.call @a.gather from(%a) to(%ba, %e3) started sched.await from(%e3) sched.call @layer from(%ba, %g) } }
  sched.section @evaluate { sched.call @z.gather from(%z) to(%ez) }
  sched.entry step [#sched.execute<tasks>] sched.entry evaluate [#sched.execute<once @evaluate>] } }

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

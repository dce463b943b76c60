// RUN: tplan-opt --cut-last-layer --check-starts --split-input-file %s | FileCheck %s
// RUN: tplan-opt --cut-last-layer --split-input-file %s | FileCheck %s --check-prefix=HALVES
// RUN: sed 's/"dp", 2>>}/"dp", 2>>, tplan.room = array<i64: 2, 0, 0>}/' %s | tplan-opt --cut-last-layer --split-input-file | FileCheck %s --check-prefix=ROOM
// EXAMPLE
// The gradient of @v is there after one GEMM, that of @u after two. So the last of two layers sums @v while it computes that of @u.
!x = !nn.tensor<[B 64, D 64], f32>
!w = !nn.tensor<[D 64, D2 64], f32>
!y = !nn.tensor<[B 64, D2 64], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%x: !x {nn.role = "carried", nn.name = "c"}, %w: !w {nn.role = "param", nn.name = "w"}, %d: !y {nn.role = "cot_carried", nn.name = "c"}, %u: !w {nn.role = "cot_param", nn.name = "u"}, %v: !w {nn.role = "cot_param", nn.name = "v"})
    -> (!w {nn.role = "cot_param", nn.name = "u"}, !w {nn.role = "cot_param", nn.name = "v"}) {
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.matmul %x, %0 onto %u : (!x, !y, !w) -> !w
  %2 = rt.matmul %x, %d onto %v : (!x, !y, !w) -> !w
  rt.return %1, %2 : !w, !w }
rt.func @a.R(%u: !w {nn.role = "cot_param", nn.name = "u"}, %v: !w {nn.role = "cot_param", nn.name = "v"}) -> (!w {nn.role = "cot_param", nn.name = "u"}, !w {nn.role = "cot_param", nn.name = "v"}) {
  %0 = rt.collective all_reduce sum %u over ["dp"] : !w -> !w
  %1 = rt.collective all_reduce sum %v over ["dp"] : !w -> !w rt.return %0, %1 : !w, !w }
sched.program @step policy "accumulate" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> residual entry bytes 16384 x 2
  %w = sched.value <parameter of @a.w> parameter always bytes 16384 x 2
  %g = sched.value <gradient of @a.w> gradient always bytes 16384 x 4
  %e = sched.value <event "R.0.0"> event always bytes 64 x 2
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 { sched.run "backward" "a[0..1]" x 2 descending { sched.call @a.B from(%x[period], %w[period], %x, %g[period], %g[period + 2]) sched.call @a.R from(%g[period], %g[period + 2]) to(%e[period]) started } }
  sched.section @end { sched.run "await" "a[0..1]" x 2 { sched.await from(%e[period]) } }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>] } }
// CHECK:        sched.call @a.B.last.first from(%[[X:.+]], %[[X]], %[[G:.+]][2])
// CHECK-NEXT:     sched.call @a.B.last.sums.first from(%[[G]][2]) to(%[[FIRST:.+]]) started
// CHECK-NEXT:     sched.call @a.B.last.rest from(%[[X]], %{{.+}}, %[[G]])
// CHECK-NEXT:     sched.call @a.B.last.sums.rest from(%[[G]]) to(%[[E:.+]]) started
// END
// CHECK:      sched.section @end {
// CHECK-NEXT:   sched.run "await" "a[0..1]" x 2 {
// CHECK-NEXT:     sched.await from(%[[E]][period])
// CHECK-NEXT:   }
// CHECK-NEXT:   sched.await from(%[[FIRST]])

// HALVES:      rt.func @a.B.last.first(
// HALVES-NEXT:   rt.matmul %arg0, %arg1 onto %arg2
// HALVES:      rt.func @a.B.last.rest(
// HALVES-NEXT:   rt.matmul %arg0, %arg1 :
// HALVES-NEXT:   rt.matmul %arg0, %{{.+}} onto
// HALVES:      sched.section @B.0 task B 0 {
// HALVES-NEXT:   sched.run "backward" "a[0..1]" x 1 descending {
// HALVES-NEXT:     sched.call @a.B from(%[[X:.+]][1], %[[W:.+]][1], %[[X]], %[[G:.+]][1], %[[G]][3])
// HALVES-NEXT:     sched.call @a.R from(%[[G]][1], %[[G]][3]) to(%[[E:.+]][1]) started

// -----

// One gradient alone, and a sum of what is no gradient of the layer: they stay as they are.
!w = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.B(%u: !w {nn.role = "cot_param", nn.name = "u"}, %v: !w {nn.role = "cot_param", nn.name = "v"}) -> (!w {nn.role = "cot_param", nn.name = "u"}, !w {nn.role = "cot_param", nn.name = "v"}) { rt.return %u, %v : !w, !w }
rt.func @a.R(%u: !w {nn.role = "cot_param", nn.name = "u"}) -> (!w {nn.role = "cot_param", nn.name = "u"}) {
  %0 = rt.collective all_reduce sum %u over ["dp"] : !w -> !w rt.return %0 : !w }
// CHECK-NOT: .first
sched.program @step policy "accumulate" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 2
  %h = sched.value <gradient of @b.w> gradient always bytes 32 x 1
  %e = sched.value <event "R.0.0"> event always bytes 64 x 2
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {
    // CHECK: sched.run "backward" "b" x 1 {
    sched.run "backward" "b" x 1 { sched.call @a.B from(%g, %g[1]) sched.call @a.R from(%h) to(%e[1]) started }
    // CHECK: sched.run "backward" "a" x 1 {
    sched.run "backward" "a" x 1 { sched.call @a.B from(%g, %g[1]) sched.call @a.R from(%g) to(%e) started }
  }
  sched.section @end { sched.await from(%e) sched.await from(%e[1]) }
  sched.entry step [#sched.execute<tasks>, #sched.execute<once @end>] } }

// Where a program's memory holds gathers, and nothing else in flight, layers stay whole.
// ROOM:     tplan.room = array<i64: 2, 0, 0>
// ROOM-NOT: .last
// ROOM:     tplan.room = array<i64: 2, 0, 0>

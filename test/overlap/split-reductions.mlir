// RUN: tplan-opt --split-reductions --split-input-file %s | FileCheck %s
// EXAMPLE
// The gradient of a norm is summed over dp, and then over tp. It gets a function and a loop of its own, so that the sum over
// dp of the weight can be started without keeping the stream of tp.
!w = !nn.tensor<[D 8, F 4], f32>
!n = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
// CHECK:      rt.func @a.R(%[[W:.+]]: !nn.tensor<[D 8, F 4], f32> {{.*}}) -> (!nn.tensor<[D 8, F 4], f32>
// CHECK-NEXT:   all_reduce sum %[[W]] over ["dp"]
// CHECK:      rt.func @a.R.others(%[[N:.+]]: !nn.tensor<[D 8], f32> {{.*}}) -> (!nn.tensor<[D 8], f32>
// CHECK-NEXT:   %[[X:.+]] = rt.collective all_reduce sum %[[N]] over ["dp"]
// CHECK-NEXT:   all_reduce sum %[[X]] over ["tp"]
rt.func @a.R(%n: !n {nn.role = "cot_param", nn.name = "n"}, %w: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!n {nn.role = "cot_param", nn.name = "n"}, !w {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %n over ["dp"] : !n -> !n
  %1 = rt.collective all_reduce sum %0 over ["tp"] : !n -> !n
  %2 = rt.collective all_reduce sum %w over ["dp"] : !w -> !w
  rt.return %1, %2 : !n, !w
}
// CHECK:        sched.run "reduce" "a[0..2]" x 3 {
// CHECK-NEXT:     sched.call @a.R from(%[[GW:.+]][period])
// CHECK:        sched.run "reduce" "a[0..2]" x 3 {
// CHECK-NEXT:     sched.call @a.R.others from(%[[GN:.+]][period]) frame %{{.+}}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %n = sched.value <gradient of @a.n> gradient always bytes 32 x 3
  %w = sched.value <gradient of @a.w> gradient always bytes 128 x 3
  sched.section @F.0 task F 0 {} sched.section @B.0 task B 0 {}
  sched.section @R.0 task R 0 { sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%n[period], %w[period]) } }
  sched.entry step [#sched.execute<tasks>]
}
}
// END

// -----

// A function with sums over one group stays as it is, whatever else it has, and so does one whose sums are of the same gradient.
!n = !nn.tensor<[D 8], f32>
!o = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.R(%n: !n {nn.role = "cot_param", nn.name = "n"}, %o: !n {nn.role = "cot_param", nn.name = "o"})
    -> (!n {nn.role = "cot_param", nn.name = "n"}, !n {nn.role = "cot_param", nn.name = "o"}) {
  %0 = rt.collective all_reduce sum %n over ["dp"] : !n -> !n
  %1 = rt.slice view %o over ["dp"] : !n -> !o
  %2 = rt.place %1 into %o over ["dp"] : !o, !n -> !n
  rt.return %0, %2 : !n, !n
}
rt.func @b.R(%n: !n {nn.role = "cot_param", nn.name = "n"}) -> (!n {nn.role = "cot_param", nn.name = "n"}) {
  %0 = rt.collective all_reduce sum %n over ["dp"] : !n -> !n
  %1 = rt.collective all_reduce sum %0 over ["tp"] : !n -> !n
  rt.return %1 : !n
}
// CHECK-NOT: others
// CHECK:     sched.section @R.0
// CHECK:       sched.call @a.R
// CHECK-NEXT:  sched.call @b.R
// CHECK-NOT: others
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %n = sched.value <gradient of @a.n> gradient always bytes 32 x 3
  %m = sched.value <gradient of @b.n> gradient always bytes 32 x 3
  sched.section @F.0 task F 0 {}
  sched.section @B.0 task B 0 {}
  sched.section @R.0 task R 0 {
    sched.run "reduce" "a, b [0..2]" x 3 {
      sched.call @a.R from(%n[period], %n[period])
      sched.call @b.R from(%m[period])
    }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// Two hops over dp are one group: the weight's sum stays, whichever hop moves the most bytes, and the norm's, over tp after that, leaves.
!w = !nn.tensor<[D 8, F 4], f32>
!o = !nn.tensor<[own.rows 4, F 4], f32>
!n = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp.0", 2 of "dp">, <"dp.1", 2 of "dp">, <"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
// CHECK:      rt.func @a.R(
// CHECK-NEXT:   reduce_scatter sum %{{.+}} over ["dp.1"]
// CHECK-NEXT:   all_reduce sum %{{.+}} over ["dp.0"]
// CHECK-NEXT:   all_gather sum %{{.+}} over ["dp.1"]
// CHECK:      rt.func @a.R.others(
// CHECK-NEXT:   all_reduce sum %{{.+}} over ["dp.1"]
// CHECK-NEXT:   all_reduce sum %{{.+}} over ["tp"]
rt.func @a.R(%n: !n {nn.role = "cot_param", nn.name = "n"}, %w: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!n {nn.role = "cot_param", nn.name = "n"}, !w {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %n over ["dp.1"] : !n -> !n
  %1 = rt.collective all_reduce sum %0 over ["tp"] : !n -> !n
  %2 = rt.collective reduce_scatter sum %w over ["dp.1"] : !w -> !o
  %3 = rt.collective all_reduce sum %2 over ["dp.0"] : !o -> !o
  %4 = rt.collective all_gather sum %3 over ["dp.1"] : !o -> !w
  rt.return %1, %4 : !n, !w
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %n = sched.value <gradient of @a.n> gradient always bytes 32 x 3
  %w = sched.value <gradient of @a.w> gradient always bytes 128 x 3
  sched.section @F.0 task F 0 {} sched.section @B.0 task B 0 {}
  sched.section @R.0 task R 0 { sched.run "reduce" "a[0..2]" x 3 { sched.call @a.R from(%n[period], %w[period]) } }
  sched.entry step [#sched.execute<tasks>]
}
}

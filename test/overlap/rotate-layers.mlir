// RUN: tplan-opt --rotate-layers --check-starts --split-input-file %s | FileCheck %s
// EXAMPLE
// The weight of a layer is gathered while the layer before it goes forward.
!w = !nn.tensor<[D 8], f32>
!own = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.F.gather(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !own -> !w
  rt.return %0 : !w
}
rt.func @a.F(%x: !w {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "in_flight", nn.name = "w"}) -> (!w {nn.role = "carried", nn.name = "c0"}) { rt.return %x : !w }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %x = sched.value <activation "x"> chain always bytes 32 x 5
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 4
  %a = sched.value <in_flight "a.F.gather w"> in_flight section bytes 32 x 1
  // CHECK:      sched.run "forward" "a[1..4]" x 1 {
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[W:.+]]) to(%[[A:.+]], %[[E:.+]]) started
  // CHECK:      sched.run "forward" "a[1..4]" x 3 {
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[W]][period + 1]) to(%[[A]][(period + 1) mod 2], %[[E]][(period + 1) mod 2]) started
  // CHECK-NEXT:   sched.await from(%[[E]][period mod 2])
  // CHECK-NEXT:   sched.call @a.F from(%[[X:.+]][period], %[[A]][period mod 2]) to(%[[X]][period + 1])
  // CHECK:      sched.run "forward" "a[1..4]" x 1 {
  // CHECK-NEXT:   sched.await from(%[[E]][1])
  // CHECK-NEXT:   sched.call @a.F from(%[[X]][3], %[[A]][1]) to(%[[X]][4])
  sched.section @F.0 task F 0 { sched.run "forward" "a[1..4]" x 4 {
    sched.call @a.F.gather from(%w[period]) to(%a)
    sched.call @a.F from(%x[period], %a) to(%x[period + 1])
  } }
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
}
// END

// -----

// The gradients of a layer are summed while the layer before it goes backward, and then added. In the last one nothing is left to
// hide them.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B(%r: !g {nn.role = "res_fw", nn.name = "r"}) -> (!g {nn.role = "in_flight", nn.name = "w"}) { rt.return %r : !g }
rt.func @a.B.sum(%g: !g {nn.role = "in_flight", nn.name = "w"}) -> (!g {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
rt.func @a.B.add(%g: !g {nn.role = "cot_param", nn.name = "w"}, %s: !g {nn.role = "in_flight", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %r = sched.value <activation "r"> residual always bytes 32 x 4
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 4
  // CHECK: %[[P:.+]] = sched.value <in_flight "a.B w"> in_flight section bytes 32 x 2
  %p = sched.value <in_flight "a.B w"> in_flight section bytes 32 x 1
  // CHECK: %[[S:.+]] = sched.value <in_flight "a.B.sum w"> in_flight section bytes 32 x 2
  %s = sched.value <in_flight "a.B.sum w"> in_flight section bytes 32 x 1
  // CHECK: %[[E:.+]] = sched.value <event "B.0.layers.0"> event always bytes 64 x 2
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK-NEXT: sched.run "backward" "a[1..4]" x 1 descending {
  // CHECK-NEXT:   sched.call @a.B from(%[[R:.+]][3]) to(%[[P]])
  // CHECK-NEXT:   sched.call @a.B.sum from(%[[P]]) to(%[[S]], %[[E]]) started
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "backward" "a[1..4]" x 3 descending {
  // CHECK-NEXT:   sched.call @a.B from(%[[R]][period]) to(%[[P]][(period + 1) mod 2])
  // CHECK-NEXT:   sched.call @a.B.sum from(%[[P]][(period + 1) mod 2]) to(%[[S]][(period + 1) mod 2], %[[E]][(period + 1) mod 2]) started
  // CHECK-NEXT:   sched.await from(%[[E]][period mod 2])
  // CHECK-NEXT:   sched.call @a.B.add from(%[[G:.+]][period + 1], %[[S]][period mod 2])
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "backward" "a[1..4]" x 1 descending {
  // CHECK-NEXT:   sched.await from(%[[E]][1])
  // CHECK-NEXT:   sched.call @a.B.add from(%[[G]], %[[S]][1])
  // CHECK-NEXT: }
  sched.section @B.0 task B 0 { sched.run "backward" "a[1..4]" x 4 descending {
    sched.call @a.B from(%r[period]) to(%p)
    sched.call @a.B.sum from(%p) to(%s)
    sched.call @a.B.add from(%g[period], %s)
  } }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// Weights are gathered a layer ahead, over runs, too; layers of two kinds share what is in flight; borders stay where they are.
!w = !nn.tensor<[D 8], f32>
!o = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.F.gather(%w: !o {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !o -> !w
  rt.return %0 : !w
}
rt.func @a.F(%x: !w {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "in_flight", nn.name = "w"})
    -> (!w {nn.role = "carried", nn.name = "c0"}) { rt.return %x : !w }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %w = sched.value <parameter of @a.w> parameter always bytes 32 x 3
  %v = sched.value <parameter of @b.w> parameter always bytes 32 x 3
  %u = sched.value <parameter of @c.w> parameter always bytes 32 x 1
  %in = sched.value <activation "in"> chain always bytes 32 x 1
  %out = sched.value <activation "out"> chain always bytes 32 x 1
  %h = sched.value <activation "h"> carried always bytes 32 x 2
  %m = sched.value <activation "m"> carried always bytes 32 x 1
  // CHECK: %[[A:.+]] = sched.value <in_flight "a"> in_flight section bytes 64 x 2
  // CHECK-NOT: in_flight "b"
  %a = sched.value <in_flight "a"> in_flight section bytes 32 x 1
  %b = sched.value <in_flight "b"> in_flight section bytes 64 x 1
  // CHECK: %[[C:.+]] = sched.value <in_flight "c"> in_flight section bytes 32 x 1
  %c = sched.value <in_flight "c"> in_flight section bytes 32 x 1
  // CHECK:      sched.section @F.0 task F 0 {
  // CHECK-NEXT: sched.run "forward" "ab" x 1 {
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[W:.+]]) to(%[[A]], %[[E:.+]]) started
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "forward" "ab" x 2 {
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[V:.+]][period]) to(%[[A]][1], %[[E]][1]) started
  // CHECK-NEXT:   sched.await from(%[[E]])
  // CHECK-NEXT:   sched.call @a.F from(%[[H:.+]][period - 1] first %{{.+}}, %[[A]])
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[W]][period + 1]) to(%[[A]], %[[E]]) started
  // CHECK-NEXT:   sched.await from(%[[E]][1])
  // CHECK-NEXT:   sched.call @a.F from(%{{.+}}, %[[A]][1]) to(%[[H]][period])
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "forward" "ab" x 1 {
  // CHECK-NEXT:   sched.call @a.F.gather from(%[[V]][2]) to(%[[A]][1], %[[E]][1]) started
  // CHECK-NEXT:   sched.await from(%[[E]])
  // CHECK-NEXT:   sched.call @a.F from(%[[H]][1], %[[A]])
  // CHECK-NEXT:   sched.call @a.F.gather from(%{{.+}}) to(%[[C]], %[[D:.+]]) started
  // CHECK-NEXT:   sched.await from(%[[E]][1])
  // CHECK-NEXT:   sched.call @a.F from(%{{.+}}, %[[A]][1]) to(%[[OUT:.+]])
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "forward" "c" x 1 {
  // CHECK-NEXT:   sched.await from(%[[D]])
  // CHECK-NEXT:   sched.call @a.F from(%[[OUT]], %[[C]])
  sched.section @F.0 task F 0 {
    sched.run "forward" "ab" x 3 {
      sched.call @a.F.gather from(%w[period]) to(%a)
      sched.call @a.F from(%h[period - 1] first %in, %a) to(%m)
      sched.call @a.F.gather from(%v[period]) to(%b)
      sched.call @a.F from(%m, %b) to(%h[period] last %out)
    }
    sched.run "forward" "c" x 1 {
      sched.call @a.F.gather from(%u) to(%c)
      sched.call @a.F from(%out, %c) to(%out)
    }
  }
  sched.section @B.0 task B 0 {}
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// What the next layer's backward also adds to a gradient, itself, comes after the sum: nothing is rotated.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
// CHECK-LABEL: rt.func @b.B(
rt.func @b.B(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}, !g {nn.role = "in_flight", nn.name = "w"}) { rt.return %g, %g : !g, !g }
rt.func @b.B.sum(%g: !g {nn.role = "in_flight", nn.name = "w"}) -> (!g {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
rt.func @b.B.add(%g: !g {nn.role = "cot_param", nn.name = "w"}, %s: !g {nn.role = "in_flight", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 1
  %p = sched.value <in_flight "a.B w"> in_flight section bytes 32 x 1
  %s = sched.value <in_flight "a.B.sum w"> in_flight section bytes 32 x 1
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK-NEXT: sched.run "backward" "a[1..4]" x 4 descending {
  // CHECK-NEXT:   sched.call @b.B from(%[[G:.+]]) to(%[[P:.+]])
  // CHECK-NEXT:   sched.call @b.B.sum from(%[[P]]) to(%[[S:.+]])
  // CHECK-NEXT:   sched.call @b.B.add from(%[[G]], %[[S]])
  // CHECK-NEXT: }
  sched.section @B.0 task B 0 { sched.run "backward" "a[1..4]" x 4 descending {
    sched.call @b.B from(%g) to(%p)
    sched.call @b.B.sum from(%p) to(%s)
    sched.call @b.B.add from(%g, %s)
  } }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// An await of what a layer starts after its sum comes after that.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// CHECK-LABEL: rt.func @c.B(
rt.func @c.B(%r: !g {nn.role = "res_fw", nn.name = "r"}) -> (!g {nn.role = "in_flight", nn.name = "w"}) { rt.return %r : !g }
rt.func @c.B.sum(%g: !g {nn.role = "in_flight", nn.name = "w"}) -> (!g {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["dp"] : !g -> !g
  rt.return %0 : !g
}
rt.func @c.B.add(%g: !g {nn.role = "cot_param", nn.name = "w"}, %s: !g {nn.role = "in_flight", nn.name = "w"})
    -> (!g {nn.role = "cot_param", nn.name = "w"}) { rt.return %g : !g }
rt.func @c.R(%g: !g {nn.role = "cot_param", nn.name = "w"}) -> (!g {nn.role = "cot_param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %g over ["tp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %r = sched.value <activation "r"> residual always bytes 32 x 1
  %g = sched.value <gradient of @c.w> gradient always bytes 32 x 1
  %p = sched.value <in_flight "c.B w"> in_flight section bytes 32 x 1
  %s = sched.value <in_flight "c.B.sum w"> in_flight section bytes 32 x 1
  %e = sched.value <event "R.0.0"> event always bytes 64 x 1
  sched.section @F.0 task F 0 {}
  // CHECK:      sched.section @B.0 task B 0 {
  // CHECK:        sched.call @c.B.sum {{.*}} started
  // CHECK:        sched.run "backward" "c" x 1 descending {
  // CHECK-NEXT:     sched.await
  // CHECK-NEXT:     sched.call @c.B.add
  // CHECK-NEXT:     sched.call @c.R {{.*}} started
  // CHECK-NEXT:   }
  // CHECK-NEXT:   sched.run "await" "c" x 1 {
  sched.section @B.0 task B 0 {
    sched.run "backward" "c" x 1 descending {
      sched.call @c.B from(%r) to(%p)
      sched.call @c.B.sum from(%p) to(%s)
      sched.call @c.B.add from(%g, %s)
      sched.call @c.R from(%g) to(%e) started
    }
    sched.run "await" "c" x 1 { sched.await from(%e) }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

// -----

// A layer whose weight has come already starts the gather of the next one, and two runs that have been one go on by turns.
!w = !nn.tensor<[D 8], f32>
!o = !nn.tensor<[own.rows 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @a.B.gather(%w: !o {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "w"}) {
  %0 = rt.collective all_gather sum %w over ["dp"] : !o -> !w
  rt.return %0 : !w
}
// CHECK-LABEL: rt.func @d.B(
rt.func @d.B(%w: !w {nn.role = "in_flight", nn.name = "w"}) -> (!w {nn.role = "in_flight", nn.name = "g"}) { rt.return %w : !w }
rt.func @d.B.sum(%g: !w {nn.role = "in_flight", nn.name = "g"}) -> (!o {nn.role = "in_flight", nn.name = "g"}) {
  %0 = rt.collective reduce_scatter sum %g over ["dp"] : !w -> !o
  rt.return %0 : !o
}
rt.func @d.B.add(%g: !o {nn.role = "cot_param", nn.name = "g"}, %s: !o {nn.role = "in_flight", nn.name = "g"})
    -> (!o {nn.role = "cot_param", nn.name = "g"}) { rt.return %g : !o }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {
  %w = sched.value <parameter of @a.w> parameter always bytes 16 x 4
  %g = sched.value <gradient of @a.w> gradient always bytes 16 x 4
  %come = sched.value <in_flight "ahead"> in_flight always bytes 32 x 1
  %a = sched.value <in_flight "a"> in_flight section bytes 32 x 1
  %p = sched.value <in_flight "p"> in_flight section bytes 32 x 1
  %s = sched.value <in_flight "s"> in_flight section bytes 16 x 1
  %e = sched.value <event "ahead"> event always bytes 64 x 1
  sched.section @F.0 task F 0 { sched.run "forward" "a" x 1 { sched.call @a.B.gather from(%w[3]) to(%come, %e) started } }
  // CHECK:      sched.section @B.0
  // CHECK-NEXT: sched.run "backward" "a" x 1 descending {
  // CHECK-NEXT:   sched.call @a.B.gather from(%[[W:.+]][2]) to(%[[A:.+]][1], %[[E:.+]][1]) started
  // CHECK-NEXT:   sched.await from(%[[COME:.+]])
  // CHECK-NEXT:   sched.call @d.B from(%[[AHEAD:.+]]) to(%[[P:.+]])
  // CHECK-NEXT:   sched.call @d.B.sum from(%[[P]]) to(%[[S:.+]], %[[F:.+]]) started
  // CHECK-NEXT: }
  // CHECK-NEXT: sched.run "backward" "a" x 1 descending {
  // CHECK-NEXT:   sched.call @a.B.gather from(%[[W]][1]) to(%[[A]], %[[E]]) started
  // CHECK-NEXT:   sched.await from(%[[E]][1])
  // CHECK-NEXT:   sched.call @d.B from(%[[A]][1]) to(%[[P]][1])
  // CHECK-NEXT:   sched.call @d.B.sum from(%[[P]][1]) to(%[[S]][1], %[[T:.+]][1]) started
  // CHECK-NEXT:   sched.await from(%[[F]])
  // CHECK-NEXT:   sched.call @d.B.add from(%[[G:.+]][3], %[[S]])
  sched.section @B.0 task B 0 {
    sched.run "backward" "a" x 1 descending {
      sched.await from(%e)
      sched.call @d.B from(%come) to(%p)
      sched.call @d.B.sum from(%p) to(%s)
      sched.call @d.B.add from(%g[3], %s)
    }
    sched.run "backward" "a" x 3 descending {
      sched.call @a.B.gather from(%w[period]) to(%a)
      sched.call @d.B from(%a) to(%p)
      sched.call @d.B.sum from(%p) to(%s)
      sched.call @d.B.add from(%g[period], %s)
    }
  }
  sched.entry step [#sched.execute<tasks>]
}
}

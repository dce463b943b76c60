// RUN: tplan-opt --update-early --split-input-file %s | FileCheck %s
// EXAMPLE
// Nothing that comes of all gradients goes into the update of a layer, so it comes as soon as the layer's gradients are summed; what writes gradients out comes before it.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.N(%n: !g {nn.role = "carried", nn.name = "norm"}, %g: !g {nn.role = "invariant", nn.name = "w"}) -> (!g {nn.role = "carried", nn.name = "norm"}) { rt.return %n : !g }
rt.func @a.U(%p: !g {nn.role = "param", nn.name = "w"}, %g: !g {nn.role = "invariant", nn.name = "w"}) -> (!g {nn.role = "param", nn.name = "w"}) { rt.return %p : !g }
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %p = sched.value <parameter of @a.w> parameter always bytes 32 x 3
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %n = sched.value <term "norm"> scalar always bytes 32 x 2
  %e = sched.value <event "R.0.0"> event entry bytes 64 x 3
  // CHECK:      sched.ready
  // CHECK-NEXT: sched.run "norm" "a[0..2]" x 3 descending {
  // CHECK-NEXT:   sched.await from(%[[E:.+]][period])
  // CHECK-NEXT:   sched.call @a.N
  // CHECK-NEXT:   sched.call @a.U
  // CHECK-NEXT: }
  // CHECK-NEXT: }
  sched.section @end {
    sched.run "norm" "a[0..2]" x 3 descending { sched.await from(%e[period])  sched.call @a.N from(%n, %g[period]) to(%n[1]) }
    sched.ready
    sched.run "update" "a[0..2]" x 3 { sched.call @a.U from(%p[period], %g[period]) }
  }
}
}
// END

// -----

// With a clip the norm of all gradients goes into each update, so updates come after it. An update that gathers what it has computed
// stays, too; and one whose gradients are summed before the loop of the norm gains nothing.
!g = !nn.tensor<[D 8], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["dp"]}
rt.func @a.N(%n: !g {nn.role = "carried", nn.name = "norm"}, %g: !g {nn.role = "invariant", nn.name = "w"}) -> (!g {nn.role = "carried", nn.name = "norm"}) { rt.return %n : !g }
rt.func @a.U(%p: !g {nn.role = "param", nn.name = "w"}, %g: !g {nn.role = "invariant", nn.name = "w"}) -> (!g {nn.role = "param", nn.name = "w"}) { rt.return %p : !g }
// CHECK-LABEL: rt.func @b.U
rt.func @b.U(%p: !g {nn.role = "param", nn.name = "w"}, %g: !g {nn.role = "invariant", nn.name = "w"}) -> (!g {nn.role = "param", nn.name = "w"}) {
  %0 = rt.collective all_reduce sum %p over ["dp"] : !g -> !g
  rt.return %0 : !g
}
sched.program @step policy "p" stages 1 microbatches 1 tasks [F 0 0, B 0 0, R 0 0] {
  %p = sched.value <parameter of @a.w> parameter always bytes 32 x 3
  %g = sched.value <gradient of @a.w> gradient always bytes 32 x 3
  %q = sched.value <parameter of @b.w> parameter always bytes 32 x 1
  %h = sched.value <gradient of @b.w> gradient always bytes 32 x 1
  %r = sched.value <parameter of @c.w> parameter always bytes 32 x 2
  %i = sched.value <gradient of @c.w> gradient always bytes 32 x 2
  %n = sched.value <term "norm"> scalar always bytes 32 x 2
  %e = sched.value <event "R.0.0"> event entry bytes 64 x 3
  // CHECK:         sched.section @end
  // CHECK-NOT:     @a.U
  // CHECK-NOT:     @b.U
  // CHECK:         sched.ready
  // CHECK:         @a.U
  // CHECK:         @b.U
  // CHECK:         @a.U
  sched.section @end {
    sched.run "norm" "a[0..2]" x 3 descending { sched.await from(%e[period])  sched.call @a.N from(%n, %g[period]) to(%n[1]) }
    sched.run "norm" "b" x 1 descending { sched.await from(%e)  sched.call @a.N from(%n, %h) to(%n[1]) }
    sched.run "norm" "c[0..1]" x 2 descending { sched.call @a.N from(%n, %i[period]) to(%n[1]) }
    sched.ready
    sched.run "update" "a[0..2]" x 3 { sched.call @a.U from(%p[period], %n) }
    sched.run "update" "b" x 1 { sched.call @b.U from(%q, %h) }
    sched.run "update" "c[0..1]" x 2 { sched.call @a.U from(%r[period], %i[period]) }
  }
}
}

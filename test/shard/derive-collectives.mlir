// RUN: tplan-opt --derive-collectives --check-layouts %s | FileCheck %s
// EXAMPLE
// Each change of a layout becomes the cheapest steps that make it.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}]}
// CHECK-LABEL: nn.layer @changes
nn.layer @changes(%x: !nn.tensor<[B 64, D 64], f32> {nn.role = "invariant", nn.name = "x", dist.layout = #dist.layout<B over [dp]>},
                  %g: !nn.tensor<[B 64, D 64], f32> {nn.role = "cot_param", nn.name = "g", dist.layout = #dist.layout<sum over [dp]>}) {
  // CHECK: dist.collective all_gather sum %arg0 over ["dp"] dim "B"
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<>]} : <[B 64, D 64], f32>
  // CHECK: dist.collective all_to_all sum %arg0 over ["dp"] dim "B" to "D"
  %1 = dist.reshard %x {dist.layouts = [#dist.layout<D over [dp]>]} : <[B 64, D 64], f32>
  // CHECK: dist.slice %arg0 over ["tp"] dim "D"
  %2 = dist.reshard %x {dist.layouts = [#dist.layout<B over [dp], D over [tp]>]} : <[B 64, D 64], f32>
  // CHECK: dist.own %arg0 over ["tp"]
  %3 = dist.reshard %x {dist.layouts = [#dist.layout<B over [dp], sum over [tp]>]} : <[B 64, D 64], f32>
  // CHECK: dist.collective all_reduce sum %arg1 over ["dp"] {{.*}}#dist.layout<>
  %4 = dist.reshard %g {dist.layouts = [#dist.layout<>]} : <[B 64, D 64], f32>
  // CHECK: dist.collective reduce_scatter sum %arg1 over ["dp"] dim "D"
  %5 = dist.reshard %g {dist.layouts = [#dist.layout<D over [dp]>]} : <[B 64, D 64], f32>
  // CHECK: %[[BLOCK:.+]] = dist.collective reduce_scatter sum %arg1 over ["dp"] {dist.layouts = [#dist.layout<rows [B] by 32 over [dp]>]}
  // CHECK: dist.place %[[BLOCK]] into %arg1 over ["dp"]
  %6 = dist.reshard %g {dist.layouts = [#dist.layout<rows [B] by 32 over [dp] in_whole>]} : <[B 64, D 64], f32>
  nn.return
}
// END
// CHECK-LABEL: nn.layer @order
nn.layer @order(%x: !nn.tensor<[B 64], f32> {nn.role = "invariant", nn.name = "x", dist.layout = #dist.layout<B over [dp, tp]>}) {
  // CHECK: dist.collective permute sum %arg0 over ["dp", "tp"] dim "B" sources [0, 2, 1, 3]
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<B over [tp, dp]>]} : <[B 64], f32>
  nn.return
}
// A gather before work that ranks share is asked for; one that leaves all of them the same work is
// not.
// CHECK-LABEL: nn.layer @readers
nn.layer @readers(%x: !nn.tensor<[B 64, D 64], f32> {nn.role = "invariant", nn.name = "x", dist.layout = #dist.layout<B over [dp]>},
                  %w: !nn.tensor<[D 64, F 64], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<F over [dp]>}) {
  // CHECK: dist.collective all_gather sum %arg0 over ["dp"] dim "B" {dist.activation, dist.layouts
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<>]} : <[B 64, D 64], f32>
  %1 = nn.contract %0, %w {dist.layouts = [#dist.layout<F over [dp]>]} : (<[B 64, D 64], f32>, <[D 64, F 64], f32>) -> <[B 64, F 64], f32>
  // CHECK: dist.collective all_gather sum %arg0 over ["dp"] dim "B" {dist.activation, dist.layouts = [#dist.layout<>], dist.unasked = #dist.unasked<gathers "B", line "mesh", instead ["D"]>}
  %2 = dist.reshard %x {dist.layouts = [#dist.layout<>]} : <[B 64, D 64], f32>
  %3 = nn.neg %2 {dist.layouts = [#dist.layout<>]} : <[B 64, D 64], f32>
  nn.return
}
}

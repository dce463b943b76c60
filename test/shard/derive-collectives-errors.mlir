// RUN: tplan-opt --derive-collectives -verify-diagnostics %s
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}]}
nn.layer @f(%x: !nn.tensor<[B 64], f32> {nn.role = "invariant", nn.name = "x"}) {
  // expected-error @+1 {{no collectives lead from one layout to the other: from #dist.layout<> to #dist.layout<max over [tp]>}}
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<max over [tp]>]} : <[B 64], f32>
  nn.return
}
}

// RUN: tplan-opt --cut-messages %s | FileCheck %s
// RUN: sed 's/bits_per_second = 10000000 :/bits_per_second = 8000000000000 :/' %s | tplan-opt --cut-messages | FileCheck %s --check-prefix=FAST
// EXAMPLE
// Two stages on nodes of their own, each on two ranks along `tp`, which have %x alike and %cut by halves. Nodes are joined by
// 10 Mb/s, so each rank sends its half of %x, and the receivers gather it. %odd cannot be halved.
// CHECK:      nn.layer @message.0.C(%[[X:.+]]: !nn.tensor<[B 3, D 4], f32>
// CHECK-SAME:   attributes {layer = @message.0, part = #nn.part<cut>}
// CHECK-NEXT:   %[[PART:.+]] = dist.slice %[[X]] over ["tp"] dim "D" : <[B 3, D 4], f32> -> <[B 3, D 2], f32>
// CHECK-NEXT:   nn.return %[[PART]]
// CHECK:      nn.layer @message.0.G(%[[Y:.+]]: !nn.tensor<[B 3, D 2], f32>
// CHECK-NEXT:   dist.collective all_gather sum %[[Y]] over ["tp"] dim "D" {dist.activation} : <[B 3, D 2], f32> -> <[B 3, D 4], f32>
// CHECK:      nn.run [@a] x 1 {{.*}} messages = [@message.0, unit, unit], stage = 0
// FAST-NOT:   message
!x = !nn.tensor<[B 3, D 4], f32>
!odd = !nn.tensor<[B 3], f32>
module attributes {dist.mesh = #dist.mesh<<"pp", 2>, <"tp", 2>, stages "pp">} {
tplan.cluster @c {nodes = 2 : i64, devices = 2 : i64, between = {kind = "ethernet", bits_per_second = 10000000 : i64, latency = 30000 : i64, efficiency = 1.0 : f64, rails = 1 : i64}}
tplan.plan @p {cluster = "c"}
nn.chain @train {
  %x, %cut, %odd = nn.run [@a] x 1 layer 0 carried() invariant() params [{}] {stage = 0 : i64,
    dist.layouts = [#dist.layout<>, #dist.layout<D over [tp]>, #dist.layout<>]} : () -> (!x, !x, !odd)
  nn.run [@b] x 1 layer 1 carried(%x, %cut, %odd) invariant() params [{}] {stage = 1 : i64} : (!x, !x, !odd) -> ()
}
}
// END

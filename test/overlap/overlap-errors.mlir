// RUN: tplan-opt --overlap --verify-diagnostics %s
!x = !nn.tensor<[B 2], f32>
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) {
  // expected-error@below {{has no wait: only calls that are complete when they return may stand in function f}}
  %0 = nn.neg %x : !x
  rt.return %0 : !x
}

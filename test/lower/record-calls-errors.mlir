// RUN: tplan-opt --record-calls --verify-diagnostics %s
!x = !nn.tensor<[B 2], f32>
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}) attributes {layer = @a, part = #nn.part<forward>} {
  // expected-error@below {{launches no kernel: @nowhere}}
  %0 = rt.launch @nowhere(%x) : (!x) -> !x
  rt.return %0 : !x
}

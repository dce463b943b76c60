// RUN: tplan-opt --merge-layers %s | FileCheck %s
// EXAMPLE
// The layers of two lists are one function; a layer with another number in it is not.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4], f32>
// CHECK:     nn.run [@front] x 3
// CHECK:     nn.run [@front] x 2 layer 3
// CHECK:     nn.run [@last] x 1
// CHECK:     nn.layer @front
// CHECK-NOT: nn.layer @back
// CHECK:     nn.layer @last
nn.param @front.gain : !w x 3 path "front.{i}.gain" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
nn.param @back.gain : !w x 2 path "back.{i}.gain" first 0 step 1 id 3 by 1 <"constant", 1.0 : f64> "norm"
nn.param @last.gain : !w x 1 path "last.gain" first 0 step 1 id 5 by 0 <"constant", 1.0 : f64> "norm"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : !x
  %y = nn.run [@front] x 3 layer 0 carried(%x) invariant() params [{gain = @front.gain}] : (!x) -> !x
  %z = nn.run [@back] x 2 layer 3 carried(%y) invariant() params [{gain = @back.gain}] : (!x) -> !x
  %u = nn.run [@last] x 1 layer 5 carried(%z) invariant() params [{gain = @last.gain}] : (!x) -> !x
}
nn.layer @front(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "gain"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.mul %x, %w : (!x, !w) -> !x
  nn.return %0 : !x
}
nn.layer @back(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "gain"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.mul %x, %w : (!x, !w) -> !x
  nn.return %0 : !x
}
nn.layer @last(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "gain"}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.add %x, %w : (!x, !w) -> !x
  nn.return %0 : !x
}
// END

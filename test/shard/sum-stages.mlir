// RUN: tplan-opt --split-stages --sum-stages %s | FileCheck %s
// EXAMPLE
// A tied weight: the table of the first stage is the head of the second. Each backward adds to a
// part of its gradient; the function that adds the parts belongs to the weight.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[V 8, D 4], f32>
tplan.plan @p {stages = [1, 1]}
nn.param @embed : !w x 1 path "embed" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "embedding"
nn.param @gain : !x x 2 path "l.{i}.gain" first 0 step 1 id 1 by 1 <"constant", 0.0 : f64> "norm"
// CHECK:      nn.layer @sum.embed.R(
// CHECK-SAME:   %[[WHOLE:.+]]: !nn.tensor<[V 8, D 4], f32> {nn.name = "whole", nn.role = "cot_param"}
// CHECK-SAME:   %[[PART:.+]]: !nn.tensor<[V 8, D 4], f32> {nn.name = "part", nn.role = "cot_param"}
// CHECK-SAME:   attributes {layer = @sum.embed, part = #nn.part<reduce>}
// CHECK-NEXT:   %[[SUM:.+]] = nn.add %[[WHOLE]], %[[PART]]
// CHECK-NEXT:   nn.return %[[SUM]]
// Layers of a list have weights of their own.
// CHECK-NOT:  sum.gain
nn.layer @entry(%w: !w {nn.role = "cot_param", nn.name = "w"}) -> (!x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}, !w {nn.role = "cot_param", nn.name = "w"}) {
  %x = nn.constant 0.0 : <[B 2, D 4], f32>
  nn.return %x, %w : !x, !w
}
nn.layer @a(%x: !x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}, %g: !x {nn.role = "cot_param", nn.name = "g"}) -> (!x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}, !x {nn.role = "cot_param", nn.name = "g"}) {
  nn.return %x, %g : !x, !x
}
nn.layer @exit(%x: !x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}, %w: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"}) {
  nn.return %w : !w
}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{w = @embed}] : () -> !x
  %y = nn.run [@a] x 2 layer 1 carried(%x) invariant() params [{g = @gain}] : (!x) -> !x
  nn.run [@exit] x 1 layer 3 carried(%y) invariant() params [{w = @embed}] : (!x) -> ()
}
// END

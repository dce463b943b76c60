// Four stages on two ranks; the first and the last one read one weight. Gradients are summed over ranks.
!w = !nn.tensor<[D 4], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"pp", 2>, stages "pp">} {
tplan.recipe @r {batch = 4 : i64}
tplan.plan @p {recipe = "r", microbatch = 1 : i64, pipeline = "interleaved", chunks = 2 : i64, stage_axis = "pp",
               mesh = [{name = "dp", size = 2 : i64}, {name = "pp", size = 2 : i64}],
               shard = [{axes = ["dp"], dims = ["B"]}]}
nn.param @mine : !w x 2 path "a.{i}.w" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
nn.param @shared : !w x 1 path "b.w" first 0 step 1 id 2 by 1 <"constant", 1.0 : f64> "norm"
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@b] x 1 layer 0 carried() invariant() params [{w = @shared}] {stage = 0 : i64} : () -> ()
  nn.run [@a] x 1 layer 1 carried() invariant() params [{w = @mine}] {stage = 1 : i64} : () -> ()
  nn.run [@a] x 1 layer 2 carried() invariant() params [{w = @mine}] {first_instance = 1 : i64, stage = 2 : i64} : () -> ()
  nn.run [@c] x 1 layer 3 carried() invariant() params [{w = @shared}] {stage = 3 : i64} : () -> ()
}
rt.func @a.F(%w: !w {nn.role = "param", nn.name = "w"})
    attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.B(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @a, part = #nn.part<backward>} {
  rt.return %g : !w
}
rt.func @a.R(%g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @a, part = #nn.part<reduce>} {
  rt.return %g : !w
}
rt.func @a.U(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"})
    attributes {layer = @a, part = #nn.part<update>} {
  rt.return %w : !w
}
rt.func @b.F(%w: !w {nn.role = "param", nn.name = "w"})
    attributes {layer = @b, part = #nn.part<forward>} {
  rt.return
}
rt.func @b.B(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @b, part = #nn.part<backward>} {
  rt.return %g : !w
}
rt.func @b.R(%g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @b, part = #nn.part<reduce>} {
  rt.return %g : !w
}
rt.func @b.U(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"})
    attributes {layer = @b, part = #nn.part<update>} {
  rt.return %w : !w
}
rt.func @c.F(%w: !w {nn.role = "param", nn.name = "w"})
    attributes {layer = @c, part = #nn.part<forward>} {
  rt.return
}
rt.func @c.B(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"})
    attributes {layer = @c, part = #nn.part<backward>} {
  rt.return %g : !w
}
rt.func @sum.shared.R(%g: !w {nn.role = "cot_param", nn.name = "whole"}, %p: !w {nn.role = "cot_param", nn.name = "part"})
    -> (!w {nn.role = "cot_param", nn.name = "whole"}) attributes {layer = @sum.shared, part = #nn.part<reduce>} {
  rt.return %g : !w
}
}

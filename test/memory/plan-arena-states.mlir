// RUN: tplan-opt --order-tasks --form-program --count-slots --plan-frames --plan-arena %s | FileCheck %s
// A state of the model is a parameter without gradient; what layers contribute to it is
// one instance a layer, as long as the step.
!x = !nn.tensor<[B 4], f32>
!w = !nn.tensor<[B 4], f64>
// CHECK-NOT: <gradient
// CHECK-NOT: <state "
// CHECK:     sched.value <activation "r0.a.0.contribution.s0"> scalar always bytes 32 x 3
// CHECK-NOT: <gradient
// CHECK-NOT: <state "
// CHECK:     sched.value <parameter of @load> parameter always bytes 16 x 3
// CHECK-NOT: <state "
nn.param @load : !x x 3 path "l.{i}.load" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "state"
nn.chain @train losses {} {
  nn.run [@a] x 3 layer 0 carried() invariant() params [{load = @load}] : () -> ()
}
rt.func @a.F(%s: !w {nn.role = "contribution", nn.name = "s0"}) attributes {layer = @a, part = #nn.part<forward>} {
  rt.return
}
rt.func @a.S(%s: !w {nn.role = "contribution", nn.name = "s0"},
             %l: !x {nn.role = "state", nn.name = "load"}) attributes {layer = @a, part = #nn.part<states>} {
  rt.return
}

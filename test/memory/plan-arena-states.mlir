// RUN: tplan-opt --order-tasks --plan-frames --plan-arena %s | FileCheck %s
// A state of the model is a parameter without gradient; what layers contribute to it is
// one instance a layer, as long as the step.
!x = !nn.tensor<[B 4], f32>
!w = !nn.tensor<[B 4], f64>
// CHECK-NOT: "grad
// CHECK:     sched.value "param load" parameter bytes 16 x 3 {{.*}} slot = ""
// CHECK-NOT: "state
// CHECK:     sched.value "r0.a.0.contribution.s0" scalar bytes 32 x 3
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

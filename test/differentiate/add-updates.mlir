// RUN: tplan-opt --add-updates %s | FileCheck %s
// A weight that two runs bind (a tied head) is updated by the first of them only.
!w = !nn.tensor<[V 8, D 4], f32>

tplan.recipe @r {optimizer = {kind = "sgd", momentum = 0.9, decay = 0.0, clip = 1.0, no_decay = []}}
nn.param @embed : !w x 1 path "embed" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "embedding"
// A state is no weight: no gradient, no norm.
nn.param @load : !w x 1 path "load" first 0 step 1 id 1 by 0 <"constant", 0.0 : f64> "state"
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@entry] x 1 layer 0 carried() invariant() params [{embed = @embed, load = @load}] : () -> ()
  nn.run [@exit] x 1 layer 1 carried() invariant() params [{embed = @embed}] : () -> ()
}
nn.layer @entry() { nn.return }
nn.layer @exit() { nn.return }

// CHECK-LABEL: nn.layer @entry.N
// CHECK-NOT:     "load"
// CHECK:         nn.mul %arg1, %arg1
// CHECK-LABEL: nn.layer @entry.U
// CHECK:         nn.name = "embed.m", nn.role = "state"
// CHECK:         nn.sqrt
// CHECK:         %[[SCALED:.+]] = nn.mul %arg1
// CHECK:         nn.add %{{.+}}, %[[SCALED]]
// CHECK:         nn.sub %arg0
// CHECK-NOT:   nn.layer @exit.N
// CHECK-NOT:   nn.layer @exit.U

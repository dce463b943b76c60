// RUN: tplan-opt --add-updates --split-input-file %s | FileCheck %s
// EXAMPLE
// A weight that two runs bind (a tied head) is updated by the first of them only.
!w = !nn.tensor<[V 8, D 4], f32>

tplan.recipe @r {optimizer = {kind = "sgd", momentum = 0.9, decay = 0.0, clip = 1.0, no_decay = []}}
nn.param @embed : !w x 1 path "embed" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "embedding"
// A state is not a weight: it has no gradient and is not in the norm.
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
// CHECK:         nn.name = "embed.m", nn.role = "state", nn.slot = #nn.slot<"m" of "embed">
// CHECK:         nn.sqrt
// CHECK:         %[[SCALED:.+]] = nn.mul %arg1
// CHECK:         nn.add %{{.+}}, %[[SCALED]]
// CHECK:         nn.sub %arg0
// CHECK-NOT:   nn.layer @exit.N
// CHECK-NOT:   nn.layer @exit.U
// END

// -----
// Two lists of one layer, one of them without decay: the second has a copy with parts of its own.
!w = !nn.tensor<[D 4], f32>

tplan.recipe @r {optimizer = {kind = "sgd", momentum = 0.0, decay = 0.1, clip = 0.0, no_decay = ["back.gain"]}}
nn.param @front.gain : !w x 3 path "front.{i}.gain" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
nn.param @back.gain : !w x 2 path "back.{i}.gain" first 0 step 1 id 3 by 1 <"constant", 1.0 : f64> "norm"
// CHECK: nn.run [@front] x 3
// CHECK: nn.run [@[[COPY:.+]]] x 2
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@front] x 3 layer 0 carried() invariant() params [{gain = @front.gain}] : () -> ()
  nn.run [@front] x 2 layer 3 carried() invariant() params [{gain = @back.gain}] : () -> ()
}
nn.layer @front() { nn.return }
// CHECK-LABEL: nn.layer @front.U
// CHECK:         nn.constant 1.000000e-01
// CHECK:       nn.layer @[[COPY]].U
// CHECK-NOT:     nn.constant 1.000000e-01

// -----
// Gradients of a scaled loss: the update multiplies them by `unscale`, and where that is 0 it keeps
// the old values. The norm is that of the unscaled gradients; the scale and the good steps are
// states of their own.
!w = !nn.tensor<[D 4], f32>

tplan.recipe @r {optimizer = {kind = "adamw", beta1 = 0.9, beta2 = 0.99, eps = 1.0e-8, decay = 0.1, clip = 0.0, no_decay = []}}
tplan.plan @p {precision = "f16", loss_scale = {start = 1024.0 : f64, interval = 50 : i64}}
// CHECK-DAG:  nn.param @tplan.loss_scale : !nn.tensor<[], f64> x 1 path "loss" {{.*}} <"constant", 1.024000e+03 : f64> "state"
// CHECK-DAG:  nn.param @tplan.good_steps : !nn.tensor<[], f64> x 1 path "loss" {{.*}} <"constant", 0.000000e+00 : f64> "state"
nn.param @gain : !w x 1 path "gain" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@layer] x 1 layer 0 carried() invariant() params [{gain = @gain}] : () -> ()
}
nn.layer @layer() { nn.return }
// CHECK-LABEL: nn.layer @layer.N
// CHECK-NOT:     unscale
// CHECK-LABEL: nn.layer @layer.U(%arg0: {{.*}}, %arg1: {{.*}}, %arg2: !nn.tensor<[], f64> {nn.name = "unscale", nn.role = "scalar"}
// CHECK:         %[[BY:.+]] = nn.cast %arg2
// CHECK:         nn.mul %arg1, %[[BY]]
// CHECK:         %[[GOOD:.+]] = nn.cmp gt %arg2
// CHECK:         %[[M:.+]] = nn.select %[[GOOD]], %{{.+}}, %[[OLD_M:arg[0-9]+]]
// CHECK:         %[[V:.+]] = nn.select %{{.+}}, %{{.+}}, %[[OLD_V:arg[0-9]+]]
// CHECK:         %[[P:.+]] = nn.select %{{.+}}, %{{.+}}, %arg0
// CHECK:         nn.return %[[M]], %[[V]], %[[P]], %{{.+}} :

// -----
// A constant scale leaves nothing from step to step.
!w = !nn.tensor<[D 4], f32>

tplan.recipe @r {optimizer = {kind = "sgd", momentum = 0.0, decay = 0.0, clip = 0.0, no_decay = []}}
tplan.plan @p {precision = "f16", loss_scale = {start = 1024.0 : f64, interval = 0 : i64}}
// CHECK-NOT:  nn.param @tplan
nn.param @gain : !w x 1 path "gain" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "norm"
nn.chain @train losses {main = 1.0 : f64} {
  nn.run [@layer] x 1 layer 0 carried() invariant() params [{gain = @gain}] : () -> ()
}
nn.layer @layer() { nn.return }
// CHECK-LABEL: nn.layer @layer.U
// CHECK:         nn.name = "unscale"
// CHECK:         nn.select

// RUN: tplan-opt --differentiate-layers --add-probes %s | FileCheck %s
// EXAMPLE
// Each value in floating point leaves a sum over a half of its elements, drawn for each op, as the
// gradient of a weight of each layer. What is added onto an accumulator is probed before it.
!x = !nn.tensor<[D 4, B 2], f32>
!w = !nn.tensor<[D 4], f32>

// CHECK-DAG: nn.param @probe.3.0 : !nn.tensor<[], f32> x 2 path "probe.{i}.0" first 3 step 1
// CHECK: nn.run [@layer] x 2 layer 3 {{.*}} params [{probe.0 = @probe.3.0
nn.param @w : !w x 2 path "l.{i}.w" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "other"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2], i32>
  %y = nn.input "y" shift 0 vocabulary 0 : <[D 4, B 2], f32>
  %z = nn.run [@layer] x 2 layer 3 carried(%y) invariant() params [{w = @w}] : (!x) -> !x
}

// CHECK-LABEL: nn.layer @layer
// CHECK:         nn.mul %arg0, %arg1 {tplan.probe = 0 : i64}
// CHECK-NOT:     nn.add {{.*}}tplan.probe
// The batch comes first in a mask of positions, wherever it stands in the value.
// CHECK:         %[[HALF:.+]] = nn.dropout_mask {{.*}} site 32768 rate 5.000000e-01 {{.*}} -> !nn.tensor<[B 2, D 4], f32>
// CHECK:         %[[KEPT:.+]] = nn.mul %0, %[[HALF]]
// CHECK:         %[[ROWS:.+]] = nn.reduce sum %[[KEPT]]
// CHECK:         %[[SUM:.+]] = nn.reduce sum %[[ROWS]]
// CHECK:         nn.add %{{.+}}, %[[SUM]] : (<[], f32>, <[], f32>) -> <[], f32>
// CHECK:         nn.dropout_mask {{.*}} site 32769
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %y = nn.mul %x, %w : (<[D 4, B 2], f32>, <[D 4], f32>) -> <[D 4, B 2], f32>
  nn.return %y : !x
}
// END

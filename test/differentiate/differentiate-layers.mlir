// RUN: tplan-opt --differentiate-layers %s | FileCheck %s
// EXAMPLE
// The joint function: the backward of a gated sum after its forward. A broadcast operand gets the
// sum over what it was repeated along.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4], f32>

nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "other"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> ()
}

// CHECK-LABEL: nn.layer @layer
// CHECK:         nn.role = "cot_loss"
// CHECK:         nn.role = "cot_param"
// CHECK:         %[[Y:.+]] = nn.mul %arg0, %arg1
// CHECK:         %[[DY:.+]] = nn.broadcast %{{.+}} : <[B 2], f64> -> <[B 2, D 4], f64>
// CHECK:         %[[D:.+]] = nn.cast %[[DY]]
// CHECK:         %[[M:.+]] = nn.mul %[[D]], %arg0
// CHECK:         %[[DW:.+]] = nn.reduce sum %[[M]] : <[B 2, D 4], f32> -> <[D 4], f32>
// CHECK:         nn.add %arg4, %[[DW]]
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %acc: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"})
    -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) {
  %y = nn.mul %x, %w : (<[B 2, D 4], f32>, <[D 4], f32>) -> <[B 2, D 4], f32>
  %0 = nn.cast %y : <[B 2, D 4], f32> -> <[B 2, D 4], f64>
  %1 = nn.reduce sum %0 : <[B 2, D 4], f64> -> <[B 2], f64>
  %2 = nn.reduce sum %1 : <[B 2], f64> -> <[], f64>
  %3 = nn.add %acc, %2 : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %3 : !nn.tensor<[], f64>
}
// END

// RUN: tplan-opt --quantise-gemms --audit-scales %s | FileCheck %s
// EXAMPLE
// The codes of x and of dy go through records, with their scales and what these are made of. A sequence is counted by its place
// in the global batch. The scale of w is recorded where `update` and `prepare` write it.
!x = !nn.tensor<[B 2, D 6], f32>
!w = !nn.tensor<[F 8, D 6], f32>
!y = !nn.tensor<[B 2, F 8], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "rowwise", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 6], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK:         %[[AMAX:.+]] = nn.audit %{{.+}} "w x D amax" layer %[[LAYER:.+]] step %[[STEP:.+]] offset %[[OFFSET:.+]] along "B" : <[B 2], f32>
// CHECK:         nn.div %{{.+}}, %[[AMAX]]
// CHECK:         %[[CODES:.+]] = nn.audit %{{.+}} "w x D codes" layer %[[LAYER]] step %[[STEP]] offset %[[OFFSET]] along "B" : <[B 2, D 6], f8E4M3FN>
// CHECK:         %[[SCALE:.+]] = nn.audit %{{.+}} "w x D scale" layer %[[LAYER]] step %[[STEP]] offset %[[OFFSET]] along "B" : <[B 2], f32>
// CHECK:         nn.contract %[[CODES]], %{{.+}} scaled %[[SCALE]],
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {precisions = {w = "fp8(rowwise)"}} {
  %0 = nn.contract %x, %w : (<[B 2, D 6], f32>, <[F 8, D 6], f32>) -> <[B 2, F 8], f32>
  nn.return %0 : !y
}
// CHECK-LABEL: nn.layer @layer.P
// CHECK:         nn.audit %{{.+}} "w.f8E4M3FN.D.amax" layer %{{.+}} : <[F 8], f32>
// CHECK-LABEL: nn.layer @layer.U
// CHECK:         nn.audit %{{.+}} "w.f8E4M3FN.D.amax" layer %{{.+}} step %{{.+}} : <[F 8], f32>
nn.layer @layer.U(%w: !w {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"}) attributes {layer = @layer, part = #nn.part<update>} {
  nn.return %w : !w
}
// END

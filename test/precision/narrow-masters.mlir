// RUN: tplan-opt --narrow-masters %s | FileCheck %s
// RUN: tplan-opt --narrow-masters --narrow-precision %s | FileCheck %s --check-prefix=READ
// EXAMPLE
// A weight is widened where it is read, its rows after they are looked up, and rounded where it is written.
!w = !nn.tensor<[V 8, D 4], f32>
!x = !nn.tensor<[B 2, D 4], f32>
!i = !nn.tensor<[B 2], i32>
!y = !nn.tensor<[B 2, V 8], f32>
tplan.recipe @r {optimizer = {kind = "sgd"}}
tplan.plan @p {precision = "bf16", master = "bf16"}

// CHECK: nn.param @w : !nn.tensor<[V 8, D 4], bf16>
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "embedding"
nn.chain @train losses {main = 1.0 : f64} {
  %ids = nn.input "ids" shift 0 vocabulary 8 : <[B 2], i32>
  %y = nn.run [@layer] x 1 layer 0 carried() invariant(%ids) params [{w = @w}] : (!i) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK-SAME:    %[[W:arg1]]: !nn.tensor<[V 8, D 4], bf16>
// CHECK:         %[[WIDE:.+]] = nn.cast %[[W]] : <[V 8, D 4], bf16> -> <[V 8, D 4], f32>
// CHECK:         %[[ROWS:.+]] = nn.lookup %[[W]]{{.*}} -> <[B 2, D 4], bf16>
// CHECK:         %[[X:.+]] = nn.cast %[[ROWS]]
// CHECK:         nn.contract %[[X]], %[[WIDE]]
// A GEMM in bf16 reads the weight itself: there is no working copy.
// READ-NOT: @w.bf16
// READ:     nn.contract %{{.+}}, %arg1 : (<[B 2, D 4], bf16>, <[V 8, D 4], bf16>) -> <[B 2, V 8], bf16>
nn.layer @layer(%ids: !i {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %rows = nn.lookup %w["V" = %ids] : (<[V 8, D 4], f32>, <[B 2], i32>) -> <[B 2, D 4], f32>
  %y = nn.contract %rows, %w : (<[B 2, D 4], f32>, <[V 8, D 4], f32>) -> <[B 2, V 8], f32>
  nn.return %y : !y
}
// END
// CHECK-LABEL: nn.layer @layer.U
// CHECK:         %[[OLD:.+]] = nn.cast %arg0 : <[V 8, D 4], bf16> -> <[V 8, D 4], f32>
// CHECK:         %[[NEW:.+]] = nn.sub %[[OLD]], %arg1
// CHECK:         %[[KEPT:.+]] = nn.cast %[[NEW]] : <[V 8, D 4], f32> -> <[V 8, D 4], bf16>
// CHECK:         nn.return %[[KEPT]]
nn.layer @layer.U(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!w {nn.role = "param", nn.name = "w"}) attributes {layer = @layer, part = #nn.part<update>} {
  %1 = nn.sub %w, %g : (!w, !w) -> !w
  nn.return %1 : !w
}

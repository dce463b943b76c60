// RUN: tplan-opt --narrow-moments --split-input-file %s | FileCheck %s
// EXAMPLE
// A moment is widened where it is read and rounded where it is written; the weight sees it before it is rounded.
!w = !nn.tensor<[D 4], f32>
tplan.recipe @r {optimizer = {kind = "sgd", momentum = 9.0e-1 : f64}}
tplan.plan @p {moments = "bf16"}

// CHECK-LABEL: nn.layer @layer.U
// CHECK-SAME:    %[[M:arg2]]: !nn.tensor<[D 4], bf16> {{.*}}) -> (!nn.tensor<[D 4], bf16>
// CHECK:         %[[OLD:.+]] = nn.cast %[[M]] : <[D 4], bf16> -> <[D 4], f32>
// CHECK:         %[[NEXT:.+]] = nn.add %[[OLD]], %arg1
// CHECK:         %[[W:.+]] = nn.sub %{{.+}}, %[[NEXT]]
// CHECK:         %[[KEPT:.+]] = nn.cast %[[NEXT]] : <[D 4], f32> -> <[D 4], bf16>
// CHECK:         nn.return %[[KEPT]], %[[W]]
nn.layer @layer.U(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"},
                  %m: !w {nn.role = "state", nn.name = "w.m", nn.slot = #nn.slot<"m" of "w">})
    -> (!w {nn.role = "state", nn.name = "w.m", nn.slot = #nn.slot<"m" of "w">}, !w {nn.role = "param", nn.name = "w"})
    attributes {layer = @layer, part = #nn.part<update>} {
  %0 = nn.add %m, %g : (!w, !w) -> !w
  %1 = nn.sub %w, %0 : (!w, !w) -> !w
  nn.return %0, %1 : !w, !w
}
// END

// RUN: tplan-opt --cut-joint %s | FileCheck %s
// EXAMPLE
// y = w x^2 element by element. Element-wise values are computed again, so only the
// layer's input is kept from F, as itself: no residual.
!x = !nn.tensor<[D 4], f32>

// CHECK-LABEL: nn.layer @layer.F
// CHECK-SAME:    layer = @layer, part = #nn.part<forward>, residual_bytes = {f_to_i = 0 : i64, f_to_w = 0 : i64, i_to_w = 0 : i64}
// CHECK-LABEL: nn.layer @layer.B
// CHECK-SAME:    nn.role = "carried"
// CHECK:         nn.return %{{.+}}, %{{.+}}
// CHECK-LABEL: nn.layer @layer.I
// CHECK-SAME:    nn.role = "cot_carried"{{.*}}) -> (!nn.tensor<[D 4], f32> {nn.name = "c0", nn.position = 0 : i64, nn.role = "cot_carried"})
// CHECK-LABEL: nn.layer @layer.W
// CHECK-SAME:    -> (!nn.tensor<[D 4], f32> {nn.name = "w", nn.role = "cot_param"})
// CHECK-LABEL: nn.layer @layer.E
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !x {nn.role = "param", nn.name = "w"},
                %dy: !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %dw: !x {nn.role = "cot_param", nn.name = "w"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64},
        !x {nn.role = "cot_param", nn.name = "w"}) {
  %x2 = nn.mul %x, %x : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %y = nn.mul %x2, %w : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %gw = nn.mul %dy, %x2 : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %d = nn.mul %dy, %w : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %dx0 = nn.mul %d, %x : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %dx = nn.add %dx0, %dx0 : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %sum = nn.add %dw, %gw : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  nn.return %y, %dx, %sum : !x, !x, !x
}
// END

// What a backward contributes comes with the cotangents of inputs, in B and in I; F contributes what is of the forward.
!s = !nn.tensor<[], f32>
// CHECK-LABEL: nn.layer @largest.F
// CHECK-SAME:    nn.role = "carried"}, !nn.tensor<[], f32> {nn.name = "x", nn.role = "contribution"}, !nn.tensor<[D 4], f32> {nn.name = "r0", nn.role = "res_fi"})
// CHECK-LABEL: nn.layer @largest.B
// CHECK-SAME:    nn.role = "cot_carried"}, !nn.tensor<[], f32> {nn.name = "dy", nn.role = "contribution"})
// CHECK-LABEL: nn.layer @largest.I
// CHECK-SAME:    nn.role = "cot_carried"}, !nn.tensor<[], f32> {nn.name = "dy", nn.role = "contribution"})
nn.layer @largest(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %dy: !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64},
                  %a: !s {nn.role = "contribution", nn.name = "x"}, %b: !s {nn.role = "contribution", nn.name = "dy"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64},
        !s {nn.role = "contribution", nn.name = "x"}, !s {nn.role = "contribution", nn.name = "dy"}) {
  %y = nn.exp %x : <[D 4], f32>
  %dx = nn.mul %dy, %y : (<[D 4], f32>, <[D 4], f32>) -> <[D 4], f32>
  %of_x = nn.reduce max %x : <[D 4], f32> -> <[], f32>
  %of_dy = nn.reduce max %dy : <[D 4], f32> -> <[], f32>
  %na = nn.max %a, %of_x : (<[], f32>, <[], f32>) -> <[], f32>
  %nb = nn.max %b, %of_dy : (<[], f32>, <[], f32>) -> <[], f32>
  nn.return %y, %dx, %na, %nb : !x, !x, !s, !s
}

// RUN: tplan-opt --split-dimensions --split-input-file %s | FileCheck %s
// EXAMPLE
// The maximum is over blocks of x * x along D, so the product is computed in blocks, and what is returned of it is merged. The sum
// over D is one over blocks and the places in them.
!x = !nn.tensor<[B 2, D 8], f32>

// CHECK-LABEL: nn.layer @layer
// CHECK:         %[[X:.+]] = nn.split %arg0 "D" by 4
// CHECK:         %[[P:.+]] = nn.mul %[[X]], %[[X]] : (<[B 2, D 2, in.D 4], f32>
// CHECK:         %[[WHOLE:.+]] = nn.merge %[[P]] "D"
// CHECK:         %[[SUM:.+]] = nn.reduce sum %[[P]] : <[B 2, D 2, in.D 4], f32> -> <[B 2], f32>
// CHECK:         %[[MOST:.+]] = nn.reduce max %[[P]] : <[B 2, D 2, in.D 4], f32> -> <[B 2, D 2], f32>
// CHECK:         nn.return %[[WHOLE]], %[[SUM]], %[[MOST]]
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0"})
    -> (!x {nn.role = "output", nn.name = "a"}, !nn.tensor<[B 2], f32> {nn.role = "output", nn.name = "b"},
        !nn.tensor<[B 2, D 2], f32> {nn.role = "output", nn.name = "c"}) {
  %0 = nn.mul %x, %x : (!x, !x) -> !x
  %1 = nn.reduce sum %0 : <[B 2, D 8], f32> -> <[B 2], f32>
  %2 = nn.split %0 "D" by 4 : <[B 2, D 8], f32> -> <[B 2, D 2, in.D 4], f32>
  %3 = nn.reduce max %2 : <[B 2, D 2, in.D 4], f32> -> <[B 2, D 2], f32>
  nn.return %0, %1, %3 : !x, !nn.tensor<[B 2], f32>, !nn.tensor<[B 2, D 2], f32>
}
// END

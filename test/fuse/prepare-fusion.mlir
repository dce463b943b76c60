// RUN: tplan-opt --prepare-fusion %s | FileCheck %s
// A column sum is cut in two; a sum in the middle changes the order of dimensions.
!x = !nn.tensor<[B 4, S 64, D 8], f32>

// CHECK-LABEL: nn.layer @layer
// CHECK:         %[[P:.+]] = rt.partial_sum %arg0 grain 32 : <[B 4, S 64, D 8], f32> -> <[task 8, D 8], f32>
// CHECK:         nn.reduce sum %[[P]] : <[task 8, D 8], f32> -> <[D 8], f32>
// CHECK:         %[[T:.+]] = nn.broadcast %arg0 : <[B 4, S 64, D 8], f32> -> <[B 4, D 8, S 64], f32>
// CHECK:         nn.reduce sum %[[T]] : <[B 4, D 8, S 64], f32> -> <[B 4, D 8], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[D 8], f32> {nn.role = "output", nn.name = "a"},
        !nn.tensor<[B 4, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.reduce sum %x : <[B 4, S 64, D 8], f32> -> <[D 8], f32>
  %1 = nn.reduce sum %x : <[B 4, S 64, D 8], f32> -> <[B 4, D 8], f32>
  nn.return %0, %1 : !nn.tensor<[D 8], f32>, !nn.tensor<[B 4, D 8], f32>
}

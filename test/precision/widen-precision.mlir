// RUN: tplan-opt --widen-precision %s | FileCheck %s
// EXAMPLE
// The same program with wider numbers; casts between f32 and f64 are gone.
tplan.plan @p {precision = "f64"}

// CHECK-LABEL: nn.layer @layer
// CHECK-NOT:     f32
// CHECK-NOT:     nn.cast
// CHECK:         %[[Y:.+]] = nn.exp %arg0 : <[B 2], f64>
// CHECK:         nn.return %[[Y]]
nn.layer @layer(%x: !nn.tensor<[B 2], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[B 2], f64> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.exp %x : <[B 2], f32>
  %1 = nn.cast %0 : <[B 2], f32> -> <[B 2], f64>
  nn.return %1 : !nn.tensor<[B 2], f64>
}
// END

// RUN: tplan-opt --widen-roundings --split-input-file %s | FileCheck %s
// EXAMPLE
// Where the bf16 program gives bf16 the oracle rounds: casts and contractions. What was f32
// is not rounded, and a working copy is in f64.
tplan.plan @p {precision = "bf16", computed_in = "f64"}

// CHECK:       nn.param @w.bf16 : !nn.tensor<[F 8, D 4], f64>
nn.param @w.bf16 : !nn.tensor<[F 8, D 4], bf16> x 1 path "w.bf16" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "copy" copy_of @w

// CHECK-LABEL: nn.layer @layer
// CHECK-NOT:     f32
// CHECK:         %[[X:.+]] = nn.round %arg0 as bf16 : <[B 2, D 4], f64>
// CHECK-NEXT:    %[[P:.+]] = nn.contract %[[X]], %arg1
// CHECK-NEXT:    %[[Y:.+]] = nn.round %[[P]] as bf16 : <[B 2, F 8], f64>
// CHECK-NEXT:    %[[E:.+]] = nn.exp %[[Y]]
// CHECK-NEXT:    %[[G:.+]] = nn.contract %[[E]], %[[X]]
// CHECK-NEXT:    nn.return %[[Y]], %[[G]]
nn.layer @layer(%x: !nn.tensor<[B 2, D 4], f32> {nn.role = "invariant", nn.name = "i0"},
                %w: !nn.tensor<[F 8, D 4], bf16> {nn.role = "param", nn.name = "w.bf16"})
    -> (!nn.tensor<[B 2, F 8], bf16> {nn.role = "carried", nn.name = "c0"},
        !nn.tensor<[F 8, D 4], f32> {nn.role = "output", nn.name = "g"}) {
  %0 = nn.cast %x : <[B 2, D 4], f32> -> <[B 2, D 4], bf16>
  %1 = nn.contract %0, %w : (<[B 2, D 4], bf16>, <[F 8, D 4], bf16>) -> <[B 2, F 8], bf16>
  %2 = nn.cast %1 : <[B 2, F 8], bf16> -> <[B 2, F 8], f32>
  %3 = nn.exp %2 : <[B 2, F 8], f32>
  %4 = nn.contract %3, %0 : (<[B 2, F 8], f32>, <[B 2, D 4], bf16>) -> <[F 8, D 4], f32>
  nn.return %1, %4 : !nn.tensor<[B 2, F 8], bf16>, !nn.tensor<[F 8, D 4], f32>
}
// END

// -----

// The update writes the copy rounded.
tplan.plan @p {precision = "bf16", computed_in = "f64"}
// CHECK-LABEL: nn.layer @layer.P
// CHECK-NEXT:    %[[C:.+]] = nn.round %arg0 as bf16 : <[D 4], f64>
// CHECK-NEXT:    nn.return %[[C]]
nn.layer @layer.P(%w: !nn.tensor<[D 4], f32> {nn.role = "param", nn.name = "w"})
    -> (!nn.tensor<[D 4], bf16> {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @layer, part = #nn.part<prepare>} {
  %0 = nn.cast %w : <[D 4], f32> -> <[D 4], bf16>
  nn.return %0 : !nn.tensor<[D 4], bf16>
}

// -----

// A bf16 plan itself stays as it is.
tplan.plan @p {precision = "bf16"}
// CHECK-LABEL: nn.layer @narrow
// CHECK:         nn.cast %arg0 : <[D 4], f32> -> <[D 4], bf16>
nn.layer @narrow(%w: !nn.tensor<[D 4], f32> {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[D 4], bf16> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.cast %w : <[D 4], f32> -> <[D 4], bf16>
  nn.return %0 : !nn.tensor<[D 4], bf16>
}

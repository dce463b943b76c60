// RUN: tplan-opt --check-layouts -verify-diagnostics -split-input-file %s
// Blocks of a dimension, which have one scale.

// Axes cut between blocks that are split off: three of four blocks are no half.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[D 384], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<D over [tp]>}) {
  // expected-error @+1 {{blocks must be equal: D of size 3, found 2 ranks}}
  %0 = nn.split %x "D" by 128 {dist.layouts = [#dist.layout<D over [tp]>]} : <[D 384], f32> -> <[D 3, in.D 128], f32>
  nn.return
}
}

// -----

// Rows do not include a dimension that is split.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[D 256, E 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<rows [D] by 128 over [dp]>}) {
  // expected-error @+2 {{cannot work on blocks of rows: nn.split}}
  // expected-note @+1 {{gather the rows first, or cut dimensions by name}}
  %0 = nn.split %x "D" by 128 {dist.layouts = [#dist.layout<>]} : <[D 256, E 8], f32> -> <[D 2, in.D 128, E 8], f32>
  nn.return
}
}

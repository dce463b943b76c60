// RUN: tplan-opt --quantise-gemms --split-input-file --verify-diagnostics %s
// What has no blocks of a recipe stays as it is.
!x = !nn.tensor<[B 2, S 128, D 192], f32>
!w = !nn.tensor<[F 64, D 192], f32>
!y = !nn.tensor<[B 2, S 128, F 64], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "blockwise", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 128, D 192], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %dy: !y {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64})
    attributes {precisions = {w = "fp8(blockwise)"}} {
  // expected-remark @+1 {{a GEMM of this line is not in f8 as fp8(blockwise) asks: D of 192 is not cut into blocks of 128}}
  %0 = nn.contract %x, %w : (<[B 2, S 128, D 192], f32>, <[F 64, D 192], f32>) -> <[B 2, S 128, F 64], f32>
  // expected-remark @+1 {{a GEMM of this line is not in f8 as fp8(blockwise) asks: 64 elements are less than a block of 128}}
  %1 = nn.contract %dy, %w : (<[B 2, S 128, F 64], f32>, <[F 64, D 192], f32>) -> <[B 2, S 128, D 192], f32>
  nn.return %0, %1 : !y, !x
}

// -----

// The dimensions that are summed lie in two orders.
!x = !nn.tensor<[B 2, S 4, H 2, K 6], f32>
!w = !nn.tensor<[F 4, K 6, H 2], f32>
!y = !nn.tensor<[B 2, S 4, F 4], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "rowwise", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 4, H 2, K 6], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {precisions = {w = "fp8(rowwise)"}} {
  // expected-remark @+1 {{asks: its operands have dimensions in two orders}}
  %0 = nn.contract %x, %w : (<[B 2, S 4, H 2, K 6], f32>, <[F 4, K 6, H 2], f32>) -> <[B 2, S 4, F 4], f32>
  nn.return %0 : !y
}

// -----

module attributes {tplan.target = #tplan.target<{arch = "sm_80"}>} {
  // expected-error @+1 {{GEMMs of sm_80 read no operands with the scales of this recipe: leave out `fp8(..)`, or compile for sm_90; found current}}
  tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "w", weights = []}]}
}

// -----

module attributes {tplan.target = #tplan.target<{arch = "sm_90", scales = ["tensor", "row", "block"]}>} {
  // expected-error @+1 {{GEMMs of sm_90 read no operands with the scales of this recipe: name one of blockwise, rowwise, current, delayed; found mxfp8}}
  tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "mxfp8", selector = "w", weights = []}]}
}

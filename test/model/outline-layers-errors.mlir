// RUN: tplan-opt --outline-layers -verify-diagnostics -split-input-file %s
!x = !nn.tensor<[B 2], f32>
// expected-error @+1 {{has no loss; add `loss main = ...` to m}}
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
}

// -----

!s = !nn.tensor<[], f32>
tplan.model @m {
  %w = tplan.weight "w" "other" <"constant", 1.0 : f64> : !s
  // expected-error @+1 {{has a count that depends on weights: main}}
  tplan.loss "main" weight 1.0 %w count %w terms 0 : !s, !s
}

// -----

!s = !nn.tensor<[], f32>
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !s
  %y = tplan.for "blocks" runs [[2 : i64, 0 : i64]] carried(%x) invariant() : (!s) -> !s {
  ^bb0(%c: !s):
    // expected-error @+1 {{in a list must have as many terms in every layer: aux}}
    tplan.loss "aux" weight 1.0 %c count %c terms 0 : !s, !s
    tplan.return %c : !s
  }
  tplan.loss "main" weight 1.0 %y terms 1 : !s
}

// -----

!s = !nn.tensor<[], f32>
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !s
  %y = tplan.input "x" shift 1 vocabulary 0 : !s
  // expected-note @+1 {{emitted here before; give each its layer, or its name}}
  tplan.loss "main" weight 1.0 %x count %x terms 0 : !s, !s
  // expected-error @+1 {{emitted with other targets than before, so with a count of its own: main}}
  tplan.loss "main" weight 1.0 %x count %y terms 0 : !s, !s
}

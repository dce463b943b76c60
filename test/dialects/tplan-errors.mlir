// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the tplan dialect refuses on its own.

tplan.model @m {
  %x = tplan.apply "constant"() {value = 1.0} : () -> !nn.tensor<[D 2], f32>
  // expected-error @+1 {{carries in and out different types}}
  %y = tplan.for "blocks" runs [[2, 0]] carried(%x) invariant() : (!nn.tensor<[D 2], f32>) -> !nn.tensor<[D 3], f32> {
  ^bb0(%a: !nn.tensor<[D 2], f32>):
    tplan.return %a : !nn.tensor<[D 2], f32>
  }
}

// -----

tplan.model @m {
  %x = tplan.apply "constant"() {value = 1.0} : () -> !nn.tensor<[D 2], f32>
  // expected-error @+1 {{a kind's arguments must be the carried and invariant values}}
  %y = tplan.for "blocks" runs [[2, 0]] carried(%x) invariant() : (!nn.tensor<[D 2], f32>) -> !nn.tensor<[D 2], f32> {
  ^bb0(%a: !nn.tensor<[D 3], f32>):
    tplan.return %a : !nn.tensor<[D 3], f32>
  }
}

// -----

!s = !nn.tensor<[], f32>
tplan.model @m {
  %w = tplan.weight "w" "other" <"constant", 1.0 : f64> : !s
  // expected-error @+1 {{updates a weight of kind state only}}
  tplan.update %w, %w : !s, !s
}

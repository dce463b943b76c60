// RUN: tplan-opt --cut-updates -verify-diagnostics -split-input-file %s
!x = !nn.tensor<[B 2], f32>
!s = !nn.tensor<[], f32>
tplan.model @m {
  // expected-note @+1 {{it reads this value, which is neither; sum it over B}}
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %most = nn.reduce max %x : <[B 2], f32> -> <[], f32>
  // expected-error @+1 {{reads more than states and sums over the batch: metric most}}
  tplan.metric "most" %most : !s
}

// -----

!x = !nn.tensor<[B 2], f32>
!s = !nn.tensor<[], f32>
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %n = tplan.weight "n" "state" <"constant", 0.0 : f64> : !s
  // expected-note @+1 {{it reads this value, which is neither; sum it over B}}
  %w = tplan.weight "w" "other" <"constant", 0.0 : f64> : !s
  // expected-error @+1 {{reads more than states and sums over the batch: update of n}}
  tplan.update %n, %w : !s, !s
}

// -----

!x = !nn.tensor<[B 2], f32>
!s = !nn.tensor<[], f32>
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %n = tplan.weight "f.n" "state" <"constant", 0.0 : f64> : !s
  // expected-note @+1 {{updated here before}}
  tplan.update %n, %n : !s, !s
  // expected-error @+1 {{a state is updated twice in a step; call its layer once: f.n}}
  tplan.update %n, %n : !s, !s
}

// RUN: tplan-opt --inline-layers -verify-diagnostics %s
!x = !nn.tensor<[S 8], f32>
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  // expected-error @+1 {{calls no layer: missing}}
  %y = tplan.call @missing as "a"(%x) : (!x) -> !x
}

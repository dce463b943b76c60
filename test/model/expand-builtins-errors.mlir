// RUN: tplan-opt --expand-builtins -verify-diagnostics %s
!x = !nn.tensor<[S 8], f32>
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  // expected-error @+1 {{has no expansion: cosh}}
  %y = tplan.apply "cosh"(%x) : (!x) -> !x
}

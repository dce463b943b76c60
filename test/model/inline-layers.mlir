// RUN: tplan-opt --inline-layers %s | FileCheck %s
// EXAMPLE
// A member's name prefixes its weights; a member called twice shares them.
!x = !nn.tensor<[S 8, D 4], f32>
!w = !nn.tensor<[D 4], f32>

tplan.layer @scale(%x: !x) -> !x {
  %w = tplan.weight "gain" "norm" <"constant", 1.0 : f64> : !w
  %y = tplan.apply "mul"(%x, %w) : (!x, !w) -> !x
  tplan.return %y : !x
}

tplan.layer @twice(%x: !x) -> !x {
  %y = tplan.call @scale as "norm"(%x) : (!x) -> !x
  tplan.return %y : !x
}

// CHECK-NOT:   tplan.layer
// CHECK-LABEL: tplan.model @m
// CHECK:         %[[W:.+]] = tplan.weight "a.norm.gain"
// CHECK:         %[[Y:.+]] = tplan.apply "mul"(%{{.+}}, %[[W]])
// CHECK:         %[[W2:.+]] = tplan.weight "a.norm.gain"
// CHECK:         tplan.apply "mul"(%[[Y]], %[[W2]])
// CHECK-NOT:     tplan.call
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %y = tplan.call @twice as "a"(%x) : (!x) -> !x
  %z = tplan.call @twice as "a"(%y) : (!x) -> !x
}
// END

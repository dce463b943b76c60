// RUN: tplan-opt --cut-updates %s | FileCheck %s
// EXAMPLE
// The sum over the batch stays in the layer and has two readers; these run once a step, with copies
// of the states.
!x = !nn.tensor<[B 2, E 4], f32>
!e = !nn.tensor<[E 4], f32>
!s = !nn.tensor<[], f32>

// CHECK:      %[[SUM:.+]] = nn.reduce sum %[[X:.+]] :
// CHECK:      tplan.contribute "s0" %[[SUM]]
// CHECK:      tplan.once {
// CHECK-DAG:    %[[STATE:.+]] = tplan.weight "bias" "state"
// CHECK-DAG:    %[[TOTAL:.+]] = tplan.contributed "s0"
// CHECK:        %[[NEW:.+]] = nn.sub %[[STATE]], %[[TOTAL]]
// CHECK:        tplan.update %[[STATE]], %[[NEW]]
// CHECK:      }
// CHECK-NOT:  tplan.contribute "
// CHECK:      tplan.once {
// CHECK-NEXT:   %[[TOTAL:.+]] = tplan.contributed "s0"
// CHECK-NEXT:   %[[MOST:.+]] = nn.reduce max %[[TOTAL]]
// CHECK-NEXT:   tplan.metric "most" %[[MOST]]
// CHECK:      }
// CHECK-NOT:  tplan.update
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %bias = tplan.weight "bias" "state" <"constant", 0.0 : f64> : !e
  %load = nn.reduce sum %x : <[B 2, E 4], f32> -> <[E 4], f32>
  %new = nn.sub %bias, %load : (<[E 4], f32>, <[E 4], f32>) -> <[E 4], f32>
  tplan.update %bias, %new : !e, !e
  %most = nn.reduce max %load : <[E 4], f32> -> <[], f32>
  tplan.metric "most" %most : !s
}
// END

// RUN: tplan-opt --split-stages --order-tasks --plan-frames --plan-arena --step-kernels %S/../schedule/Inputs/mlp.mlir | FileCheck %s
// RUN: tplan-opt --step-kernels %s | FileCheck %s --check-prefix=NONE

// What a step computes between its functions: where the backward begins, and the norm.
// CHECK:      rt.kernel @tplan.cot_loss.main map rows [] cols [] grain 1 : (!nn.tensor<[], f64>) -> !nn.tensor<[], f32>
// CHECK-NEXT: ^bb0(%[[COUNT:.*]]: f64):
// CHECK-NEXT:   %[[WEIGHT:.*]] = arith.constant 1.0
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[COUNT]], %[[ZERO]]
// CHECK-NEXT:   %[[EACH:.*]] = arith.divf %[[WEIGHT]], %[[COUNT]]
// CHECK-NEXT:   %[[COT:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[EACH]]
// CHECK-NEXT:   arith.truncf %[[COT]] : f64 to f32
// CHECK:      rt.kernel @tplan.norm map
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f64):
// CHECK-NEXT:   %[[ROOT:.*]] = math.sqrt %[[SUM]]
// CHECK-NEXT:   rt.yield %[[SUM]], %[[ROOT]]

// A module without a program has none.
// NONE-NOT: rt.kernel
module {}

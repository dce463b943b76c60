// RUN: tplan-opt --step-kernels %s | FileCheck %s --check-prefix=HERE
// RUN: tplan-opt --split-stages --order-tasks --form-program --step-kernels %S/Inputs/mlp.mlir | FileCheck %s
// RUN: sed 's/precision = "f32"/loss_scale = {start = 1024.0 : f64, interval = 2 : i64}/' %S/Inputs/mlp.mlir > %t.scaled
// RUN: echo 'nn.param @tplan.loss_scale : !nn.tensor<[], f64> x 1 path "loss" first 0 step 1 id 0 by 0 <"constant", 1024.0 : f64> "state"' >> %t.scaled
// RUN: echo 'nn.param @tplan.good_steps : !nn.tensor<[], f64> x 1 path "loss" first 0 step 1 id 0 by 0 <"constant", 0.0 : f64> "state"' >> %t.scaled
// RUN: cat %t.scaled \
// RUN:   | tplan-opt --split-stages --order-tasks --form-program --step-kernels | FileCheck %s --check-prefix=SCALED
// RUN: sed 's/precision = "f32"/loss_scale = {start = 1024.0 : f64, interval = 0 : i64}/' %S/Inputs/mlp.mlir \
// RUN:   | tplan-opt --split-stages --order-tasks --form-program --step-kernels | FileCheck %s --check-prefix=CONSTANT
// RUN: echo 'module {}' | tplan-opt --step-kernels | FileCheck %s --check-prefix=NONE
// EXAMPLE
// The backward of a mean begins with weight / count, or with 0 where nothing was counted. The program launches the kernel; it had
// no code yet.
// HERE:      rt.kernel @tplan.cot_loss.main map rows [] cols [] grain 1 : (!nn.tensor<[], f64>) -> !nn.tensor<[], f32>
// HERE-NEXT: ^bb0(%[[COUNT:.*]]: f64):
// HERE-NEXT:   %[[WEIGHT:.*]] = arith.constant 5.0
// HERE-NEXT:   %[[ZERO:.*]] = arith.constant 0.0
// HERE-NEXT:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[COUNT]], %[[ZERO]]
// HERE-NEXT:   %[[EACH:.*]] = arith.divf %[[WEIGHT]], %[[COUNT]]
// HERE-NEXT:   %[[COT:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[EACH]]
// HERE-NEXT:   %[[F32:.*]] = arith.truncf %[[COT]] : f64 to f32
// HERE-NEXT:   rt.yield %[[F32]]
tplan.recipe @r {batch = 2 : i64}
tplan.plan @p {recipe = "r"}
sched.program @step policy "gpipe" stages 1 microbatches 1 tasks [F 0 0, B 0 0] losses {main = 0.5 : f64} {
  %count = sched.value <count "main"> scalar always bytes 8 x 1 of !nn.tensor<[], f64>
  %cot = sched.value <loss_cotangent "main"> scalar always bytes 4 x 1 of !nn.tensor<[], f32>
  sched.section @cotangents {
    sched.launch @tplan.cot_loss.main from(%count) to(%cot)
  }
}
// END

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

// With a scaled loss: the cotangent is multiplied by the scale; the norm is that of unscaled
// gradients; a step that is not finite is skipped; and the scale of the next step is twice or half
// of this one, or stays.
// SCALED:      rt.kernel @tplan.cot_loss.main map {{.*}} : (!nn.tensor<[], f64>, !nn.tensor<[], f64>) -> !nn.tensor<[], f32>
// SCALED-NEXT: ^bb0(%[[COUNT:.*]]: f64, %[[SCALE:.*]]: f64):
// SCALED:        %[[WHOLE:.*]] = arith.mulf %{{.*}}, %[[SCALE]]
// SCALED:        arith.divf %[[WHOLE]], %[[COUNT]]
// SCALED:      rt.kernel @tplan.norm map
// SCALED-NEXT: ^bb0(%[[SUM:.*]]: f64, %[[NOW:.*]]: f64, %[[ROW:.*]]: f64):
// SCALED:        %[[FINITE:.*]] = arith.cmpf olt, %[[SUM]], %{{.*}} : f64
// SCALED:        %[[BY:.*]] = arith.divf %{{.*}}, %[[NOW]]
// SCALED:        %[[SQUARE:.*]] = arith.mulf
// SCALED:        %[[ROOT:.*]] = math.sqrt %{{.*}} : f64
// SCALED:        %[[UNSCALE:.*]] = arith.select %[[FINITE]], %[[BY]], %{{.*}}
// SCALED:        %[[SKIPPED:.*]] = arith.select %[[FINITE]]
// SCALED:        arith.addf %[[ROW]]
// SCALED:        %[[NEXT:.*]] = arith.select %[[FINITE]]
// SCALED:        %[[GOOD:.*]] = arith.select %[[FINITE]]
// SCALED:        rt.yield %{{.*}}, %[[ROOT]], %[[UNSCALE]], %[[NOW]], %[[SKIPPED]], %[[NEXT]], %[[GOOD]]

// A constant scale is a number in the code.
// CONSTANT:      rt.kernel @tplan.cot_loss.main map {{.*}} : (!nn.tensor<[], f64>) -> !nn.tensor<[], f32>
// CONSTANT:        arith.constant 1.024000e+03
// CONSTANT:      rt.kernel @tplan.norm map
// CONSTANT-NEXT: ^bb0(%{{.*}}: f64):
// CONSTANT:        rt.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{[^,]*}} :

// A module without a program has none.
// NONE-NOT: rt.kernel

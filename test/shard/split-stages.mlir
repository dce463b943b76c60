// RUN: tplan-opt --split-stages --split-input-file %s | FileCheck %s
// EXAMPLE
// Two kinds of layers in turn, three of each, in stages of 1, 4 and 1 layers: the second stage
// begins in the middle of a period. Code before and after the list stays with it.
!x = !nn.tensor<[B 2], f32>
tplan.plan @p {stages = [1, 4, 1]}
nn.param @w : !x x 3 path "l.{i}.w" first 0 step 2 id 0 by 2 <"constant", 0.0 : f64> "linear"
nn.param @v : !x x 3 path "l.{i}.v" first 1 step 2 id 1 by 2 <"constant", 0.0 : f64> "linear"

// CHECK:      %[[X:.+]] = nn.run [@entry] x 1 layer 0 {{.*}} {stage = 0 : i64}
// CHECK-NEXT: %[[A:.+]] = nn.run [@a] x 1 layer 1 carried(%[[X]]) invariant() params {{\[}}{w = @w}] {nn.list, stage = 0 : i64}
// CHECK-NEXT: %[[B:.+]] = nn.run [@b] x 1 layer 2 carried(%[[A]]) invariant() params {{\[}}{v = @v}] {nn.list, stage = 1 : i64}
// CHECK-NEXT: %[[C:.+]] = nn.run [@a, @b] x 1 layer 3 carried(%[[B]]) {{.*}} {first_instance = 1 : i64, stage = 1 : i64}
// CHECK-NEXT: %[[D:.+]] = nn.run [@a] x 1 layer 5 carried(%[[C]]) {{.*}} {first_instance = 2 : i64, nn.list, stage = 1 : i64}
// CHECK-NEXT: %[[E:.+]] = nn.run [@b] x 1 layer 6 carried(%[[D]]) {{.*}} {first_instance = 2 : i64, nn.list, stage = 2 : i64}
// CHECK-NEXT: nn.run [@exit] x 1 layer 7 carried(%[[E]]) {{.*}} {stage = 2 : i64}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  %y = nn.run [@a, @b] x 3 layer 1 carried(%x) invariant() params [{w = @w}, {v = @v}] : (!x) -> !x
  nn.run [@exit] x 1 layer 7 carried(%y) invariant() params [{}] : (!x) -> ()
}
// END

// -----

// Ranks that hold a stage each, and a plan that says nothing of the stages: the head, which
// multiplies most, is in the last stage, which therefore has fewer layers. The cut becomes a line
// of the plan.
// CHECK: tplan.plan @p {{.*}}stages = [3, 1]
!x = !nn.tensor<[B 2, D 64], f32>
tplan.plan @p {mesh = [{name = "pp", size = 2 : i64}], stage_axis = "pp"}
nn.layer @a(%x: !x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}, %w: !nn.tensor<[D 64, E 64], f32> {nn.role = "param", nn.name = "w"}) -> (!x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}) {
  %h = nn.contract %x, %w : (!x, !nn.tensor<[D 64, E 64], f32>) -> !nn.tensor<[B 2, E 64], f32>
  %y = nn.contract %h, %w : (!nn.tensor<[B 2, E 64], f32>, !nn.tensor<[D 64, E 64], f32>) -> !x
  nn.return %y : !x
}
nn.layer @exit(%x: !x {nn.role = "carried", nn.name = "x", nn.position = 0 : i64}, %w: !nn.tensor<[D 64, V 256], f32> {nn.role = "param", nn.name = "w"}) -> (!nn.tensor<[], f32> {nn.role = "loss", nn.name = "main"}) {
  %l = nn.contract %x, %w : (!x, !nn.tensor<[D 64, V 256], f32>) -> !nn.tensor<[B 2, V 256], f32>
  %s = nn.reduce sum %l : !nn.tensor<[B 2, V 256], f32> -> !nn.tensor<[], f32>
  nn.return %s : !nn.tensor<[], f32>
}
nn.param @w : !nn.tensor<[D 64, E 64], f32> x 4 path "l.{i}.w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear"
nn.param @v : !nn.tensor<[D 64, V 256], f32> x 1 path "v" first 0 step 1 id 4 by 1 <"constant", 0.0 : f64> "linear"
// CHECK: nn.run [@a] x 3 {{.*}}stage = 0
// CHECK: nn.run [@a] x 1 {{.*}}stage = 1
// CHECK: nn.run [@exit] x 1 {{.*}}stage = 1
nn.chain @train {
  %x = nn.input "tokens" shift 0 vocabulary 4 : !x
  %y = nn.run [@a] x 4 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !x
  nn.run [@exit] x 1 layer 4 carried(%y) invariant() params [{w = @v}] : (!x) -> ()
}

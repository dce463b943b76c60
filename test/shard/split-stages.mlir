// RUN: tplan-opt --split-stages %s | FileCheck %s
// Two kinds of layers in turn, three of each, in stages of 1, 4 and 1 layers: the second
// stage begins in the middle of a period. Code before and behind the list follows it.
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

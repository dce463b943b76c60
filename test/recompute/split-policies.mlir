// RUN: tplan-opt --split-policies %s | FileCheck %s
// EXAMPLE
// The run is cut where the policy changes; the second policy has a layer of its own.
!x = !nn.tensor<[D 4], f32>
tplan.plan @p {recompute = {default = "none", rules = [{first = 0, last = 1, policy = "full"}]}}

// CHECK: %[[X:.+]] = nn.input
// CHECK: %[[Y:.+]] = nn.run [@blocks] x 2 layer 0 carried(%[[X]])
// CHECK: nn.run [@blocks_none] x 3 layer 2 carried(%[[Y]]) {{.*}} {first_instance = 2 : i64}
// CHECK-DAG: nn.layer @blocks(%{{.+}}recompute = "full"
// CHECK-DAG: nn.layer @blocks_none(%{{.+}}recompute = "none"
// Each reduces the gradients of its own layers.
// CHECK-DAG: nn.layer @blocks.R
// CHECK-DAG: nn.layer @blocks_none.R({{.+}}layer = @blocks_none, part = #nn.part<reduce>
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[D 4], f32>
  %y = nn.run [@blocks] x 5 layer 0 carried(%x) invariant() params [{}] : (!x) -> !x
}
nn.layer @blocks(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  nn.return %x : !x
}
nn.layer @blocks.R(%g: !x {nn.role = "cot_param", nn.name = "w"}) -> (!x {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @blocks, part = #nn.part<reduce>} {
  nn.return %g : !x
}
// END

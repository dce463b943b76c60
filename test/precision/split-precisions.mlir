// RUN: tplan-opt --split-precisions --split-input-file %s | FileCheck %s
// EXAMPLE
// The last two layers of a list compute in f32: the run is cut, and they have a layer of their own, with its own update.
!x = !nn.tensor<[D 4], f32>
tplan.plan @p {precision = "bf16",
               precision_of = [{precision = "f32", selector = "blocks[-2..-1]", weights = [{path = "blocks.{i}.w", first = 3, last = 4}]}]}

// CHECK: %[[X:.+]] = nn.input
// CHECK: %[[Y:.+]] = nn.run [@blocks] x 3 layer 0 carried(%[[X]])
// CHECK: nn.run [@blocks_0] x 2 layer 3 carried(%[[Y]]) {{.*}} {first_instance = 3 : i64}
// CHECK-DAG: nn.layer @blocks({{.*}}precisions = {}
// CHECK-DAG: nn.layer @blocks_0({{.*}}precisions = {w = "f32"}
// CHECK-DAG: nn.layer @blocks.U({{.*}}layer = @blocks,
// CHECK-DAG: nn.layer @blocks_0.U({{.*}}layer = @blocks_0,
nn.param @blocks.w : !x x 5 path "blocks.{i}.w" first 0 step 1 id 0 by 1 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[D 4], f32>
  %y = nn.run [@blocks] x 5 layer 0 carried(%x) invariant() params [{w = @blocks.w}] : (!x) -> !x
}
nn.layer @blocks(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !x {nn.role = "param", nn.name = "w"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  nn.return %x : !x
}
nn.layer @blocks.U(%w: !x {nn.role = "param", nn.name = "w"}) -> (!x {nn.role = "param", nn.name = "w"})
    attributes {layer = @blocks, part = #nn.part<update>} {
  nn.return %w : !x
}
// END

// -----

// Two kinds of layers in turn: one of them has a weight that is named in all layers, so nothing is cut. A part in the plan's own
// precision is none.
!x = !nn.tensor<[D 4], f32>
tplan.plan @p {precision = "bf16",
               precision_of = [{precision = "f32", selector = "w", weights = [{path = "blocks.{i}.w", first = 1, last = 3}]},
                               {precision = "bf16", selector = "head", weights = [{path = "head", first = 0, last = 0}]}]}

// CHECK: nn.run [@even, @odd] x 2 layer 0
// CHECK: nn.run [@head] x 1
// CHECK-DAG: nn.layer @even({{.*}}precisions = {}
// CHECK-DAG: nn.layer @odd({{.*}}precisions = {w = "f32"}
// CHECK-DAG: nn.layer @head({{.*}}precisions = {}
nn.param @blocks.v : !x x 2 path "blocks.{i}.v" first 0 step 2 id 0 by 2 <"constant", 1.0 : f64> "linear"
nn.param @blocks.w : !x x 2 path "blocks.{i}.w" first 1 step 2 id 1 by 2 <"constant", 1.0 : f64> "linear"
nn.param @head.w : !x x 1 path "head" first 0 step 1 id 4 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[D 4], f32>
  %y = nn.run [@even, @odd] x 2 layer 0 carried(%x) invariant() params [{v = @blocks.v}, {w = @blocks.w}] : (!x) -> !x
  nn.run [@head] x 1 layer 4 carried(%y) invariant() params [{w = @head.w}] : (!x) -> ()
}
nn.layer @even(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %v: !x {nn.role = "param", nn.name = "v"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  nn.return %x : !x
}
nn.layer @odd(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !x {nn.role = "param", nn.name = "w"})
    -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  nn.return %x : !x
}
nn.layer @head(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !x {nn.role = "param", nn.name = "w"}) -> () {
  nn.return
}

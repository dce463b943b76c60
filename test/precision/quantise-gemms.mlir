// RUN: tplan-opt --quantise-gemms --split-input-file %s | FileCheck %s
// EXAMPLE
// Rows of 128 along D have one scale in x, and blocks of 128 by 128 in w, whose codes and scales are working copies. The gradient
// of w sums along S, so x is quantised again, from f32, in columns of 128.
!x = !nn.tensor<[B 2, S 256, D 256], f32>
!w = !nn.tensor<[F 256, D 256], f32>
!y = !nn.tensor<[B 2, S 256, F 256], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "blockwise", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}

// CHECK:       nn.param @w.f8E4M3FN : !nn.tensor<[F 256, D 256], f8E4M3FN>
// CHECK:       nn.param @w.f8E4M3FN.scale : !nn.tensor<[F 2, D 2], f32>
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 256, D 256], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK:         nn.contract {{.*}} scaled %[[OF_X:.+]], %{{.+}} : (<[B 2, S 256, D 2, in.D 128], f8E4M3FN>, <[F 2, in.F 128, D 2, in.D 128], f8E4M3FN>, !nn.tensor<[B 2, S 256, D 2], f32>, !nn.tensor<[F 2, D 2], f32>) -> <[B 2, S 256, F 2, in.F 128], f32>
// CHECK-NEXT:    nn.merge {{.*}} "F"
// CHECK:         nn.contract {{.*}} : (<[B 2, S 2, in.S 128, F 256], f8E4M3FN>, <[B 2, S 2, in.S 128, D 256], f8E4M3FN>, !nn.tensor<[B 2, S 2, F 256], f32>, !nn.tensor<[B 2, S 2, D 256], f32>) -> <[F 256, D 256], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %dy: !y {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %dw: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !w {nn.role = "cot_param", nn.name = "w"}) attributes {precisions = {w = "fp8(blockwise)"}} {
  %0 = nn.contract %x, %w : (<[B 2, S 256, D 256], f32>, <[F 256, D 256], f32>) -> <[B 2, S 256, F 256], f32>
  %1 = nn.contract %dy, %x : (<[B 2, S 256, F 256], f32>, <[B 2, S 256, D 256], f32>) -> <[F 256, D 256], f32>
  %2 = nn.add %dw, %1 : (<[F 256, D 256], f32>, <[F 256, D 256], f32>) -> <[F 256, D 256], f32>
  nn.return %0, %2 : !y, !w
}
// END

// -----

// A row is all that is summed: a weight has codes for forward and others for backward, because rows are other ones there. The
// gradient of a sequence's rows has scales of that sequence.
!x = !nn.tensor<[B 2, S 4, D 6], f32>
!w = !nn.tensor<[F 8, D 6], f32>
!y = !nn.tensor<[B 2, S 4, F 8], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "rowwise", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}

// CHECK:       nn.param @w.f8E4M3FN.D.scale : !nn.tensor<[F 8], f32>
// CHECK:       nn.param @w.f8E4M3FN.F.scale : !nn.tensor<[D 6], f32>
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 4, D 6], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK:         nn.contract {{.*}} : ({{.*}}, !nn.tensor<[B 2, S 4], f32>, !nn.tensor<[F 8], f32>) -> <[B 2, S 4, F 8], f32>
// CHECK:         nn.contract {{.*}} : ({{.*}}, !nn.tensor<[B 2, S 4], f32>, !nn.tensor<[D 6], f32>) -> <[B 2, S 4, D 6], f32>
// CHECK:         nn.contract {{.*}} : ({{.*}}, !nn.tensor<[B 2, F 8], f32>, !nn.tensor<[B 2, D 6], f32>) -> <[F 8, D 6], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %dy: !y {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %dw: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64},
        !w {nn.role = "cot_param", nn.name = "w"}) attributes {precisions = {w = "fp8(rowwise)"}} {
  %0 = nn.contract %x, %w : (<[B 2, S 4, D 6], f32>, <[F 8, D 6], f32>) -> <[B 2, S 4, F 8], f32>
  %1 = nn.contract %dy, %w : (<[B 2, S 4, F 8], f32>, <[F 8, D 6], f32>) -> <[B 2, S 4, D 6], f32>
  %2 = nn.contract %dy, %x : (<[B 2, S 4, F 8], f32>, <[B 2, S 4, D 6], f32>) -> <[F 8, D 6], f32>
  %3 = nn.add %dw, %2 : (<[F 8, D 6], f32>, <[F 8, D 6], f32>) -> <[F 8, D 6], f32>
  nn.return %0, %1, %3 : !y, !x, !w
}

// -----

// With microscaling a GEMM sums products of codes and scales, which are powers of two.
!x = !nn.tensor<[B 2, S 4, D 64], f32>
!w = !nn.tensor<[F 8, D 64], f32>
!y = !nn.tensor<[B 2, S 4, F 8], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "mxfp8", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 4, D 64], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK:         nn.contract {{.*}} folded : ({{.*}}, !nn.tensor<[B 2, S 4, D 2], f32>, !nn.tensor<[F 8, D 2], f32>) -> <[B 2, S 4, F 8], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {precisions = {w = "fp8(mxfp8)"}} {
  %0 = nn.contract %x, %w : (<[B 2, S 4, D 64], f32>, <[F 8, D 64], f32>) -> <[B 2, S 4, F 8], f32>
  nn.return %0 : !y
}

// -----

// One scale for a sequence and one for a weight; gradients are in E5M2. Blocks of 128 over two heads of 64 with blockwise.
!x = !nn.tensor<[B 2, S 128, H 4, K 64], f32>
!w = !nn.tensor<[D 128, H 4, K 64], f32>
!y = !nn.tensor<[B 2, S 128, D 128], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "current", selector = "v", weights = [{path = "v", first = 0, last = 0}]},
                               {precision = "bf16", fp8 = "blockwise", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}
nn.param @v : !w x 1 path "v" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.param @w : !w x 1 path "w" first 0 step 1 id 1 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 128, H 4, K 64], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{v = @v, w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK:         nn.contract {{.*}} : (<[B 2, S 128, H 4, K 64], f8E4M3FN>, <[D 128, H 4, K 64], f8E4M3FN>, !nn.tensor<[B 2], f32>, !nn.tensor<[], f32>) -> <[B 2, S 128, D 128], f32>
// CHECK:         nn.contract {{.*}} : (<[B 2, S 128, H 2, in.H 2, K 64], f8E4M3FN>, <[D 128, H 2, in.H 2, K 64], f8E4M3FN>, !nn.tensor<[B 2, S 128, H 2], f32>, !nn.tensor<[H 2], f32>) -> <[B 2, S 128, D 128], f32>
// CHECK:         nn.contract {{.*}} : (<[B 2, S 128, D 128], f8E5M2>, <[D 128, H 4, K 64], f8E4M3FN>, !nn.tensor<[B 2], f32>, !nn.tensor<[], f32>) -> <[B 2, S 128, H 4, K 64], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %v: !w {nn.role = "param", nn.name = "v"},
                %w: !w {nn.role = "param", nn.name = "w"}, %dy: !y {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !x {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64})
    attributes {precisions = {v = "fp8(current)", w = "fp8(blockwise)"}} {
  %0 = nn.contract %x, %v : (<[B 2, S 128, H 4, K 64], f32>, <[D 128, H 4, K 64], f32>) -> <[B 2, S 128, D 128], f32>
  %1 = nn.contract %x, %w : (<[B 2, S 128, H 4, K 64], f32>, <[D 128, H 4, K 64], f32>) -> <[B 2, S 128, D 128], f32>
  %2 = nn.add %0, %1 : (<[B 2, S 128, D 128], f32>, <[B 2, S 128, D 128], f32>) -> <[B 2, S 128, D 128], f32>
  %3 = nn.contract %dy, %v : (<[B 2, S 128, D 128], f32>, <[D 128, H 4, K 64], f32>) -> <[B 2, S 128, H 4, K 64], f32>
  nn.return %2, %3 : !y, !x
}

// -----

// Scales from earlier steps: the multipliers of x and dy are states, codes are made with them, and what a step finds largest is
// contributed over all sequences and microbatches. Part `states` puts it into the history, and makes the next multiplier. The scale
// of w is that of its codes.
!x = !nn.tensor<[B 2, S 4, D 6], f32>
!w = !nn.tensor<[F 8, D 6], f32>
!y = !nn.tensor<[B 2, S 4, F 8], f32>
tplan.plan @p {precision_of = [{precision = "bf16", fp8 = "delayed", history = 3 : i64, margin = 1 : i64, selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}

// CHECK-DAG:   nn.param @w.x.history : !nn.tensor<[scale.steps 3], f32> x 1 path "w.x" {{.*}} <"constant", 0.000000e+00 : f64> "state" {nn.step_state = "history"}
// CHECK-DAG:   nn.param @w.x.slot : !nn.tensor<[], f32> {{.*}} <"constant", 0.000000e+00 : f64> "state"
// CHECK-DAG:   nn.param @w.dy.multiplier : !nn.tensor<[], f32> {{.*}} <"constant", 1.000000e+00 : f64> "state" {nn.step_state = "multiplier"}
// CHECK-DAG:   nn.param @w.f8E4M3FN.scale : !nn.tensor<[], f32>
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, S 4, D 6], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer(
// CHECK-SAME:    %[[MULTIPLIER:[^:]+]]: !nn.tensor<[], f32> {nn.name = "w.x.multiplier", nn.role = "state"}
// CHECK-SAME:    %[[BEFORE:[^:]+]]: !nn.tensor<[], f32> {nn.name = "w.x.amax", nn.role = "contribution"}
// CHECK-DAG:     %[[AMAX:.+]] = nn.reduce max %{{.+}} : <[B 2, S 4, D 6], f32> -> <[], f32>
// CHECK-DAG:     nn.max %[[BEFORE]], %[[AMAX]]
// CHECK-DAG:     %[[SCALED:.+]] = nn.mul %{{.+}}, %[[MULTIPLIER]]
// CHECK-DAG:     nn.cast %[[SCALED]] : <[B 2, S 4, D 6], f32> -> <[B 2, S 4, D 6], f8E4M3FN>
// CHECK:         nn.contract {{.*}} : ({{.*}}f8E4M3FN>, {{.*}}f8E4M3FN>, !nn.tensor<[], f32>, !nn.tensor<[], f32>) -> <[B 2, S 4, F 8], f32>
// CHECK:         nn.contract {{.*}} : ({{.*}}f8E5M2>, {{.*}}f8E4M3FN>, !nn.tensor<[], f32>, !nn.tensor<[], f32>) -> <[F 8, D 6], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %dy: !y {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %dw: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !w {nn.role = "cot_param", nn.name = "w"})
    attributes {precisions = {w = "fp8(delayed(history = 3, margin = 1))"}} {
  %0 = nn.contract %x, %w : (<[B 2, S 4, D 6], f32>, <[F 8, D 6], f32>) -> <[B 2, S 4, F 8], f32>
  %1 = nn.contract %dy, %x : (<[B 2, S 4, F 8], f32>, <[B 2, S 4, D 6], f32>) -> <[F 8, D 6], f32>
  %2 = nn.add %dw, %1 : (<[F 8, D 6], f32>, <[F 8, D 6], f32>) -> <[F 8, D 6], f32>
  nn.return %0, %2 : !y, !w
}
// CHECK-LABEL: nn.layer @layer.S(
// CHECK:         %[[PLACE:.+]] = nn.index
// CHECK:         nn.cmp eq %{{.+}}, %{{.+}} : (<[scale.steps 3], f32>, <[], f32>)
// CHECK:         %[[MOST:.+]] = nn.reduce max %{{.+}} : <[scale.steps 3], f32> -> <[], f32>
// CHECK:         nn.div %{{.+}}, %[[MOST]]
// CHECK:         nn.return

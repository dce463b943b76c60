// RUN: tplan-opt --check-layouts --split-input-file %s | FileCheck %s
// EXAMPLE
// A contraction over F, which tp cuts, leaves a pending sum over tp; an all-reduce makes it before exp reads it. Without the
// all-reduce the exp would be an error: exp of a sum is not the sum of exps.
// CHECK-LABEL: nn.layer @layer
// CHECK:         nn.contract %arg0, %arg1 {dist.layouts = [#dist.layout<sum over [tp]>]}
// CHECK-NEXT:    dist.collective all_reduce sum %{{.*}} over ["tp"] {dist.layouts = [#dist.layout<>]}
// CHECK-NEXT:    nn.exp
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
nn.layer @layer(%x: !nn.tensor<[B 4, F 8], f64> {nn.role = "carried", nn.name = "c0", dist.layout = #dist.layout<F over [tp]>},
                %w: !nn.tensor<[F 8, D 4], f64> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<F over [tp]>})
    -> (!nn.tensor<[B 4, D 4], f64> {nn.role = "carried", nn.name = "c0"}) {
  %y = nn.contract %x, %w {dist.layouts = [#dist.layout<sum over [tp]>]} : (<[B 4, F 8], f64>, <[F 8, D 4], f64>) -> <[B 4, D 4], f64>
  %sum = dist.collective all_reduce sum %y over ["tp"] {dist.layouts = [#dist.layout<>]} : <[B 4, D 4], f64> -> <[B 4, D 4], f64>
  %e = nn.exp %sum {dist.layouts = [#dist.layout<>]} : <[B 4, D 4], f64>
  nn.return %e : !nn.tensor<[B 4, D 4], f64>
}
}
// END

// -----
// What check-layouts accepts: a step of a vocabulary-parallel head with a norm under sequence parallelism, as
// assign-layouts writes it. V divides by no axis: padding is masked by localize (NVIDIA/Megatron-LM#1754, #1736: more than
// half the loss lost). Dropout goes by logical positions, so it may be cut (pytorch/torchtitan#1750).
// CHECK: module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>}
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.param @w : !nn.tensor<[V 7, D 4], f64> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.param @n : !nn.tensor<[D 4], f64> x 1 path "n" first 0 step 1 id 1 by 0 <"constant", 1.0 : f64> "norm"
nn.chain @train losses {main = 1.0 : f64} attributes {dist.pending = {"gradient norm" = ["dp", "tp"], main = ["dp", "tp"]}} {
  %x = nn.input "x" shift 0 vocabulary 0 {dist.layouts = [#dist.layout<B over [dp], S over [tp]>]} : <[B 4, S 6, D 4], f64>
  nn.run [@head] x 1 layer 0 carried() invariant(%x) params [{n = @n, w = @w}] {dist.layouts = []} : (!nn.tensor<[B 4, S 6, D 4], f64>) -> ()
}
nn.layer @head(%x: !nn.tensor<[B 4, S 6, D 4], f64> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp], S over [tp]>},
               %n: !nn.tensor<[D 4], f64> {nn.role = "param", nn.name = "n"},
               %w: !nn.tensor<[V 7, D 4], f64> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<V over [tp]>},
               %loss: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<sum over [dp, tp]>},
               %gn: !nn.tensor<[D 4], f64> {nn.role = "cot_param", nn.name = "n", dist.layout = #dist.layout<sum over [dp, tp]>},
               %gw: !nn.tensor<[V 7, D 4], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<V over [tp], sum over [dp]>},
               %seed: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "seed"})
    -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<sum over [dp, tp]>},
        !nn.tensor<[D 4], f64> {nn.role = "cot_param", nn.name = "n", dist.layout = #dist.layout<sum over [dp, tp]>},
        !nn.tensor<[V 7, D 4], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<V over [tp], sum over [dp]>}) {
  // The norm works on its part of S, and its gradient waits for both axes.
  %y = nn.mul %x, %n {dist.layouts = [#dist.layout<B over [dp], S over [tp]>]} : (<[B 4, S 6, D 4], f64>, <[D 4], f64>) -> <[B 4, S 6, D 4], f64>
  %p = nn.mul %y, %x {dist.layouts = [#dist.layout<B over [dp], S over [tp]>]} : (<[B 4, S 6, D 4], f64>, <[B 4, S 6, D 4], f64>) -> <[B 4, S 6, D 4], f64>
  %dn = nn.reduce sum %p {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : <[B 4, S 6, D 4], f64> -> <[D 4], f64>
  %gn1 = nn.add %gn, %dn {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : (<[D 4], f64>, <[D 4], f64>) -> <[D 4], f64>
  %mask = nn.dropout_mask %seed, %seed, %seed, %seed site 0 rate 0.1 {dist.layouts = [#dist.layout<B over [dp], S over [tp]>]} : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 4, S 6, D 4], f64>
  %kept = nn.mul %y, %mask {dist.layouts = [#dist.layout<B over [dp], S over [tp]>]} : (<[B 4, S 6, D 4], f64>, <[B 4, S 6, D 4], f64>) -> <[B 4, S 6, D 4], f64>
  // CHECK: dist.collective all_gather
  %all = dist.collective all_gather sum %kept over ["tp"] dim "S" {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4, S 6, D 4], f64> -> <[B 4, S 6, D 4], f64>
  %z = nn.contract %all, %w {dist.layouts = [#dist.layout<B over [dp], V over [tp]>]} : (<[B 4, S 6, D 4], f64>, <[V 7, D 4], f64>) -> <[B 4, S 6, V 7], f64>
  %top = nn.reduce max %z detached {dist.layouts = [#dist.layout<B over [dp], max over [tp]>]} : <[B 4, S 6, V 7], f64> -> <[B 4, S 6], f64>
  // CHECK: dist.collective all_reduce max
  %shift = dist.collective all_reduce max %top over ["tp"] {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4, S 6], f64> -> <[B 4, S 6], f64>
  %e = nn.sub %z, %shift {dist.layouts = [#dist.layout<B over [dp], V over [tp]>]} : (<[B 4, S 6, V 7], f64>, <[B 4, S 6], f64>) -> <[B 4, S 6, V 7], f64>
  %l = nn.reduce sum %e {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : <[B 4, S 6, V 7], f64> -> <[], f64>
  %loss1 = nn.add %loss, %l {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : (<[], f64>, <[], f64>) -> <[], f64>
  %dw = nn.contract %e, %all {dist.layouts = [#dist.layout<V over [tp], sum over [dp]>]} : (<[B 4, S 6, V 7], f64>, <[B 4, S 6, D 4], f64>) -> <[V 7, D 4], f64>
  %gw1 = nn.add %gw, %dw {dist.layouts = [#dist.layout<V over [tp], sum over [dp]>]} : (<[V 7, D 4], f64>, <[V 7, D 4], f64>) -> <[V 7, D 4], f64>
  nn.return %loss1, %gn1, %gw1 : !nn.tensor<[], f64>, !nn.tensor<[D 4], f64>, !nn.tensor<[V 7, D 4], f64>
}
nn.layer @head.R(%gn: !nn.tensor<[D 4], f64> {nn.role = "cot_param", nn.name = "n", dist.layout = #dist.layout<sum over [dp, tp]>},
                 %gw: !nn.tensor<[V 7, D 4], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<V over [tp], sum over [dp]>})
    -> (!nn.tensor<[D 4], f64> {nn.role = "cot_param", nn.name = "n"},
        !nn.tensor<[V 7, D 4], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<V over [tp], rows [V] by 2 over [dp] in_whole>}) attributes {layer = @head, part = #nn.part<reduce>} {
  %0 = dist.collective all_reduce sum %gn over ["dp", "tp"] {dist.layouts = [#dist.layout<>]} : <[D 4], f64> -> <[D 4], f64>
  %1 = dist.collective reduce_scatter sum %gw over ["dp"] {dist.layouts = [#dist.layout<V over [tp], rows [V] by 2 over [dp]>]} : <[V 7, D 4], f64> -> <[V 7, D 4], f64>
  %2 = dist.place %1 into %gw over ["dp"] {dist.layouts = [#dist.layout<V over [tp], rows [V] by 2 over [dp] in_whole>]} : <[V 7, D 4], f64>, <[V 7, D 4], f64> -> <[V 7, D 4], f64>
  nn.return %0, %2 : !nn.tensor<[D 4], f64>, !nn.tensor<[V 7, D 4], f64>
}
// Each weight counts in one of the ranks that have it.
nn.layer @head.N(%norm: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>},
                 %gn: !nn.tensor<[D 4], f64> {nn.role = "cot_param", nn.name = "n"},
                 %gw: !nn.tensor<[V 7, D 4], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<V over [tp], rows [V] by 2 over [dp] in_whole>})
    -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}) attributes {layer = @head, part = #nn.part<norm>} {
  %0 = nn.contract %gn, %gn {dist.layouts = [#dist.layout<>]} : (<[D 4], f64>, <[D 4], f64>) -> <[], f64>
  // CHECK: dist.own
  %1 = dist.own %0 over ["dp", "tp"] {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : <[], f64>
  %2 = nn.add %norm, %1 {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : (<[], f64>, <[], f64>) -> <[], f64>
  %own = dist.slice %gw over ["dp"] {dist.layouts = [#dist.layout<V over [tp], rows [V] by 2 over [dp]>]} : <[V 7, D 4], f64> -> <[V 7, D 4], f64>
  %3 = nn.mul %own, %own {dist.layouts = [#dist.layout<V over [tp], rows [V] by 2 over [dp]>]} : (<[V 7, D 4], f64>, <[V 7, D 4], f64>) -> <[V 7, D 4], f64>
  %4 = nn.reduce sum %3 {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : <[V 7, D 4], f64> -> <[], f64>
  %5 = nn.add %2, %4 {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %5 : !nn.tensor<[], f64>
}
}

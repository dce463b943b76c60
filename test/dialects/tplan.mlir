// RUN: tplan-opt %s | tplan-opt | FileCheck %s
// RUN: tplan-opt --mlir-print-op-generic %s | tplan-opt | FileCheck %s
// A source as `parse` leaves it, and what `cut-updates` makes of an update.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4], f32>
!s = !nn.tensor<[], f32>

// CHECK:       tplan.recipe @r {batch = 8 : i64
// CHECK:       tplan.cluster @c {{.*}}devices = 8 : i64
// CHECK:       tplan.plan @p {{.*}}microbatch = 2 : i64
tplan.recipe @r {batch = 8 : i64, sequence = 16 : i64, steps = 100 : i64}
tplan.cluster @c {devices = 8 : i64, nodes = 2 : i64}
tplan.plan @p {recipe = "r", microbatch = 2 : i64, mesh = [{name = "dp", size = 2 : i64}], shard = [{axes = ["dp"], dims = ["B"]}]}

// CHECK-LABEL: tplan.layer @scale(
// CHECK-NEXT:    tplan.weight "gain" "norm" <"constant", 1.000000e+00 : f64>
// CHECK-NEXT:    tplan.apply "mul"
// CHECK-NEXT:    tplan.return
tplan.layer @scale(%x: !x) -> !x {
  %w = tplan.weight "gain" "norm" <"constant", 1.0 : f64> : !w
  %y = tplan.apply "mul"(%x, %w) : (!x, !w) -> !x
  tplan.return %y : !x
}

// CHECK-LABEL: tplan.model @m
// CHECK:         tplan.input "x" shift 0 vocabulary 0
// CHECK:         tplan.call @scale as "norm"
// CHECK:         tplan.for "blocks" runs {{\[}}[3, 0]{{\]}}
// CHECK:         tplan.output "y"
// CHECK:         tplan.loss "main" weight 1.000000e+00 %{{.*}} terms 8
// CHECK:         tplan.contribute "s0"
// CHECK:         tplan.once {
// CHECK:           tplan.contributed "s0"
// CHECK:           tplan.update
// CHECK:           tplan.metric "most"
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %y = tplan.call @scale as "norm"(%x) : (!x) -> !x
  %z = tplan.for "blocks" runs [[3 : i64, 0 : i64]] carried(%y) invariant() : (!x) -> !x {
  ^bb0(%c: !x):
    %b = tplan.call @scale as ""(%c) : (!x) -> !x
    tplan.return %b : !x
  }
  tplan.output "y" %z : !x
  %sum = nn.reduce sum %z : <[B 2, D 4], f32> -> <[], f32>
  tplan.loss "main" weight 1.0 %sum terms 8 : !s
  %load = nn.reduce sum %z : <[B 2, D 4], f32> -> <[D 4], f32>
  tplan.contribute "s0" %load : !w
  tplan.once {
    %state = tplan.weight "load" "state" <"constant", 0.0 : f64> : !w
    %total = tplan.contributed "s0" : !w
    tplan.update %state, %total : !w, !w
    %most = nn.reduce max %total : <[D 4], f32> -> <[], f32>
    tplan.metric "most" %most : !s
  }
}

// CHECK-LABEL: tplan.disk "huggingface"
// CHECK-NEXT:    tplan.stored ["blocks.{i}.gain"] as ["h.{i}.ln.weight"] layout {{\[}}["D"]{{\]}}
// CHECK-NEXT:    tplan.ignored "h.{i}.attn.bias"
// CHECK-NEXT:    tplan.config ["n_embd"] is 4
tplan.disk "huggingface" {
  tplan.stored ["blocks.{i}.gain"] as ["h.{i}.ln.weight"] layout [["D"]]
  tplan.ignored "h.{i}.attn.bias"
  tplan.config ["n_embd"] is 4 : i64
}

// RUN: tplan-opt --localize --split-input-file %s | FileCheck %s
// EXAMPLE
// Nine of B over four ranks are three each, so the last rank has none of its own: each masks what lies after the end of B, by
// its member number along dp, which is a scalar.
module attributes {dist.mesh = #dist.mesh<<"dp", 4>>} {
tplan.plan @p {mesh = [{name = "dp", size = 4 : i64}]}
// CHECK-LABEL: nn.layer @sum(
// CHECK-SAME:    %arg0: !nn.tensor<[B 3, D 4], f64>
// CHECK-SAME:    %[[RANK:.+]]: !nn.tensor<[], i32> {nn.member = ["dp"], nn.name = "member.dp", nn.role = "scalar"})
// CHECK:         %[[START:.+]] = nn.mul %[[RANK]], %{{.+}}
// CHECK:         %[[AT:.+]] = nn.index from %[[START]] pieces [3] : <[B 3], i32>
// CHECK:         %[[INSIDE:.+]] = nn.cmp lt %[[AT]], %{{.+}}
// CHECK:         %[[KEPT:.+]] = nn.select %[[INSIDE]], %arg0, %{{.+}}
// CHECK:         nn.reduce sum %[[KEPT]]
nn.layer @sum(%x: !nn.tensor<[B 9, D 4], f64> {nn.role = "carried", nn.name = "c0", dist.layout = #dist.layout<B over [dp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 9, D 4], f64> -> <[], f64>
  nn.return
}
}
// END

// -----
// Sizes become those of one rank, by ceil; the rank's number along the axes comes as a scalar. Ids
// are looked up where the table has them, positions are logical ones, and elements after the end
// count for nothing.
module attributes {dist.mesh = #dist.mesh<<"dp", 4>, <"tp", 4>>} {
tplan.plan @p {mesh = [{name = "dp", size = 4 : i64}, {name = "tp", size = 4 : i64}]}
// CHECK-LABEL: nn.layer @layer(%arg0: !nn.tensor<[V 3, D 4], f64>
// CHECK-SAME:    %arg1: !nn.tensor<[B 4], i32>
// CHECK-SAME:    %arg2: !nn.tensor<[V 3], f64>
// CHECK-SAME:    %[[RANK:.+]]: !nn.tensor<[], i32> {nn.member = ["tp"], nn.name = "member.tp", nn.role = "scalar"})
nn.layer @layer(%t: !nn.tensor<[V 10, D 4], f64> {nn.role = "param", nn.name = "t", dist.layout = #dist.layout<V over [tp]>},
                %ids: !nn.tensor<[B 4], i32> {nn.role = "invariant", nn.name = "i0"},
                %x: !nn.tensor<[V 10], f64> {nn.role = "carried", nn.name = "c0", dist.layout = #dist.layout<V over [tp]>})
    -> (!nn.tensor<[B 4, D 4], f64> {nn.role = "carried", nn.name = "c0"}) {
  // CHECK: %[[SIZE:.+]] = nn.constant 3.0
  // CHECK: %[[START:.+]] = nn.mul %[[RANK]], %[[SIZE]]
  // CHECK: %[[HERE:.+]] = nn.sub %arg1, %[[START]]
  // CHECK: nn.cmp lt %[[HERE]]
  // CHECK: nn.lookup %arg0["V" = %{{.+}}] {{.*}} : (<[V 3, D 4], f64>, <[B 4], i32>) -> <[B 4, D 4], f64>
  %0 = nn.lookup %t["V" = %ids] {dist.layouts = [#dist.layout<sum over [tp]>]} : (<[V 10, D 4], f64>, <[B 4], i32>) -> <[B 4, D 4], f64>
  // CHECK: dist.collective all_reduce sum
  %1 = dist.collective all_reduce sum %0 over ["tp"] {dist.layouts = [#dist.layout<>]} : <[B 4, D 4], f64> -> <[B 4, D 4], f64>
  // CHECK: %[[FIRST:.+]] = nn.mul %[[RANK]],
  // CHECK: nn.index from %[[FIRST]] pieces [3] {{.*}} : <[V 3], i32>
  %2 = nn.index {dist.layouts = [#dist.layout<V over [tp]>]} : <[V 10], i32>
  // CHECK: %[[INSIDE:.+]] = nn.cmp lt
  // CHECK: %[[KEPT:.+]] = nn.select %[[INSIDE]], %arg2
  // CHECK: nn.reduce sum %[[KEPT]]
  %3 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[V 10], f64> -> <[], f64>
  // A weight's padding is zero: it needs no mask.
  // CHECK: nn.reduce sum %arg0 {{.*}} : <[V 3, D 4], f64> -> <[D 4], f64>
  %4 = nn.reduce sum %t {dist.layouts = [#dist.layout<sum over [tp]>]} : <[V 10, D 4], f64> -> <[D 4], f64>
  nn.return %1 : !nn.tensor<[B 4, D 4], f64>
}
// Two dimensions with padding are masked both. Rows become one dimension.
// CHECK-LABEL: nn.layer @both(%arg0: !nn.tensor<[B 3, D 4], f64>{{.*}} %arg1: !nn.tensor<[own.rows 4, D 4], f64>
// CHECK:   %[[ONE:.+]] = nn.select %{{.+}}, %arg0
// CHECK:   %[[TWO:.+]] = nn.select %{{.+}}, %[[ONE]]
// CHECK:   nn.reduce sum %[[TWO]]
nn.layer @both(%x: !nn.tensor<[B 9, D 13], f64> {nn.role = "carried", nn.name = "c0", dist.layout = #dist.layout<B over [dp], D over [tp]>},
               %w: !nn.tensor<[H 3, K 5, D 4], f64> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [H, K] by 4 over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : <[B 9, D 13], f64> -> <[], f64>
  nn.return
}
// What is added onto a gradient has zero as its padding, and so has a state that is updated: a term
// that lacks the dimension is repeated over it.
// CHECK-LABEL: nn.layer @stored
// CHECK:         %[[SUM:.+]] = nn.reduce sum %arg0 {{.*}} -> <[V 3], f64>
// CHECK:         %[[ZERO:.+]] = nn.select %{{.+}}, %[[SUM]]
// CHECK:         nn.add %arg1, %[[ZERO]]
nn.layer @stored(%x: !nn.tensor<[B 4, V 10], f64> {nn.role = "cot_carried", nn.name = "c0", dist.layout = #dist.layout<V over [tp]>},
                 %g: !nn.tensor<[V 10], f64> {nn.role = "cot_param", nn.name = "bias", dist.layout = #dist.layout<V over [tp]>})
    -> (!nn.tensor<[V 10], f64> {nn.role = "cot_param", nn.name = "bias", dist.layout = #dist.layout<V over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<V over [tp]>]} : <[B 4, V 10], f64> -> <[V 10], f64>
  %1 = nn.add %g, %0 {dist.layouts = [#dist.layout<V over [tp]>]} : (<[V 10], f64>, <[V 10], f64>) -> <[V 10], f64>
  nn.return %1 : !nn.tensor<[V 10], f64>
}
// CHECK-LABEL: nn.layer @stored.S
// CHECK:         %[[NEXT:.+]] = nn.add %arg0,
// CHECK:         %[[KEPT:.+]] = nn.select %{{.+}}, %[[NEXT]]
// CHECK:         nn.return %[[KEPT]]
nn.layer @stored.S(%s: !nn.tensor<[V 10], f64> {nn.role = "state", nn.name = "count", dist.layout = #dist.layout<V over [tp]>})
    -> (!nn.tensor<[V 10], f64> {nn.role = "state", nn.name = "count", dist.layout = #dist.layout<V over [tp]>}) attributes {layer = @stored, part = #nn.part<states>} {
  %0 = nn.constant 1.0 {dist.layouts = [#dist.layout<>]} : <[], f64>
  %1 = nn.add %s, %0 {dist.layouts = [#dist.layout<V over [tp]>]} : (<[V 10], f64>, <[], f64>) -> <[V 10], f64>
  nn.return %1 : !nn.tensor<[V 10], f64>
}
}

// -----

// With a granule, blocks are rounded up, also those of a dimension that no axis cuts; positions
// there need no member number.
// CHECK-LABEL: nn.layer @rounded(
// CHECK-SAME:    %arg0: !nn.tensor<[B 4, V 16], f64>
// CHECK-SAME:    %arg1: !nn.tensor<[B 4, V 8], f64>
// CHECK:   %[[AT:.+]] = nn.index : <[V 16], i32>
// CHECK:   %[[INSIDE:.+]] = nn.cmp lt %[[AT]]
// CHECK:   %[[KEPT:.+]] = nn.select %[[INSIDE]], %arg0
// CHECK:   nn.reduce sum %[[KEPT]]
// CHECK:   %[[START:.+]] = nn.mul %arg2,
// CHECK:   nn.index from %[[START]] pieces [8] : <[V 8], i32>
// CHECK:   nn.reduce sum
module attributes {dist.mesh = #dist.mesh<<"tp", 2>, granules <"V", 8>>} {
tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}]}
nn.layer @rounded(%x: !nn.tensor<[B 4, V 10], f64> {nn.role = "carried", nn.name = "c0"},
                  %y: !nn.tensor<[B 4, V 10], f64> {nn.role = "carried", nn.name = "c1", dist.layout = #dist.layout<V over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<>]} : <[B 4, V 10], f64> -> <[B 4], f64>
  %1 = nn.reduce sum %y {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, V 10], f64> -> <[B 4], f64>
  nn.return
}
}

// -----

// What is recorded says its logical sizes, and the axes that cut it.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}]}
// CHECK-LABEL: nn.layer @recorded(
// CHECK:         nn.audit %arg0 "w x D amax" layer %arg1 of [4, 3] axes {{\[}}["dp"], []] {{.*}}: <[B 2, D 3], f32>
nn.layer @recorded(%x: !nn.tensor<[B 4, D 3], f32> {nn.role = "carried", nn.name = "c0", dist.layout = #dist.layout<B over [dp]>},
                   %n: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "layer"})
    -> (!nn.tensor<[B 4, D 3], f32> {nn.role = "carried", nn.name = "c0", dist.layout = #dist.layout<B over [dp]>}) {
  %0 = nn.audit %x "w x D amax" layer %n {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4, D 3], f32>
  nn.return %0 : !nn.tensor<[B 4, D 3], f32>
}
}

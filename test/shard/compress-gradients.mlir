// RUN: tplan-opt --compress-gradients --split-input-file %s | FileCheck %s
// EXAMPLE
// Each of two ranks adds what it has lost so far, sends the other one the bf16 of its half, and adds up what has come; the half of
// the sum is sent in bf16 again. What that loses is kept.
!w = !nn.tensor<[F 16, D 32], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress = {format = "bf16", axes = ["dp"]}}
// CHECK: nn.param @w {{.*}}dist.error = #dist.layout<error.ranks over [dp]>, dist.error_type = !nn.tensor<[error.ranks 2, F 16, D 32], f32>
nn.param @w : !w x 3 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !w}
// CHECK: nn.layer @a.R({{.*}}%arg1: !nn.tensor<[wire.from 1, wire.to 2, wire.blocks 1, wire.block 256], f32> {nn.name = "w.error", nn.role = "state"
// CHECK: %[[BLOCKS:.+]] = dist.reshape %arg0 : <[F 16, D 32], f32> -> <[wire.from 1, wire.to 2, wire.blocks 1, wire.block 256], f32>
// CHECK: %[[SENT:.+]] = nn.add %[[BLOCKS]], %arg1
// CHECK: %[[NARROW:.+]] = nn.cast %[[SENT]] {{.*}} bf16>
// CHECK: %[[CAME:.+]] = dist.collective all_to_all sum %[[NARROW]] over ["dp"] dim "wire.from" to "wire.to"
// CHECK: %[[SUM:.+]] = nn.reduce sum %{{.+}} -> <[wire.to 1, wire.blocks 1, wire.block 256], f32>
// CHECK: dist.collective all_gather sum %{{.+}} over ["dp"] dim "wire.to" : <[wire.to 1, wire.blocks 1, wire.block 256], bf16>
// CHECK: %[[MADE:.+]] = dist.reshape %{{.+}} : <[wire.to 2, wire.blocks 1, wire.block 256], f32> -> <[F 16, D 32], f32>
// CHECK: nn.return %[[MADE]], %{{.+}}
nn.layer @a.R(%g: !w {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<sum over [dp]>})
    -> (!w {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @a, part = #nn.part<reduce>} {
  %0 = dist.collective all_reduce sum %g over ["dp"] : <[F 16, D 32], f32> -> <[F 16, D 32], f32>
  nn.return %0 : !w
}
nn.chain @train { nn.run [@a] x 3 layer 0 carried() invariant() params [{w = @w}] : () -> () }
}
// END

// -----

// Eight elements of four bits are a word, and each block goes with its scale. A gain of 24 elements is no whole number of blocks. In a
// backward nothing is kept.
!v = !nn.tensor<[F 16, D 32], f32>
!g = !nn.tensor<[D 24], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress = {format = "int4", block = 64 : i64, axes = ["dp"]}}
nn.param @v : !v x 1 path "v" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !v}
nn.param @gain : !g x 1 path "gain" first 0 step 1 id 1 by 1 <"constant", 0.0 : f64> "norm" {dist.global = !g}
// CHECK-LABEL: nn.layer @b
// CHECK-NOT: error
// CHECK: nn.pack %{{.+}} : <[wire.from 1, wire.to 2, wire.blocks 4, wire.words 8], i64> -> <[wire.from 1, wire.to 2, wire.blocks 4, wire.words 8], i32>
// CHECK: dist.collective all_to_all sum %{{.+}} : <[wire.from 1, wire.to 2, wire.blocks 4, wire.words 8], i32>
// CHECK: dist.collective all_to_all sum %{{.+}} : <[wire.from 1, wire.to 2, wire.blocks 4], f32>
// CHECK: nn.unpack
// CHECK: dist.reshape %{{.+}} -> <[own.rows 8, D 32], f32>
// CHECK: dist.collective all_reduce sum %arg1 over ["dp"] : <[D 24], f32>
nn.layer @b(%v: !v {nn.role = "cot_param", nn.name = "v", dist.layout = #dist.layout<sum over [dp]>}, %g: !g {nn.role = "cot_param", nn.name = "gain"})
    -> (!nn.tensor<[own.rows 8, D 32], f32> {nn.role = "cot_param", nn.name = "v"}, !g {nn.role = "cot_param", nn.name = "gain"}) {
  %0 = dist.collective reduce_scatter sum %v over ["dp"] : <[F 16, D 32], f32> -> <[own.rows 8, D 32], f32>
  %1 = dist.collective all_reduce sum %g over ["dp"] : <[D 24], f32> -> <[D 24], f32>
  nn.return %0, %1 : !nn.tensor<[own.rows 8, D 32], f32>, !g
}
nn.chain @train { nn.run [@b] x 1 layer 0 carried() invariant() params [{v = @v, gain = @gain}] : () -> () }
}

// -----

// Factors of two columns: what both ranks have of the space that signs choose is added up, and the rest is kept. The rank takes its
// block of the sum. The first steps add up whole gradients. A gain saves nothing.
!m = !nn.tensor<[F 16, D 32], f32>
!n = !nn.tensor<[D 32], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress = {format = "powersgd", rank = 2 : i64, start = 100 : i64, axes = ["dp"]}}
nn.param @m : !m x 1 path "m" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !m}
nn.param @gain : !n x 1 path "gain" first 0 step 1 id 1 by 1 <"constant", 0.0 : f64> "norm" {dist.global = !n}
// CHECK: nn.layer @c.r({{.*}}part = #nn.part<early_reduce>
// CHECK-NEXT: dist.collective reduce_scatter sum %arg0
// CHECK: nn.layer @c.R({{.*}}%arg2: !nn.tensor<[factor.row 16, factor.column 32], f32> {nn.name = "m.error"
// CHECK: %[[SENT:.+]] = nn.add %{{.+}}, %arg2
// CHECK: nn.dropout_mask %{{.+}} rate 5.000000e-01
// CHECK: %[[SIGNS:.+]] = nn.add
// CHECK: %[[MINE:.+]] = nn.contract %[[SIGNS]], %[[SENT]] {{.*}} -> <[factor.rank 2, factor.row 16], f32>
// CHECK: dist.collective all_reduce sum %[[MINE]] over ["dp"]
// CHECK-COUNT-2: nn.rsqrt
// CHECK: %[[PART:.+]] = nn.contract %[[BASIS:.+]], %[[SENT]] {{.*}} -> <[factor.rank 2, factor.column 32], f32>
// CHECK: %[[ALL:.+]] = dist.collective all_reduce sum %[[PART]] over ["dp"]
// CHECK-DAG: nn.contract %[[BASIS]], %[[ALL]] {{.*}} -> <[factor.row 16, factor.column 32], f32>
// CHECK-DAG: nn.contract %[[BASIS]], %[[PART]] {{.*}} -> <[factor.row 16, factor.column 32], f32>
// CHECK: dist.slice %{{.+}} over ["dp"] : <[F 16, D 32], f32> -> <[own.rows 8, D 32], f32>
// CHECK: dist.collective all_reduce sum %arg1 over ["dp"] : <[D 32], f32>
nn.layer @c.R(%m: !m {nn.role = "cot_param", nn.name = "m", dist.layout = #dist.layout<sum over [dp]>}, %g: !n {nn.role = "cot_param", nn.name = "gain"})
    -> (!nn.tensor<[own.rows 8, D 32], f32> {nn.role = "cot_param", nn.name = "m"}, !n {nn.role = "cot_param", nn.name = "gain"})
    attributes {layer = @c, part = #nn.part<reduce>} {
  %0 = dist.collective reduce_scatter sum %m over ["dp"] : <[F 16, D 32], f32> -> <[own.rows 8, D 32], f32>
  %1 = dist.collective all_reduce sum %g over ["dp"] : <[D 32], f32> -> <[D 32], f32>
  nn.return %0, %1 : !nn.tensor<[own.rows 8, D 32], f32>, !n
}
nn.chain @train { nn.run [@c] x 1 layer 0 carried() invariant() params [{m = @m, gain = @gain}] : () -> () }
}

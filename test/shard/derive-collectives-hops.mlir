// RUN: tplan-opt --derive-collectives --check-layouts --split-input-file %s | FileCheck %s

// Two hops: inside a node, between nodes, inside a node. Rows that the ranks of a node cut first take two steps each way.
module attributes {dist.mesh = #dist.mesh<<"dp.0", 2 of "dp">, <"dp.1", 2 of "dp">>} {
tplan.cluster @c {devices = 2 : i64, nodes = 2 : i64}
tplan.plan @p {cluster = "c", mesh = [{name = "dp", size = 4 : i64}], hops = 2 : i64}
// CHECK-LABEL: nn.layer @two
nn.layer @two(%w: !nn.tensor<[B 64, D 4096], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [B] by 16 over [dp.1, dp.0]>},
              %g: !nn.tensor<[B 64, D 4096], f32> {nn.role = "cot_param", nn.name = "g", dist.layout = #dist.layout<sum over [dp.0, dp.1]>}) {
  // CHECK: %[[A:.+]] = dist.collective reduce_scatter sum %arg1 over ["dp.1"] {{.*}}rows [B] by 32 over [dp.1]
  // CHECK: %[[B:.+]] = dist.collective all_reduce sum %[[A]] over ["dp.0"]
  // CHECK: dist.collective all_gather sum %[[B]] over ["dp.1"] {{.*}}#dist.layout<>
  %0 = dist.reshard %g {dist.layouts = [#dist.layout<>]} : <[B 64, D 4096], f32>
  // CHECK: %[[C:.+]] = dist.collective reduce_scatter sum %arg1 over ["dp.1"] {{.*}}rows [B] by 32 over [dp.1]
  // CHECK: dist.collective reduce_scatter sum %[[C]] over ["dp.0"] {{.*}}rows [B] by 16 over [dp.1, dp.0]
  %1 = dist.reshard %g {dist.layouts = [#dist.layout<rows [B] by 16 over [dp.1, dp.0]>]} : <[B 64, D 4096], f32>
  // CHECK: %[[D:.+]] = dist.collective all_gather sum %arg0 over ["dp.0"] {{.*}}rows [B] by 32 over [dp.1]
  // CHECK: dist.collective all_gather sum %[[D]] over ["dp.1"] {{.*}}#dist.layout<>
  %2 = dist.reshard %w {dist.layouts = [#dist.layout<>]} : <[B 64, D 4096], f32>
  nn.return
}
}

// -----

// One hop: pieces of an axis go together.
module attributes {dist.mesh = #dist.mesh<<"dp.0", 2 of "dp">, <"dp.1", 2 of "dp">>} {
tplan.cluster @c {devices = 2 : i64, nodes = 2 : i64}
tplan.plan @p {cluster = "c", mesh = [{name = "dp", size = 4 : i64}], hops = 1 : i64}
// CHECK-LABEL: nn.layer @one
nn.layer @one(%w: !nn.tensor<[B 64, D 4096], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [B] by 16 over [dp.0, dp.1]>},
              %g: !nn.tensor<[B 64, D 4096], f32> {nn.role = "cot_param", nn.name = "g", dist.layout = #dist.layout<sum over [dp.0, dp.1]>}) {
  // CHECK: dist.collective all_reduce sum %arg1 over ["dp.0", "dp.1"]
  %0 = dist.reshard %g {dist.layouts = [#dist.layout<>]} : <[B 64, D 4096], f32>
  // CHECK: dist.collective reduce_scatter sum %arg1 over ["dp.0", "dp.1"]
  %1 = dist.reshard %g {dist.layouts = [#dist.layout<rows [B] by 16 over [dp.0, dp.1]>]} : <[B 64, D 4096], f32>
  // CHECK: dist.collective all_gather sum %arg0 over ["dp.0", "dp.1"]
  %2 = dist.reshard %w {dist.layouts = [#dist.layout<>]} : <[B 64, D 4096], f32>
  nn.return
}
}

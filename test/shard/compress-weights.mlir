// RUN: tplan-opt --compress-weights --split-input-file %s | FileCheck %s
// EXAMPLE
// Each of two ranks sends its rows in int8 with a scale for each 64 elements, and reads what all have sent, itself as well.
!w = !nn.tensor<[F 16, D 32], f32>
!own = !nn.tensor<[own.rows 8, D 32], f32>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress_weights = {format = "int8", block = 64 : i64, axes = ["dp"]}}
nn.param @w : !own x 3 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !w}
// CHECK-LABEL: nn.layer @a(
// CHECK: %[[OWN:.+]] = dist.reshape %arg0 : <[own.rows 8, D 32], f32> -> <[wire.to 1, wire.blocks 4, wire.block 64], f32>
// CHECK: %[[INTS:.+]] = nn.cast %{{.+}} : <[wire.to 1, wire.blocks 4, wire.block 64], f32> -> <[wire.to 1, wire.blocks 4, wire.block 64], i8>
// CHECK: %[[CAME:.+]] = dist.collective all_gather sum %[[INTS]] over ["dp"] dim "wire.to" : {{.*}} -> <[wire.to 2, wire.blocks 4, wire.block 64], i8>
// CHECK: %[[SCALES:.+]] = dist.collective all_gather sum %{{.+}} over ["dp"] dim "wire.to" : <[wire.to 1, wire.blocks 4], f32> -> <[wire.to 2, wire.blocks 4], f32>
// CHECK: %[[WIDE:.+]] = nn.cast %[[CAME]]
// CHECK: %[[READ:.+]] = nn.mul %[[WIDE]], %{{.+}}
// CHECK: %[[MADE:.+]] = dist.reshape %[[READ]] : <[wire.to 2, wire.blocks 4, wire.block 64], f32> -> <[F 16, D 32], f32>
// CHECK: nn.return %[[MADE]]
nn.layer @a(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = dist.collective all_gather sum %w over ["dp"] : <[own.rows 8, D 32], f32> -> <[F 16, D 32], f32>
  nn.return %0 : !w
}
nn.chain @train { nn.run [@a] x 3 layer 0 carried() invariant() params [{w = @w}] : () -> () }
}
// END

// -----

// A copy in bf16 is compressed where it is made, once a step, and not where it is read. What a rank keeps for its next update comes as it is.
!w = !nn.tensor<[F 16, D 32], f32>
!own = !nn.tensor<[own.rows 8, D 32], f32>
!copy = !nn.tensor<[own.rows 8, D 32], bf16>
!whole = !nn.tensor<[F 16, D 32], bf16>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], compress_weights = {format = "int4", block = 64 : i64, axes = ["dp"]}}
nn.param @w : !own x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !w}
nn.param @w.bf16 : !copy x 1 path "w.bf16" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "copy" copy_of @w {dist.global = !whole}
// CHECK-LABEL: nn.layer @a(
// CHECK-NOT: wire
// CHECK-LABEL: nn.layer @a.U(
// CHECK: %[[KEPT:.+]] = dist.collective all_gather sum %arg0 over ["dp"] : <[own.rows 8, D 32], f32> -> <[F 16, D 32], f32>
// CHECK: dist.collective all_gather sum %{{.+}} over ["dp"] dim "wire.to" : <[wire.to 1, wire.blocks 4, wire.words 8], i32> -> <[wire.to 2, wire.blocks 4, wire.words 8], i32>
// CHECK: %[[COPY:.+]] = dist.reshape %{{.+}} -> <[F 16, D 32], bf16>
// CHECK: nn.return %[[KEPT]], %[[COPY]]
nn.layer @a(%w: !copy {nn.role = "param", nn.name = "w.bf16"}) -> (!whole {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = dist.collective all_gather sum %w over ["dp"] : <[own.rows 8, D 32], bf16> -> <[F 16, D 32], bf16>
  nn.return %0 : !whole
}
nn.layer @a.U(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"}, !whole {nn.role = "param", nn.name = "w.bf16"})
    attributes {layer = @a, part = #nn.part<update>} {
  %0 = dist.collective all_gather sum %w over ["dp"] : <[own.rows 8, D 32], f32> -> <[F 16, D 32], f32>
  %1 = nn.cast %w : <[own.rows 8, D 32], f32> -> <[own.rows 8, D 32], bf16>
  %2 = dist.collective all_gather sum %1 over ["dp"] : <[own.rows 8, D 32], bf16> -> <[F 16, D 32], bf16>
  nn.return %0, %2 : !w, !whole
}
nn.chain @train { nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w, w.bf16 = @w.bf16}] : () -> () }
}

// -----

// Between nodes and then inside of one: only what goes between nodes is compressed.
!w = !nn.tensor<[F 16, D 32], f32>
!own = !nn.tensor<[own.rows 4, D 32], f32>
module attributes {dist.mesh = #dist.mesh<<"dp.0", 2 of "dp">, <"dp.1", 2 of "dp">>} {
tplan.plan @p {mesh = [{name = "dp", size = 4 : i64}], compress_weights = {format = "int8", block = 64 : i64, axes = ["dp"]}}
nn.param @w : !own x 1 path "w" first 0 step 1 id 0 by 1 <"constant", 0.0 : f64> "linear" {dist.global = !w}
// CHECK-LABEL: nn.layer @a(
// CHECK: dist.collective all_gather sum %{{.+}} over ["dp.0"] dim "wire.to" : <[wire.to 1, wire.blocks 2, wire.block 64], i8>
// CHECK: %[[NODE:.+]] = dist.reshape %{{.+}} -> <[own.rows 8, D 32], f32>
// CHECK: %[[ALL:.+]] = dist.collective all_gather sum %[[NODE]] over ["dp.1"] : <[own.rows 8, D 32], f32> -> <[F 16, D 32], f32>
// CHECK: nn.return %[[ALL]]
nn.layer @a(%w: !own {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = dist.collective all_gather sum %w over ["dp.0"] : <[own.rows 4, D 32], f32> -> <[own.rows 8, D 32], f32>
  %1 = dist.collective all_gather sum %0 over ["dp.1"] : <[own.rows 8, D 32], f32> -> <[F 16, D 32], f32>
  nn.return %1 : !w
}
nn.chain @train { nn.run [@a] x 1 layer 0 carried() invariant() params [{w = @w}] : () -> () }
}

// RUN: tplan-opt --assign-layouts --split-input-file %s | FileCheck %s
// EXAMPLE
// A linear map over F, which tp cuts, as B is over dp: what is contracted over F is a pending sum over tp, and exp wants it
// made at once. The loss waits for the end of the step.
// CHECK-LABEL: nn.layer @layer(
// CHECK:         %[[Y:.+]] = nn.contract %arg0, %arg1 {dist.layouts = [#dist.layout<B over [dp], F over [tp]>]}
// CHECK-NEXT:    %[[BACK:.+]] = nn.contract %[[Y]], %arg1 {dist.layouts = [#dist.layout<B over [dp], sum over [tp]>]}
// CHECK-NEXT:    %[[SUM:.+]] = dist.reshard %[[BACK]] {dist.layouts = [#dist.layout<B over [dp]>]}
// CHECK-NEXT:    %[[E:.+]] = nn.exp %[[SUM]] {dist.layouts = [#dist.layout<B over [dp]>]}
// CHECK-NEXT:    nn.reduce sum %[[E]] {dist.layouts = [#dist.layout<sum over [dp]>]}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}],
               shard = [{axes = ["dp"], dims = ["B"]}, {axes = ["tp"], dims = ["F"]}]}
nn.param @w : !nn.tensor<[F 128, D 16], f64> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 4, D 16], f64>
  nn.run [@layer] x 1 layer 0 carried() invariant(%x) params [{w = @w}] : (!nn.tensor<[B 4, D 16], f64>) -> ()
}
nn.layer @layer(%x: !nn.tensor<[B 4, D 16], f64> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64},
                %w: !nn.tensor<[F 128, D 16], f64> {nn.role = "param", nn.name = "w"},
                %loss: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"})
    -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) {
  %y = nn.contract %x, %w : (<[B 4, D 16], f64>, <[F 128, D 16], f64>) -> <[B 4, F 128], f64>
  %back = nn.contract %y, %w : (<[B 4, F 128], f64>, <[F 128, D 16], f64>) -> <[B 4, D 16], f64>
  %e = nn.exp %back : <[B 4, D 16], f64>
  %sum = nn.reduce sum %e : <[B 4, D 16], f64> -> <[], f64>
  %next = nn.add %loss, %sum : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %next : !nn.tensor<[], f64>
}
// END

// -----
// A linear map, forward and backward, on 2 x 2 ranks: B over dp and F over tp, and ZeRO 1 over dp. Sizes stay
// global; each value has its layout, and each change of one is a reshard.
// CHECK: module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>}
// CHECK: nn.chain @train {{.*}} attributes {dist.pending = {"gradient norm" = ["dp", "tp"], main = ["dp"]}}
// A contraction leaves what its cuts leave: the gradient waits for dp until the last microbatch,
// while exp needs the sum at once. The loss waits for the step.
// CHECK-LABEL: nn.layer @layer(
// CHECK:   %[[Y:.+]] = nn.contract %arg0, %arg1 {dist.layouts = [#dist.layout<B over [dp], F over [tp]>]}
// CHECK:   nn.contract %[[Y]], %arg0 {dist.layouts = [#dist.layout<F over [tp], sum over [dp]>]}
// CHECK:   %[[BACK:.+]] = nn.contract %[[Y]], %arg1 {dist.layouts = [#dist.layout<B over [dp], sum over [tp]>]}
// CHECK:   %[[SUM:.+]] = dist.reshard %[[BACK]] {dist.layouts = [#dist.layout<B over [dp]>]}
// CHECK:   nn.exp %[[SUM]]
// CHECK:   nn.add %arg2, %{{.*}} {dist.layouts = [#dist.layout<sum over [dp]>]}
// Part R reduces the gradient in place; U updates the rank's own rows, and gathers the weight.
// CHECK-LABEL: nn.layer @layer.R(
// CHECK:   dist.reshard %arg0 {dist.layouts = [#dist.layout<F over [tp], rows [F] by 32 over [dp] in_whole>]}
// CHECK-LABEL: nn.layer @layer.U(
// CHECK:   %[[W:.+]] = nn.sub {{.*}} {dist.layouts = [#dist.layout<F over [tp], rows [F] by 32 over [dp]>]}
// CHECK:   dist.reshard %[[W]] {dist.layouts = [#dist.layout<F over [tp]>]}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}],
               shard = [{axes = ["dp"], dims = ["B"]}, {axes = ["tp"], dims = ["F"]}],
               zero = {axes = ["dp"], stage = 1 : i64}}
nn.param @w : !nn.tensor<[F 128, D 16], f64> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 4, D 16], f64>
  nn.run [@layer] x 1 layer 0 carried() invariant(%x) params [{w = @w}] : (!nn.tensor<[B 4, D 16], f64>) -> ()
}
nn.layer @layer(%x: !nn.tensor<[B 4, D 16], f64> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64},
                %w: !nn.tensor<[F 128, D 16], f64> {nn.role = "param", nn.name = "w"},
                %loss: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"},
                %g: !nn.tensor<[F 128, D 16], f64> {nn.role = "cot_param", nn.name = "w"})
    -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"},
        !nn.tensor<[F 128, D 16], f64> {nn.role = "cot_param", nn.name = "w"}) {
  %y = nn.contract %x, %w : (<[B 4, D 16], f64>, <[F 128, D 16], f64>) -> <[B 4, F 128], f64>
  %gw = nn.contract %y, %x : (<[B 4, F 128], f64>, <[B 4, D 16], f64>) -> <[F 128, D 16], f64>
  %g1 = nn.add %g, %gw : (<[F 128, D 16], f64>, <[F 128, D 16], f64>) -> <[F 128, D 16], f64>
  %back = nn.contract %y, %w : (<[B 4, F 128], f64>, <[F 128, D 16], f64>) -> <[B 4, D 16], f64>
  %e = nn.exp %back : <[B 4, D 16], f64>
  %l2 = nn.reduce sum %e : <[B 4, D 16], f64> -> <[], f64>
  %loss2 = nn.add %loss, %l2 : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %loss2, %g1 : !nn.tensor<[], f64>, !nn.tensor<[F 128, D 16], f64>
}
nn.layer @layer.U(%w: !nn.tensor<[F 128, D 16], f64> {nn.role = "param", nn.name = "w"},
                  %g: !nn.tensor<[F 128, D 16], f64> {nn.role = "cot_param", nn.name = "w"})
    -> (!nn.tensor<[F 128, D 16], f64> {nn.role = "param", nn.name = "w"}) attributes {layer = @layer, part = #nn.part<update>} {
  %0 = nn.sub %w, %g : (<[F 128, D 16], f64>, <[F 128, D 16], f64>) -> <[F 128, D 16], f64>
  nn.return %0 : !nn.tensor<[F 128, D 16], f64>
}

// -----

// Rows of logits that are no multiple of 16 bytes are rounded up, on one rank too. D fits, S stays whole for attention,
// and of 100 positions padding would be much.
// CHECK: module attributes {dist.mesh = #dist.mesh<granules <"V", 8>>}
// CHECK: nn.contract %arg0, %arg1 {dist.layouts = [#dist.layout<>]} : {{.*}} -> <[S 514, V 514], bf16>
tplan.plan @p {}
nn.layer @layer(%x: !nn.tensor<[S 514, D 512], bf16> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64},
                %w: !nn.tensor<[V 514, D 512], bf16> {nn.role = "param", nn.name = "w"},
                %few: !nn.tensor<[E 100, D 512], bf16> {nn.role = "param", nn.name = "few"},
                %q: !nn.tensor<[H 2, S 514, K 8], bf16> {nn.role = "invariant", nn.name = "i1", nn.position = 1 : i64},
                %k: !nn.tensor<[H 2, T 514, K 8], bf16> {nn.role = "invariant", nn.name = "i2", nn.position = 2 : i64}) {
  %0 = nn.contract %x, %w : (<[S 514, D 512], bf16>, <[V 514, D 512], bf16>) -> <[S 514, V 514], bf16>
  %1 = nn.contract %x, %few : (<[S 514, D 512], bf16>, <[E 100, D 512], bf16>) -> <[S 514, E 100], bf16>
  %2 = nn.contract %w, %0 : (<[V 514, D 512], bf16>, <[S 514, V 514], bf16>) -> <[D 512, S 514], bf16>
  %3, %4 = nn.attention %q, %k, %k <query = "S", key = "T", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!nn.tensor<[H 2, S 514, K 8], bf16>, !nn.tensor<[H 2, T 514, K 8], bf16>, !nn.tensor<[H 2, T 514, K 8], bf16>) -> (!nn.tensor<[H 2, S 514, K 8], bf16>, !nn.tensor<[H 2, S 514], f32>)
  nn.return
}

// -----
// A maximum over all sequences of a step waits, as a sum does, until part R makes it. One that something else reads is made at once.
// CHECK-LABEL: nn.layer @largest(
// CHECK-SAME:    %arg1: !nn.tensor<[], f32> {dist.layout = #dist.layout<max over [dp, tp]>
// CHECK:         %[[MOST:.+]] = nn.reduce max %arg0 {dist.layouts = [#dist.layout<max over [dp, tp]>]}
// CHECK-NEXT:    nn.max %arg1, %[[MOST]] {dist.layouts = [#dist.layout<max over [dp, tp]>]}
// CHECK:         %[[OTHER:.+]] = nn.reduce max %arg0 {dist.layouts = [#dist.layout<D over [tp], max over [dp]>]}
// CHECK-NEXT:    dist.reshard %[[OTHER]] {dist.layouts = [#dist.layout<D over [tp]>]}
// CHECK-LABEL: nn.layer @largest.R(
// CHECK:         dist.reshard %arg0 {dist.layouts = [#dist.layout<>]}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}],
               shard = [{axes = ["dp"], dims = ["B"]}, {axes = ["tp"], dims = ["D"]}]}
nn.param @state : !nn.tensor<[], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "state"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 4, D 16], f32>
  nn.run [@largest] x 1 layer 0 carried() invariant(%x) params [{state = @state}] : (!nn.tensor<[B 4, D 16], f32>) -> ()
}
nn.layer @largest(%x: !nn.tensor<[B 4, D 16], f32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64},
                %before: !nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most"})
    -> (!nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most"}, !nn.tensor<[D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %row = nn.reduce max %x : <[B 4, D 16], f32> -> <[], f32>
  %next = nn.max %before, %row : (<[], f32>, <[], f32>) -> <[], f32>
  %other = nn.reduce max %x : <[B 4, D 16], f32> -> <[D 16], f32>
  %e = nn.exp %other : <[D 16], f32>
  nn.return %next, %e : !nn.tensor<[], f32>, !nn.tensor<[D 16], f32>
}
nn.layer @largest.S(%most: !nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most"})
    -> (!nn.tensor<[], f32> {nn.role = "state", nn.name = "state"}) attributes {layer = @largest, part = #nn.part<states>} {
  nn.return %most : !nn.tensor<[], f32>
}

// -----

// One rank whose rows all fit needs no layouts.
// CHECK: module {
// CHECK-NOT: dist
tplan.plan @p {}
nn.layer @layer(%x: !nn.tensor<[S 512, D 512], f32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64},
                %w: !nn.tensor<[V 516, D 512], f32> {nn.role = "param", nn.name = "w"}) {
  %0 = nn.contract %x, %w : (<[S 512, D 512], f32>, <[V 516, D 512], f32>) -> <[S 512, V 516], f32>
  nn.return
}

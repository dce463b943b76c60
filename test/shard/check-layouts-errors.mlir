// RUN: tplan-opt --check-layouts -verify-diagnostics -split-input-file %s
// What check-layouts refuses. Bugs of other systems stand first, each under its number.

// NVIDIA/Megatron-LM#1446: the norm's gradient differs over tensor ranks. Under sequence parallelism each
// has a part of the positions, so its sum over them waits for tp.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @norm(%dy: !nn.tensor<[S 8, D 6], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<S over [tp]>},
    %acc: !nn.tensor<[D 6], f32> {nn.role = "cot_param", nn.name = "weight", dist.layout = #dist.layout<>}) -> (!nn.tensor<[D 6], f32> {nn.role = "cot_param", nn.name = "weight", dist.layout = #dist.layout<>}) {
  // expected-error @+2 {{result 0 is left pending over tp, which its layout lacks: #dist.layout<>}}
  // expected-note @+1 {{each rank has a part of it; name the axes, and reduce it where it is read}}
  %0 = nn.reduce sum %dy {dist.layouts = [#dist.layout<>]} : <[S 8, D 6], f32> -> <[D 6], f32>
  %1 = nn.add %acc, %0 {dist.layouts = [#dist.layout<>]} : (<[D 6], f32>, <[D 6], f32>) -> <[D 6], f32>
  nn.return %1 : !nn.tensor<[D 6], f32>
}
}

// -----

// NVIDIA/Megatron-LM#7452: gathered logits meet a vocabulary-parallel loss.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @head(%logits: !nn.tensor<[B 4, V 10], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}, %target: !nn.tensor<[B 4, V 10], f32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<V over [tp]>})
    -> (!nn.tensor<[B 4, V 10], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @-2 {{change the layout of one of them: dist.reshard}}
  // expected-error @+1 {{operands must be cut alike along V, found no axis in operand 0 and tp in operand 1}}
  %0 = nn.mul %logits, %target {dist.layouts = [#dist.layout<V over [tp]>]} : (<[B 4, V 10], f32>, <[B 4, V 10], f32>) -> <[B 4, V 10], f32>
  nn.return %0 : !nn.tensor<[B 4, V 10], f32>
}
}

// -----

// NVIDIA/Megatron-LM#7452, finding 9, and #673: ranks divide by their own count of valid tokens.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @mean(%loss: !nn.tensor<[], f32> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<sum over [dp]>}, %x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>}, %valid: !nn.tensor<[B 4], f32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>})
    -> (!nn.tensor<[], f32> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<sum over [dp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4], f32> -> <[], f32>
  // expected-note @+1 {{each rank has a part of this value: reduce it first}}
  %1 = nn.reduce sum %valid {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4], f32> -> <[], f32>
  // expected-error @+1 {{not linear in operand 1, where a sum is pending over dp}}
  %2 = nn.div %0, %1 {dist.layouts = [#dist.layout<sum over [dp]>]} : (<[], f32>, <[], f32>) -> <[], f32>
  %3 = nn.add %loss, %2 {dist.layouts = [#dist.layout<sum over [dp]>]} : (<[], f32>, <[], f32>) -> <[], f32>
  nn.return %3 : !nn.tensor<[], f32>
}
}

// -----

// NVIDIA/Megatron-LM#5916: the clip norm misses the shards of other tensor ranks.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @block.N(%norm: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}, %g: !nn.tensor<[F 8], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<F over [tp]>})
    -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}) attributes {layer = @block, part = #nn.part<norm>} {
  %0 = nn.mul %g, %g {dist.layouts = [#dist.layout<F over [tp]>]} : (<[F 8], f64>, <[F 8], f64>) -> <[F 8], f64>
  // expected-error @+2 {{result 0 is left pending over tp, which its layout lacks: #dist.layout<>}}
  // expected-note @+1 {{each rank has a part of it}}
  %1 = nn.reduce sum %0 {dist.layouts = [#dist.layout<>]} : <[F 8], f64> -> <[], f64>
  %2 = dist.own %1 over ["dp", "tp"] {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : <[], f64>
  %3 = nn.add %norm, %2 {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %3 : !nn.tensor<[], f64>
}
}

// -----

// The same, the other way: a weight that tensor ranks repeat is counted by each of them.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @block.N(%norm: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}, %g: !nn.tensor<[D 8], f64> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<>})
    -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}) attributes {layer = @block, part = #nn.part<norm>} {
  // expected-note @-2 {{reduce this one first}}
  %0 = nn.mul %g, %g {dist.layouts = [#dist.layout<>]} : (<[D 8], f64>, <[D 8], f64>) -> <[D 8], f64>
  %1 = nn.reduce sum %0 {dist.layouts = [#dist.layout<>]} : <[D 8], f64> -> <[], f64>
  // expected-error @+1 {{terms must be pending over the same axes, else one is counted once a rank; found dp, tp in operand 0 and no axis in operand 1}}
  %2 = nn.add %norm, %1 {dist.layouts = [#dist.layout<sum over [dp, tp]>]} : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %2 : !nn.tensor<[], f64>
}
}

// -----

// deepspeedai/DeepSpeed#1488: a gradient is reduced with each microbatch, and again with the sum of them.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @block.R(%g: !nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<>}) -> (!nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<>}) attributes {layer = @block, part = #nn.part<reduce>} {
  // expected-note @-1 {{reducing what is whole counts it once a rank: name the axes of its layout}}
  // expected-error @+1 {{cannot go over dp: no sum is pending; found #dist.layout<>}}
  %0 = dist.collective all_reduce sum %g over ["dp"] {dist.layouts = [#dist.layout<>]} : <[D 8], f32> -> <[D 8], f32>
  nn.return %0 : !nn.tensor<[D 8], f32>
}
}

// -----

// deepspeedai/DeepSpeed#1488, #1800: an accumulator in blocks takes what is not yet reduced.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @block(%g: !nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<rows [D] by 4 over [dp]>}, %x: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>})
    -> (!nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<rows [D] by 4 over [dp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4, D 8], f32> -> <[D 8], f32>
  // expected-error @+1 {{operands must have the same rows, found none in operand 1 beside #dist.rows<[D] by 4 over [dp]>}}
  %1 = nn.add %g, %0 {dist.layouts = [#dist.layout<rows [D] by 4 over [dp]>]} : (<[D 8], f32>, <[D 8], f32>) -> <[D 8], f32>
  nn.return %1 : !nn.tensor<[D 8], f32>
}
}

// -----

// openxla/xla#42481: the gradient of a lookup is gathered where it is to be summed.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @embed(%dy: !nn.tensor<[B 4, D 6], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>}, %ids: !nn.tensor<[B 4], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>})
    -> (!nn.tensor<[V 10, D 6], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  %0 = nn.lookup_grad %dy["V" = %ids] {dist.layouts = [#dist.layout<sum over [dp]>]} : (<[B 4, D 6], f32>, <[B 4], i32>) -> <[V 10, D 6], f32>
  // expected-error @+1 {{cannot go over dp: the last cuts of V are not those; found #dist.layout<sum over [dp]>}}
  %1 = dist.collective all_gather sum %0 over ["dp"] dim "V" {dist.layouts = [#dist.layout<>]} : <[V 10, D 6], f32> -> <[V 10, D 6], f32>
  nn.return %1 : !nn.tensor<[V 10, D 6], f32>
}
}

// -----

// NVIDIA/Megatron-LM#1464: keys are cut, and each rank attends to its own.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @attend(%q: !nn.tensor<[S 8, H 2, K 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<S over [tp]>}) -> (!nn.tensor<[S 8, H 2, K 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<S over [tp]>}) {
  // expected-error @+2 {{needs all of a dimension on each rank, found S cut over tp}}
  // expected-note @+1 {{gather S first, or cut another dimension}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> {dist.layouts = [#dist.layout<S over [tp]>, #dist.layout<S over [tp]>]} : (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>) -> (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2], f32>)
  nn.return %0#0 : !nn.tensor<[S 8, H 2, K 4], f32>
}
}

// -----

// huggingface/transformers#48687: the loss is right, a gradient that goes through the ranks' parts is not.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @route(%dy: !nn.tensor<[B 4, F 8], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %w: !nn.tensor<[E 6, F 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<F over [tp]>}, %score: !nn.tensor<[B 4, E 6], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>})
    -> (!nn.tensor<[B 4, E 6], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  %0 = nn.contract %dy, %w {dist.layouts = [#dist.layout<sum over [tp]>]} : (<[B 4, F 8], f32>, <[E 6, F 8], f32>) -> <[B 4, E 6], f32>
  // expected-error @+2 {{result 0 is left pending over tp, which its layout lacks: #dist.layout<>}}
  // expected-note @+1 {{each rank has a part of it}}
  %1 = nn.mul %0, %score {dist.layouts = [#dist.layout<>]} : (<[B 4, E 6], f32>, <[B 4, E 6], f32>) -> <[B 4, E 6], f32>
  nn.return %1 : !nn.tensor<[B 4, E 6], f32>
}
}

// -----

// huggingface/accelerate#3877, pytorch/torchtitan#771: a loss that is the sum of all ranks is summed by the step once more.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{reduces main over [dp], found it pending over []}}
nn.chain @train losses {main = 1.0 : f64} attributes {dist.pending = {"gradient norm" = ["dp", "tp"], main = ["dp"]}} {
  %x = nn.input "x" shift 0 vocabulary 0 {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4], f64>
  nn.run [@head] x 1 layer 0 carried() invariant(%x) params [{}] {dist.layouts = [#dist.layout<>]} : (!nn.tensor<[B 4], f64>) -> ()
}
// expected-note @+1 {{the ranks' parts are added here; list their axes in dist.pending}}
nn.layer @head(%x: !nn.tensor<[B 4], f64> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>}, %loss: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<>}) -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4], f64> -> <[], f64>
  %1 = dist.collective all_reduce sum %0 over ["dp"] {dist.layouts = [#dist.layout<>]} : <[], f64> -> <[], f64>
  %2 = nn.add %loss, %1 {dist.layouts = [#dist.layout<>]} : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %2 : !nn.tensor<[], f64>
}
}

// -----

// NVIDIA/Megatron-LM#5916 in the step: the norm is summed over dp alone.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{reduces gradient norm over [dp], found it pending over [dp, tp]}}
nn.chain @train losses {main = 1.0 : f64} attributes {dist.pending = {"gradient norm" = ["dp"]}} {
  %x = nn.input "x" shift 0 vocabulary 0 {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4], f64>
}
// expected-note @+1 {{the ranks' parts are added here}}
nn.layer @block.N(%norm: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}) -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm", dist.layout = #dist.layout<sum over [dp, tp]>}) attributes {layer = @block, part = #nn.part<norm>} {
  nn.return %norm : !nn.tensor<[], f64>
}
}

// -----

// deepspeedai/DeepSpeed#7837: an update reads a gradient that nothing has reduced.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.param @w : !nn.tensor<[D 8], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} attributes {dist.pending = {}} {
  %x = nn.input "x" shift 0 vocabulary 0 {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4, D 8], f32>
  nn.run [@block] x 1 layer 0 carried() invariant(%x) params [{w = @w}] {dist.layouts = [#dist.layout<>]} : (!nn.tensor<[B 4, D 8], f32>) -> ()
}
// expected-note @+1 {{of another layout here; a gradient is reduced in part reduce of its layer}}
nn.layer @block(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [dp]>}, %w: !nn.tensor<[D 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<>}, %g: !nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<sum over [dp]>})
    -> (!nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<sum over [dp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4, D 8], f32> -> <[D 8], f32>
  %1 = nn.add %g, %0 {dist.layouts = [#dist.layout<sum over [dp]>]} : (<[D 8], f32>, <[D 8], f32>) -> <[D 8], f32>
  nn.return %1 : !nn.tensor<[D 8], f32>
}
// expected-error @+1 {{functions must agree on the layout of cot_param w: #dist.layout<sum over [dp]>, found #dist.layout<>}}
nn.layer @block.U(%w: !nn.tensor<[D 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<>}, %g: !nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<>}) -> (!nn.tensor<[D 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<>}) attributes {layer = @block, part = #nn.part<update>} {
  %0 = nn.sub %w, %g {dist.layouts = [#dist.layout<>]} : (<[D 8], f32>, <[D 8], f32>) -> <[D 8], f32>
  nn.return %0 : !nn.tensor<[D 8], f32>
}
}

// -----

// The same for the update: its gradient is a part of a sum.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+2 {{pending where it must be made: argument cot_param w of block.U, a sum over dp}}
// expected-note @+1 {{each rank along these axes has a part of it; reduce it before}}
nn.layer @block.U(%w: !nn.tensor<[D 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<>}, %g: !nn.tensor<[D 8], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<sum over [dp]>}) -> (!nn.tensor<[D 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<>}) attributes {layer = @block, part = #nn.part<update>} {
  nn.return %w : !nn.tensor<[D 8], f32>
}
}

// -----

// A pending sum leaves as carried.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+2 {{pending where it must be made: result carried c0 of f, a sum over tp}}
// expected-note @+1 {{reduce it before}}
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<sum over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  nn.return %0 : !nn.tensor<[B 4], f32>
}
}

// -----

// A pending sum leaves as output.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+2 {{pending where it must be made: result output y of f, a sum over tp}}
// expected-note @+1 {{reduce it before}}
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<sum over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  nn.return %0 : !nn.tensor<[B 4], f32>
}
}

// -----

// A pending sum leaves as param.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+2 {{pending where it must be made: result param w of f, a sum over tp}}
// expected-note @+1 {{reduce it before}}
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<sum over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  nn.return %0 : !nn.tensor<[B 4], f32>
}
}

// -----

// The function says another layout than that of what it returns.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{made here; change its layout with dist.reshard}}
  %0 = nn.exp %x {dist.layouts = [#dist.layout<F over [tp]>]} : <[F 8], f32>
  // expected-error @+1 {{returns another layout than result carried c0 has: #dist.layout<>, found #dist.layout<F over [tp]>}}
  nn.return %0 : !nn.tensor<[F 8], f32>
}
}

// -----

// One memory, two layouts.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{one memory has two layouts: state m, taken as #dist.layout<F over [tp]>, given as #dist.layout<>}}
nn.layer @f.U(%m: !nn.tensor<[F 8], f32> {nn.role = "state", nn.name = "m", dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[F 8], f32> {nn.role = "state", nn.name = "m", dist.layout = #dist.layout<>}) attributes {layer = @f, part = #nn.part<update>} {
  %0 = dist.reshard %m {dist.layouts = [#dist.layout<>]} : <[F 8], f32>
  nn.return %0 : !nn.tensor<[F 8], f32>
}
}

// -----

// The chain has a value in another layout than a function takes.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.chain @train attributes {dist.pending = {}} {
  %x = nn.input "x" shift 0 vocabulary 0 {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4], f32>
  // expected-error @+1 {{chain and function must agree on the layout of argument invariant i0: #dist.layout<B over [dp]>, found #dist.layout<>}}
  nn.run [@f] x 1 layer 0 carried() invariant(%x) params [{}] {dist.layouts = [#dist.layout<>]} : (!nn.tensor<[B 4], f32>) -> ()
}
// expected-note @+1 {{f stands here}}
nn.layer @f(%x: !nn.tensor<[B 4], f32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  nn.return
}
}

// -----

// Not linear: exp.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.exp %0 {dist.layouts = [#dist.layout<>]} : <[B 4], f32>
  nn.return %1 : !nn.tensor<[B 4], f32>
}
}

// -----

// Not linear: log.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.log %0 {dist.layouts = [#dist.layout<>]} : <[B 4], f32>
  nn.return %1 : !nn.tensor<[B 4], f32>
}
}

// -----

// Not linear: tanh.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.tanh %0 {dist.layouts = [#dist.layout<>]} : <[B 4], f32>
  nn.return %1 : !nn.tensor<[B 4], f32>
}
}

// -----

// Not linear: rsqrt.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.rsqrt %0 {dist.layouts = [#dist.layout<>]} : <[B 4], f32>
  nn.return %1 : !nn.tensor<[B 4], f32>
}
}

// -----

// Not linear: cmp.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %y: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c1", nn.position = 1 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.cmp lt %0, %y {dist.layouts = [#dist.layout<>]} : (<[B 4], f32>, <[B 4], f32>) -> <[B 4], i1>
  nn.return
}
}

// -----

// Not linear: cast.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %y: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c1", nn.position = 1 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.cast %0 {dist.layouts = [#dist.layout<>]} : <[B 4], f32> -> <[B 4], bf16>
  nn.return
}
}

// -----

// Not linear: max.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %y: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c1", nn.position = 1 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 0, where a sum is pending over tp}}
  %1 = nn.max %0, %y {dist.layouts = [#dist.layout<>]} : (<[B 4], f32>, <[B 4], f32>) -> <[B 4], f32>
  nn.return
}
}

// -----

// The product of two sums is not the sum of products.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+2 {{product of two values that are both pending over tp}}
  // expected-note @+1 {{reduce one of them first}}
  %1 = nn.mul %0, %0 {dist.layouts = [#dist.layout<sum over [tp]>]} : (<[B 4], f32>, <[B 4], f32>) -> <[B 4], f32>
  nn.return
}
}

// -----

// Parts of a sum, each times another block.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %y: !nn.tensor<[B 4, E 6], f32> {nn.role = "carried", nn.name = "c1", nn.position = 1 : i64, dist.layout = #dist.layout<E over [tp]>}) {
  // expected-note @+1 {{ranks along it hold parts of one value: reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{cut over an axis over which operand 0 is pending: tp}}
  %1 = nn.mul %0, %y {dist.layouts = [#dist.layout<E over [tp]>]} : (<[B 4], f32>, <[B 4, E 6], f32>) -> <[B 4, E 6], f32>
  nn.return
}
}

// -----

// Nothing is pending; a reduction would count it twice.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-error @+2 {{nothing leaves result 0 pending over tp: #dist.layout<sum over [tp]>}}
  // expected-note @+1 {{a reduction of it would count it once a rank}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  nn.return
}
}

// -----

// A result is cut as its operand is.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) {
  // expected-error @+1 {{result 0 must have the layout #dist.layout<F over [tp]>, found #dist.layout<B over [tp]>}}
  %0 = nn.exp %x {dist.layouts = [#dist.layout<B over [tp]>]} : <[B 4, F 8], f32>
  nn.return
}
}

// -----

// A number other than zero is no part of a sum.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f() {
  %0 = nn.constant 0.0 {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4], f32>
  // expected-error @+1 {{a number has no pending parts, found #dist.layout<sum over [tp]>}}
  %1 = nn.constant 1.0 {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4], f32>
  nn.return
}
}

// -----

// One axis cuts two factors.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 6], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [tp]>}, %w: !nn.tensor<[D 6, F 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<F over [tp]>}) {
  // expected-error @+2 {{one computation cannot be cut twice over axis tp, found the dimensions B and F}}
  // expected-note @+1 {{gather one of them first, or cut it over another axis}}
  %0 = nn.contract %x, %w {dist.layouts = [#dist.layout<B over [tp]>]} : (<[B 4, D 6], f32>, <[D 6, F 8], f32>) -> <[B 4, F 8], f32>
  nn.return
}
}

// -----

// One axis cuts a dimension and rows.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[E 6], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<E over [tp]>}, %w: !nn.tensor<[F 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [F] by 4 over [tp]>}) {
  // expected-error @+2 {{one computation cannot be cut twice over axis tp, found the dimension E and rows}}
  // expected-note @+1 {{gather one of them first}}
  %0 = nn.mul %x, %w {dist.layouts = [#dist.layout<>]} : (<[E 6], f32>, <[F 8], f32>) -> <[F 8, E 6], f32>
  nn.return
}
}

// -----

// Blocks of heads are equal.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%q: !nn.tensor<[S 8, H 3, K 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<H over [tp]>}) {
  // expected-error @+1 {{blocks must be equal: H of size 3, found 2 ranks}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> {dist.layouts = [#dist.layout<H over [tp]>, #dist.layout<H over [tp]>]} : (!nn.tensor<[S 8, H 3, K 4], f32>, !nn.tensor<[S 8, H 3, K 4], f32>, !nn.tensor<[S 8, H 3, K 4], f32>) -> (!nn.tensor<[S 8, H 3, K 4], f32>, !nn.tensor<[S 8, H 3], f32>)
  nn.return
}
}

// -----

// A rank has four heads, the first of which have group 0; it counts the heads that it has from zero, so the last
// two would read group 1.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%q: !nn.tensor<[S 8, H 8, K 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<H over [tp]>}, %k: !nn.tensor<[S 8, G 2, K 4], f32> {nn.role = "carried", nn.name = "c1", nn.position = 1 : i64, dist.layout = #dist.layout<>}) {
  // expected-error @+2 {{blocks of heads must be whole groups or lie within one, found H over tp and G over no axis}}
  // expected-note @+1 {{give G the first axes of H; further ones only where a rank has one group}}
  %0:2 = nn.attention %q, %k, %k <query = "S", key = "S", heads = "H", groups = "G", scale = 0.5, mask = <causal>> {dist.layouts = [#dist.layout<H over [tp]>, #dist.layout<H over [tp]>]} : (!nn.tensor<[S 8, H 8, K 4], f32>, !nn.tensor<[S 8, G 2, K 4], f32>, !nn.tensor<[S 8, G 2, K 4], f32>) -> (!nn.tensor<[S 8, H 8, K 4], f32>, !nn.tensor<[S 8, H 8], f32>)
  nn.return
}
}

// -----

// An op that no rank may share.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f() {
  // expected-error @+1 {{no rule says how ranks may share this operation: nn.scalar}}
  %0 = nn.scalar "lr" : <[], f32>
  nn.return
}
}

// -----

// A layout that the value cannot have.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{axis is not of the mesh, in the layout of argument carried c0: pp}}
nn.layer @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<B over [pp]>}) {
  nn.return
}
}

// -----

// A layout that the value cannot have.
// dist.layout (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{dimension of a layout is none of argument carried c0: E in #dist.layout<E over [tp]>}}
nn.layer @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<E over [tp]>}) {
  nn.return
}
}

// -----

// A layout that the value cannot have.
// dist.layout (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{dimension of a layout is none of argument carried c0: E in #dist.layout<rows [B, E] by 2 over}}
nn.layer @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64,
                                        dist.layout = #dist.layout<rows [B, E] by 2 over [tp]>}) {
  nn.return
}
}

// -----

// A layout that the value cannot have.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+1 {{blocks do not hold the rows of argument carried c0, which are 4: #dist.rows<[B] by 1 over [tp]>}}
nn.layer @f(%x: !nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<rows [B] by 1 over [tp]>}) {
  nn.return
}
}

// -----

// Part of what rows are made of.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%w: !nn.tensor<[H 4, K 4, D 6], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [H, K] by 8 over [dp]>}, %a: !nn.tensor<[K 4], f32> {nn.role = "param", nn.name = "a", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{rows are one dimension: a value has all that they are made of or none, found '!nn.tensor<[K 4], f32>' beside #dist.rows<[H, K] by 8 over [dp]>}}
  %0 = nn.mul %w, %a {dist.layouts = [#dist.layout<rows [H, K] by 8 over [dp]>]} : (<[H 4, K 4, D 6], f32>, <[K 4], f32>) -> <[H 4, K 4, D 6], f32>
  nn.return
}
}

// -----

// A sum over part of them.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%w: !nn.tensor<[H 4, K 4, D 6], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [H, K] by 8 over [dp]>}) {
  // expected-error @+1 {{rows are one dimension: a value has all that they are made of or none, found '!nn.tensor<[H 4, D 6], f32>' beside #dist.rows<[H, K] by 8 over [dp]>}}
  %0 = nn.reduce sum %w {dist.layouts = [#dist.layout<sum over [dp]>]} : <[H 4, K 4, D 6], f32> -> <[H 4, D 6], f32>
  nn.return
}
}

// -----

// Blocks of other sizes.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%w: !nn.tensor<[D 6], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [D] by 3 over [dp]>}, %m: !nn.tensor<[D 6], f32> {nn.role = "state", nn.name = "m", dist.layout = #dist.layout<rows [D] by 4 over [dp]>}) {
  // expected-error @+1 {{operands must have the same rows, found #dist.rows<[D] by 3 over [dp]> and #dist.rows<[D] by 4 over [dp]>}}
  %0 = nn.add %w, %m {dist.layouts = [#dist.layout<rows [D] by 3 over [dp]>]} : (<[D 6], f32>, <[D 6], f32>) -> <[D 6], f32>
  nn.return
}
}

// -----

// A contraction takes no rows.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 6], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}, %w: !nn.tensor<[D 6, F 8], f32> {nn.role = "param", nn.name = "w", dist.layout = #dist.layout<rows [D] by 3 over [dp]>}) {
  // expected-error @+2 {{cannot work on blocks of rows: nn.contract}}
  // expected-note @+1 {{gather the rows first, or cut dimensions by name}}
  %0 = nn.contract %x, %w {dist.layouts = [#dist.layout<sum over [dp]>]} : (<[B 4, D 6], f32>, <[D 6, F 8], f32>) -> <[B 4, F 8], f32>
  nn.return
}
}

// -----

// Memory for all rows, of which one block is valid: what a reduce-scatter in place leaves.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f.N(%g: !nn.tensor<[D 6], f32> {nn.role = "cot_param", nn.name = "w", dist.layout = #dist.layout<rows [D] by 3 over [dp] in_whole>}) attributes {layer = @f, part = #nn.part<norm>} {
  // expected-error @+2 {{only the rank's own block of this memory is valid: operand 0 of nn.mul}}
  // expected-note @+1 {{take the block first, with dist.slice, or gather it}}
  %0 = nn.mul %g, %g {dist.layouts = [#dist.layout<rows [D] by 3 over [dp]>]} : (<[D 6], f32>, <[D 6], f32>) -> <[D 6], f32>
  nn.return
}
}

// -----

// A collective leaves another layout than its kind does.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<D over [tp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{makes another layout than its result has: #dist.layout<>, found #dist.layout<B over [dp]>}}
  %0 = dist.collective all_gather sum %x over ["tp"] dim "D" {dist.layouts = [#dist.layout<B over [dp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// A reduce-scatter leaves its own blocks.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "x", dist.layout = #dist.layout<B over [dp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4, D 8], f32> -> <[D 8], f32>
  // expected-error @+1 {{makes another layout than its result has: #dist.layout<D over [dp]>, found #dist.layout<>}}
  %1 = dist.collective reduce_scatter sum %0 over ["dp"] dim "D" {dist.layouts = [#dist.layout<>]} : <[D 8], f32> -> <[D 8], f32>
  nn.return
}
}

// -----

// Without a dimension it leaves rows.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "x", dist.layout = #dist.layout<B over [dp]>}) {
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [dp]>]} : <[B 4, D 8], f32> -> <[D 8], f32>
  // expected-error @+1 {{cannot go over dp: without a dimension the result has rows in blocks; found #dist.layout<sum over [dp]>}}
  %1 = dist.collective reduce_scatter sum %0 over ["dp"] {dist.layouts = [#dist.layout<>]} : <[D 8], f32> -> <[D 8], f32>
  nn.return
}
}

// -----

// A gather over axes that do not cut the rows.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<rows [B] by 2 over [dp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over tp: without a dimension the operand has rows in blocks; found #dist.layout<rows [B] by 2 over [dp]>}}
  %0 = dist.collective all_gather sum %x over ["tp"] {dist.layouts = [#dist.layout<>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// All-to-all takes the axes from one dimension to another.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<B over [tp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{makes another layout than its result has: #dist.layout<D over [tp]>, found #dist.layout<B over [tp]>}}
  %0 = dist.collective all_to_all sum %x over ["tp"] dim "B" to "D" {dist.layouts = [#dist.layout<B over [tp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// A permutation keeps the axes.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<B over [dp, tp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over dp, tp: a permutation keeps the axes of one dimension in another order; found #dist.layout<B over [dp, tp]>}}
  %0 = dist.collective permute sum %x over ["dp", "tp"] dim "B" sources [0, 2, 1, 3] {dist.layouts = [#dist.layout<B over [tp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// A permutation takes each block from where it is.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<B over [dp, tp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{sources are not those of the two layouts: array<i32: 0, 1, 2, 3>}}
  %0 = dist.collective permute sum %x over ["dp", "tp"] dim "B" sources [0, 1, 2, 3] {dist.layouts = [#dist.layout<B over [tp, dp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// A slice of what is cut already.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<D over [tp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over tp: the value is cut or pending already; found #dist.layout<D over [tp]>}}
  %0 = dist.slice %x over ["tp"] dim "B" {dist.layouts = [#dist.layout<B over [tp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// Dimensions are cut before rows are.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<rows [B] by 2 over [dp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over tp: a dimension is cut before rows are; found #dist.layout<rows [B] by 2 over [dp]>}}
  %0 = dist.slice %x over ["tp"] dim "D" {dist.layouts = [#dist.layout<D over [tp], rows [B] by 2 over [dp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// The block of rows in memory for all of them.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<rows [B] by 2 over [dp] in_whole>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over tp: the block is of the rows in this memory; found #dist.layout<rows [B] by 2 over [dp] in_whole>}}
  %0 = dist.slice %x over ["tp"] {dist.layouts = [#dist.layout<rows [B] by 2 over [dp]>]} : <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

// -----

// Ranks with other blocks are not one owner.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<B over [tp]>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over tp: ranks that do not all have the value cannot choose one; found #dist.layout<B over [tp]>}}
  %0 = dist.own %x over ["tp"] {dist.layouts = [#dist.layout<sum over [tp]>]} : <[B 4, D 8], f32>
  nn.return
}
}

// -----

// What is placed is a block of rows.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{cannot go over dp: only a block of rows has a place in their memory; found #dist.layout<>}}
  %0 = dist.place %x into %y over ["dp"] {dist.layouts = [#dist.layout<rows [B] by 2 over [dp] in_whole>]} : <[B 4, D 8], f32>, <[B 4, D 8], f32> -> <[B 4, D 8], f32>
  nn.return
}
}

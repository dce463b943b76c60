// A language model by hand, as fuse leaves it: a table, a list of two residual
// layers, a head with cross entropy; SGD with momentum. 4 microbatches of 2 rows.

tplan.recipe @toy {batch = 8 : i64, sequence = 8 : i64, steps = 60 : i64,
  optimizer = {kind = "sgd", momentum = 0.9 : f64},
  lr = [{begin = 0 : i64, end = 60 : i64, from = 0.3 : f64, to = 0.3 : f64, shape = "flat"}]}
tplan.plan @toy_plan {microbatch = 2 : i64, precision = "f32"}

nn.param @embed : !nn.tensor<[V 32, D 16], f32> x 1 path "embed" first 0 step 1 id 0 by 0 <"normal", 0.5 : f64> "embedding"
nn.param @blocks.w1 : !nn.tensor<[D 16, F 32], f32> x 2 path "blocks.{i}.w1" first 0 step 1 id 1 by 2 <"normal", 0.2 : f64> "linear"
nn.param @blocks.w2 : !nn.tensor<[F 32, D 16], f32> x 2 path "blocks.{i}.w2" first 0 step 1 id 2 by 2 <"normal", 0.2 : f64> "linear"
nn.param @head : !nn.tensor<[D 16, V 32], f32> x 1 path "head" first 0 step 1 id 5 by 0 <"normal", 0.2 : f64> "linear"

nn.chain @train losses {main = 1.0 : f64} {
  %ids = nn.input "tokens" shift 0 vocabulary 32 : !nn.tensor<[B 2, S 8], i32>
  %next = nn.input "tokens" shift 1 vocabulary 32 : !nn.tensor<[B 2, S 8], i32>
  %x = nn.run [@entry] x 1 layer 0 carried() invariant(%ids) params [{embed = @embed}] : (!nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %y = nn.run [@block] x 2 layer 1 carried(%x) invariant() params [{w1 = @blocks.w1, w2 = @blocks.w2}] : (!nn.tensor<[B 2, S 8, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  nn.run [@exit] x 1 layer 3 carried(%y) invariant(%next) params [{head = @head}] : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> ()
}
nn.chain @counts {
  nn.run [@count_terms] x 1 layer 0 carried() invariant() params [{}] : () -> ()
}

rt.kernel @gather map rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"D", 16>] grain 8 : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> (!nn.tensor<[B 2, S 8, D 16], f32>)
    access [#rt.access<gather, "V", 1>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%t: f32, %i: i32):
  rt.yield %t : f32
}

rt.kernel @scatter column rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"D", 16>] grain 16 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> (!nn.tensor<[V 32, D 16], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<scatter, "V", 1>] {
^bb0(%d: f32, %i: i32):
  rt.yield %d : f32
}

rt.kernel @relu map rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"F", 32>] grain 8 : (!nn.tensor<[B 2, S 8, F 32], f32>) -> (!nn.tensor<[B 2, S 8, F 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32):
  %z = arith.constant 0.0 : f32
  %r = arith.maximumf %x, %z : f32
  rt.yield %r : f32
}

rt.kernel @relu_grad map rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"F", 32>] grain 8 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[B 2, S 8, F 32], f32>) -> (!nn.tensor<[B 2, S 8, F 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%d: f32, %h: f32):
  %z = arith.constant 0.0 : f32
  %c = arith.cmpf ogt, %h, %z : f32
  %r = arith.select %c, %d, %z : f32
  rt.yield %r : f32
}

rt.kernel @add map rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"D", 16>] grain 8 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, D 16], f32>) -> (!nn.tensor<[B 2, S 8, D 16], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32, %b: f32):
  %s = arith.addf %a, %b : f32
  rt.yield %s : f32
}

rt.kernel @cross_entropy row rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"V", 32>] grain 4 : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[B 2, S 8], i32>) -> (!nn.tensor<[B 2, S 8], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%l: f32, %i: i32):
  %z = arith.constant 0.0 : f32
  %m = rt.row_reduce max %l : f32
  %u = arith.subf %l, %m : f32
  %e = math.exp %u : f32
  %s = rt.row_reduce sum %e : f32
  %g = math.log %s : f32
  %v = rt.position "V"
  %c = arith.cmpi eq, %v, %i : i32
  %p = arith.select %c, %u, %z : f32
  %q = rt.row_reduce sum %p : f32
  %r = arith.subf %g, %q : f32
  rt.yield %r : f32
}

rt.kernel @cross_entropy_grad row rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"V", 32>] grain 4 : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[B 2, S 8], i32>, !nn.tensor<[], f32>) -> (!nn.tensor<[B 2, S 8, V 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%l: f32, %i: i32, %k: f32):
  %z = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %m = rt.row_reduce max %l : f32
  %u = arith.subf %l, %m : f32
  %e = math.exp %u : f32
  %s = rt.row_reduce sum %e : f32
  %p = arith.divf %e, %s : f32
  %v = rt.position "V"
  %c = arith.cmpi eq, %v, %i : i32
  %t = arith.select %c, %one, %z : f32
  %d = arith.subf %p, %t : f32
  %r = arith.mulf %d, %k : f32
  rt.yield %r : f32
}

rt.kernel @sum_rows row rows [] cols [#nn.dim<"B", 2>, #nn.dim<"S", 8>] grain 1 : (!nn.tensor<[B 2, S 8], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32, %a: f64):
  %y = arith.extf %x : f32 to f64
  %s = rt.row_reduce sum %y : f64
  %r = arith.addf %a, %s : f64
  rt.yield %r : f64
}

rt.kernel @count map rows [] cols [] grain 1 : (!nn.tensor<[], f64>) -> (!nn.tensor<[], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  %n = arith.constant 16.0 : f64
  %r = arith.addf %a, %n : f64
  rt.yield %r : f64
}

rt.kernel @norm_embed row rows [] cols [#nn.dim<"V", 32>, #nn.dim<"D", 16>] grain 1 : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32, %a: f64):
  %q = arith.mulf %x, %x : f32
  %y = arith.extf %q : f32 to f64
  %s = rt.row_reduce sum %y : f64
  %r = arith.addf %a, %s : f64
  rt.yield %r : f64
}

rt.kernel @update_embed map rows [#nn.dim<"V", 32>] cols [#nn.dim<"D", 16>] grain 8 : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%p: f32, %g: f32, %m: f32, %lr: f64):
  %z = arith.constant 0.0 : f32
  %mu = arith.constant 0.9 : f32
  %l = arith.truncf %lr : f64 to f32
  %a = arith.mulf %m, %mu : f32
  %b = arith.addf %a, %g : f32
  %s = arith.mulf %l, %b : f32
  %q = arith.subf %p, %s : f32
  rt.yield %q, %z, %b : f32, f32, f32
}

rt.kernel @norm_w1 row rows [] cols [#nn.dim<"D", 16>, #nn.dim<"F", 32>] grain 1 : (!nn.tensor<[D 16, F 32], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32, %a: f64):
  %q = arith.mulf %x, %x : f32
  %y = arith.extf %q : f32 to f64
  %s = rt.row_reduce sum %y : f64
  %r = arith.addf %a, %s : f64
  rt.yield %r : f64
}

rt.kernel @update_w1 map rows [#nn.dim<"D", 16>] cols [#nn.dim<"F", 32>] grain 8 : (!nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%p: f32, %g: f32, %m: f32, %lr: f64):
  %z = arith.constant 0.0 : f32
  %mu = arith.constant 0.9 : f32
  %l = arith.truncf %lr : f64 to f32
  %a = arith.mulf %m, %mu : f32
  %b = arith.addf %a, %g : f32
  %s = arith.mulf %l, %b : f32
  %q = arith.subf %p, %s : f32
  rt.yield %q, %z, %b : f32, f32, f32
}

rt.kernel @norm_w2 row rows [] cols [#nn.dim<"F", 32>, #nn.dim<"D", 16>] grain 1 : (!nn.tensor<[F 32, D 16], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32, %a: f64):
  %q = arith.mulf %x, %x : f32
  %y = arith.extf %q : f32 to f64
  %s = rt.row_reduce sum %y : f64
  %r = arith.addf %a, %s : f64
  rt.yield %r : f64
}

rt.kernel @update_w2 map rows [#nn.dim<"F", 32>] cols [#nn.dim<"D", 16>] grain 8 : (!nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%p: f32, %g: f32, %m: f32, %lr: f64):
  %z = arith.constant 0.0 : f32
  %mu = arith.constant 0.9 : f32
  %l = arith.truncf %lr : f64 to f32
  %a = arith.mulf %m, %mu : f32
  %b = arith.addf %a, %g : f32
  %s = arith.mulf %l, %b : f32
  %q = arith.subf %p, %s : f32
  rt.yield %q, %z, %b : f32, f32, f32
}

rt.kernel @norm_head row rows [] cols [#nn.dim<"D", 16>, #nn.dim<"V", 32>] grain 1 : (!nn.tensor<[D 16, V 32], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[], f64>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%x: f32, %a: f64):
  %q = arith.mulf %x, %x : f32
  %y = arith.extf %q : f32 to f64
  %s = rt.row_reduce sum %y : f64
  %r = arith.addf %a, %s : f64
  rt.yield %r : f64
}

rt.kernel @update_head map rows [#nn.dim<"D", 16>] cols [#nn.dim<"V", 32>] grain 8 : (!nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%p: f32, %g: f32, %m: f32, %lr: f64):
  %z = arith.constant 0.0 : f32
  %mu = arith.constant 0.9 : f32
  %l = arith.truncf %lr : f64 to f32
  %a = arith.mulf %m, %mu : f32
  %b = arith.addf %a, %g : f32
  %s = arith.mulf %l, %b : f32
  %q = arith.subf %p, %s : f32
  rt.yield %q, %z, %b : f32, f32, f32
}

rt.func @entry.F(%t: !nn.tensor<[V 32, D 16], f32> {nn.role = "param", nn.name = "embed"}, %i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @entry, part = #nn.part<forward>} {
  %x = rt.launch @gather(%t, %i) : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  rt.return %x : !nn.tensor<[B 2, S 8, D 16], f32>
}

rt.func @entry.E(%t: !nn.tensor<[V 32, D 16], f32> {nn.role = "param", nn.name = "embed"}, %i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @entry, part = #nn.part<evaluate>} {
  %x = rt.launch @gather(%t, %i) : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  rt.return %x : !nn.tensor<[B 2, S 8, D 16], f32>
}

rt.func @entry.B(%i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %d: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %g: !nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}) -> (!nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}) attributes {layer = @entry, part = #nn.part<backward>} {
  %r = rt.launch @scatter(%d, %i) onto(%g : !nn.tensor<[V 32, D 16], f32>) : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[V 32, D 16], f32>
  rt.return %r : !nn.tensor<[V 32, D 16], f32>
}

rt.func @entry.W(%i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %d: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %g: !nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}) -> (!nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}) attributes {layer = @entry, part = #nn.part<backward_weights>} {
  %r = rt.launch @scatter(%d, %i) onto(%g : !nn.tensor<[V 32, D 16], f32>) : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[V 32, D 16], f32>
  rt.return %r : !nn.tensor<[V 32, D 16], f32>
}

rt.func @block.F(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w1: !nn.tensor<[D 16, F 32], f32> {nn.role = "param", nn.name = "w1"}, %w2: !nn.tensor<[F 32, D 16], f32> {nn.role = "param", nn.name = "w2"}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !nn.tensor<[B 2, S 8, F 32], f32> {nn.role = "res_fw", nn.name = "r0"}) attributes {layer = @block, part = #nn.part<forward>} {
  %h = rt.matmul %x, %w1 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %a = rt.launch @relu(%h) : (!nn.tensor<[B 2, S 8, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %y = rt.matmul %a, %w2 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[F 32, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %o = rt.launch @add(%x, %y) {in_place = array<i64: 1, 0>} : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  rt.return %o, %h : !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, F 32], f32>
}

rt.func @block.E(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w1: !nn.tensor<[D 16, F 32], f32> {nn.role = "param", nn.name = "w1"}, %w2: !nn.tensor<[F 32, D 16], f32> {nn.role = "param", nn.name = "w2"}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @block, part = #nn.part<evaluate>} {
  %h = rt.matmul %x, %w1 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %a = rt.launch @relu(%h) {in_place = array<i64: 0, 0>} : (!nn.tensor<[B 2, S 8, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %y = rt.matmul %a, %w2 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[F 32, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %o = rt.launch @add(%x, %y) {in_place = array<i64: 1, 0>} : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  rt.return %o : !nn.tensor<[B 2, S 8, D 16], f32>
}

rt.func @block.B(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w1: !nn.tensor<[D 16, F 32], f32> {nn.role = "param", nn.name = "w1"}, %w2: !nn.tensor<[F 32, D 16], f32> {nn.role = "param", nn.name = "w2"}, %h: !nn.tensor<[B 2, S 8, F 32], f32> {nn.role = "res_fw", nn.name = "r0"}, %d: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %g1: !nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, %g2: !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, !nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}) attributes {layer = @block, part = #nn.part<backward>} {
  %da = rt.matmul %d, %w2 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[F 32, D 16], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %dh = rt.launch @relu_grad(%da, %h) {in_place = array<i64: 0, 0>} : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[B 2, S 8, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %dm = rt.matmul %dh, %w1 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[D 16, F 32], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %dx = rt.launch @add(%d, %dm) {in_place = array<i64: 1, 0>} : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %a = rt.launch @relu(%h) : (!nn.tensor<[B 2, S 8, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %n1 = rt.matmul %x, %dh onto %g1 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[D 16, F 32], f32>) -> !nn.tensor<[D 16, F 32], f32>
  %n2 = rt.matmul %a, %d onto %g2 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[F 32, D 16], f32>) -> !nn.tensor<[F 32, D 16], f32>
  rt.return %dx, %n1, %n2 : !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[F 32, D 16], f32>
}

rt.func @block.I(%w1: !nn.tensor<[D 16, F 32], f32> {nn.role = "param", nn.name = "w1"}, %w2: !nn.tensor<[F 32, D 16], f32> {nn.role = "param", nn.name = "w2"}, %h: !nn.tensor<[B 2, S 8, F 32], f32> {nn.role = "res_fw", nn.name = "r0"}, %d: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, !nn.tensor<[B 2, S 8, F 32], f32> {nn.role = "res_iw", nn.name = "d0"}) attributes {layer = @block, part = #nn.part<backward_inputs>} {
  %da = rt.matmul %d, %w2 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[F 32, D 16], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %dh = rt.launch @relu_grad(%da, %h) {in_place = array<i64: 0, 0>} : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[B 2, S 8, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %dm = rt.matmul %dh, %w1 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[D 16, F 32], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %dx = rt.launch @add(%d, %dm) {in_place = array<i64: 1, 0>} : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, D 16], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  rt.return %dx, %dh : !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, F 32], f32>
}

rt.func @block.W(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %h: !nn.tensor<[B 2, S 8, F 32], f32> {nn.role = "res_fw", nn.name = "r0"}, %dh: !nn.tensor<[B 2, S 8, F 32], f32> {nn.role = "res_iw", nn.name = "d0"}, %d: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %g1: !nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, %g2: !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}) -> (!nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}) attributes {layer = @block, part = #nn.part<backward_weights>} {
  %a = rt.launch @relu(%h) : (!nn.tensor<[B 2, S 8, F 32], f32>) -> !nn.tensor<[B 2, S 8, F 32], f32>
  %n1 = rt.matmul %x, %dh onto %g1 : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[D 16, F 32], f32>) -> !nn.tensor<[D 16, F 32], f32>
  %n2 = rt.matmul %a, %d onto %g2 : (!nn.tensor<[B 2, S 8, F 32], f32>, !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[F 32, D 16], f32>) -> !nn.tensor<[F 32, D 16], f32>
  rt.return %n1, %n2 : !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[F 32, D 16], f32>
}

rt.func @exit.F(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !nn.tensor<[D 16, V 32], f32> {nn.role = "param", nn.name = "head"}, %i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %s: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) attributes {layer = @exit, part = #nn.part<forward>} {
  %l = rt.matmul %x, %w : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[B 2, S 8, V 32], f32>
  %r = rt.launch @cross_entropy(%l, %i) : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[B 2, S 8], f32>
  %n = rt.launch @sum_rows(%r, %s) {in_place = array<i64: 1, 0>} : (!nn.tensor<[B 2, S 8], f32>, !nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  rt.return %n : !nn.tensor<[], f64>
}

rt.func @exit.E(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !nn.tensor<[D 16, V 32], f32> {nn.role = "param", nn.name = "head"}, %i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %s: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}, !nn.tensor<[B 2, S 8, V 32], f32> {nn.role = "output", nn.name = "logits"}) attributes {layer = @exit, part = #nn.part<evaluate>} {
  %l = rt.matmul %x, %w : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[B 2, S 8, V 32], f32>
  %r = rt.launch @cross_entropy(%l, %i) : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[B 2, S 8], i32>) -> !nn.tensor<[B 2, S 8], f32>
  %n = rt.launch @sum_rows(%r, %s) {in_place = array<i64: 1, 0>} : (!nn.tensor<[B 2, S 8], f32>, !nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  rt.return %n, %l : !nn.tensor<[], f64>, !nn.tensor<[B 2, S 8, V 32], f32>
}

rt.func @exit.B(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !nn.tensor<[D 16, V 32], f32> {nn.role = "param", nn.name = "head"}, %i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %k: !nn.tensor<[], f32> {nn.role = "cot_loss", nn.name = "main"}, %g: !nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, !nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}) attributes {layer = @exit, part = #nn.part<backward>} {
  %l = rt.matmul %x, %w : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[B 2, S 8, V 32], f32>
  %dl = rt.launch @cross_entropy_grad(%l, %i, %k) : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[B 2, S 8], i32>, !nn.tensor<[], f32>) -> !nn.tensor<[B 2, S 8, V 32], f32>
  %dx = rt.matmul %dl, %w : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  %q = rt.matmul %x, %dl onto %g : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[D 16, V 32], f32>
  rt.return %dx, %q : !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, V 32], f32>
}

rt.func @exit.I(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !nn.tensor<[D 16, V 32], f32> {nn.role = "param", nn.name = "head"}, %i: !nn.tensor<[B 2, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %k: !nn.tensor<[], f32> {nn.role = "cot_loss", nn.name = "main"}) -> (!nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, !nn.tensor<[B 2, S 8, V 32], f32> {nn.role = "res_iw", nn.name = "d0"}) attributes {layer = @exit, part = #nn.part<backward_inputs>} {
  %l = rt.matmul %x, %w : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[B 2, S 8, V 32], f32>
  %dl = rt.launch @cross_entropy_grad(%l, %i, %k) : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[B 2, S 8], i32>, !nn.tensor<[], f32>) -> !nn.tensor<[B 2, S 8, V 32], f32>
  %dx = rt.matmul %dl, %w : (!nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[B 2, S 8, D 16], f32>
  rt.return %dx, %dl : !nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, V 32], f32>
}

rt.func @exit.W(%x: !nn.tensor<[B 2, S 8, D 16], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %dl: !nn.tensor<[B 2, S 8, V 32], f32> {nn.role = "res_iw", nn.name = "d0"}, %g: !nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}) -> (!nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}) attributes {layer = @exit, part = #nn.part<backward_weights>} {
  %q = rt.matmul %x, %dl onto %g : (!nn.tensor<[B 2, S 8, D 16], f32>, !nn.tensor<[B 2, S 8, V 32], f32>, !nn.tensor<[D 16, V 32], f32>) -> !nn.tensor<[D 16, V 32], f32>
  rt.return %q : !nn.tensor<[D 16, V 32], f32>
}

rt.func @count_terms.E(%a: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "count.main", nn.counts = "main"}) -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "count.main", nn.counts = "main"}) attributes {layer = @count_terms, part = #nn.part<evaluate>} {
  %b = rt.launch @count(%a) {in_place = array<i64: 0, 0>} : (!nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  rt.return %b : !nn.tensor<[], f64>
}

rt.func @entry.N(%n0: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm"}, %g0: !nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}) -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm"}) attributes {layer = @entry, part = #nn.part<norm>} {
  %n1 = rt.launch @norm_embed(%g0, %n0) {in_place = array<i64: 1, 0>} : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  rt.return %n1 : !nn.tensor<[], f64>
}

rt.func @entry.U(%p0: !nn.tensor<[V 32, D 16], f32> {nn.role = "param", nn.name = "embed"}, %g0: !nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}, %m0: !nn.tensor<[V 32, D 16], f32> {nn.role = "state", nn.name = "embed.m", nn.slot = #nn.slot<"m" of "embed">}, %lr: !nn.tensor<[], f64> {nn.role = "scalar", nn.name = "lr"}) -> (!nn.tensor<[V 32, D 16], f32> {nn.role = "param", nn.name = "embed"}, !nn.tensor<[V 32, D 16], f32> {nn.role = "cot_param", nn.name = "embed"}, !nn.tensor<[V 32, D 16], f32> {nn.role = "state", nn.name = "embed.m", nn.slot = #nn.slot<"m" of "embed">}) attributes {layer = @entry, part = #nn.part<update>} {
  %u0:3 = rt.launch @update_embed(%p0, %g0, %m0, %lr) {in_place = array<i64: 0, 0, 1, 1, 2, 2>} : (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>)
  rt.return %u0#0, %u0#1, %u0#2 : !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>, !nn.tensor<[V 32, D 16], f32>
}

rt.func @block.N(%n0: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm"}, %g0: !nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, %g1: !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}) -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm"}) attributes {layer = @block, part = #nn.part<norm>} {
  %n1 = rt.launch @norm_w1(%g0, %n0) {in_place = array<i64: 1, 0>} : (!nn.tensor<[D 16, F 32], f32>, !nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  %n2 = rt.launch @norm_w2(%g1, %n1) {in_place = array<i64: 1, 0>} : (!nn.tensor<[F 32, D 16], f32>, !nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  rt.return %n2 : !nn.tensor<[], f64>
}

rt.func @block.U(%p0: !nn.tensor<[D 16, F 32], f32> {nn.role = "param", nn.name = "w1"}, %g0: !nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, %m0: !nn.tensor<[D 16, F 32], f32> {nn.role = "state", nn.name = "w1.m", nn.slot = #nn.slot<"m" of "w1">}, %p1: !nn.tensor<[F 32, D 16], f32> {nn.role = "param", nn.name = "w2"}, %g1: !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}, %m1: !nn.tensor<[F 32, D 16], f32> {nn.role = "state", nn.name = "w2.m", nn.slot = #nn.slot<"m" of "w2">}, %lr: !nn.tensor<[], f64> {nn.role = "scalar", nn.name = "lr"}) -> (!nn.tensor<[D 16, F 32], f32> {nn.role = "param", nn.name = "w1"}, !nn.tensor<[D 16, F 32], f32> {nn.role = "cot_param", nn.name = "w1"}, !nn.tensor<[D 16, F 32], f32> {nn.role = "state", nn.name = "w1.m", nn.slot = #nn.slot<"m" of "w1">}, !nn.tensor<[F 32, D 16], f32> {nn.role = "param", nn.name = "w2"}, !nn.tensor<[F 32, D 16], f32> {nn.role = "cot_param", nn.name = "w2"}, !nn.tensor<[F 32, D 16], f32> {nn.role = "state", nn.name = "w2.m", nn.slot = #nn.slot<"m" of "w2">}) attributes {layer = @block, part = #nn.part<update>} {
  %u0:3 = rt.launch @update_w1(%p0, %g0, %m0, %lr) {in_place = array<i64: 0, 0, 1, 1, 2, 2>} : (!nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>)
  %u1:3 = rt.launch @update_w2(%p1, %g1, %m1, %lr) {in_place = array<i64: 0, 0, 1, 1, 2, 2>} : (!nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>)
  rt.return %u0#0, %u0#1, %u0#2, %u1#0, %u1#1, %u1#2 : !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[D 16, F 32], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>, !nn.tensor<[F 32, D 16], f32>
}

rt.func @exit.N(%n0: !nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm"}, %g0: !nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}) -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "norm"}) attributes {layer = @exit, part = #nn.part<norm>} {
  %n1 = rt.launch @norm_head(%g0, %n0) {in_place = array<i64: 1, 0>} : (!nn.tensor<[D 16, V 32], f32>, !nn.tensor<[], f64>) -> !nn.tensor<[], f64>
  rt.return %n1 : !nn.tensor<[], f64>
}

rt.func @exit.U(%p0: !nn.tensor<[D 16, V 32], f32> {nn.role = "param", nn.name = "head"}, %g0: !nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}, %m0: !nn.tensor<[D 16, V 32], f32> {nn.role = "state", nn.name = "head.m", nn.slot = #nn.slot<"m" of "head">}, %lr: !nn.tensor<[], f64> {nn.role = "scalar", nn.name = "lr"}) -> (!nn.tensor<[D 16, V 32], f32> {nn.role = "param", nn.name = "head"}, !nn.tensor<[D 16, V 32], f32> {nn.role = "cot_param", nn.name = "head"}, !nn.tensor<[D 16, V 32], f32> {nn.role = "state", nn.name = "head.m", nn.slot = #nn.slot<"m" of "head">}) attributes {layer = @exit, part = #nn.part<update>} {
  %u0:3 = rt.launch @update_head(%p0, %g0, %m0, %lr) {in_place = array<i64: 0, 0, 1, 1, 2, 2>} : (!nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[], f64>) -> (!nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>)
  rt.return %u0#0, %u0#1, %u0#2 : !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>, !nn.tensor<[D 16, V 32], f32>
}

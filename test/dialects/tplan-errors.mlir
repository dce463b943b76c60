// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the tplan dialect refuses on its own.

tplan.model @m {
  %x = tplan.apply "constant"() {value = 1.0} : () -> !nn.tensor<[D 2], f32>
  // expected-error @+1 {{carries in and out different types}}
  %y = tplan.for "blocks" runs [[2, 0]] carried(%x) invariant() : (!nn.tensor<[D 2], f32>) -> !nn.tensor<[D 3], f32> {
  ^bb0(%a: !nn.tensor<[D 2], f32>):
    tplan.return %a : !nn.tensor<[D 2], f32>
  }
}

// -----

tplan.model @m {
  %x = tplan.apply "constant"() {value = 1.0} : () -> !nn.tensor<[D 2], f32>
  // expected-error @+1 {{a kind's arguments must be the carried and invariant values}}
  %y = tplan.for "blocks" runs [[2, 0]] carried(%x) invariant() : (!nn.tensor<[D 2], f32>) -> !nn.tensor<[D 2], f32> {
  ^bb0(%a: !nn.tensor<[D 3], f32>):
    tplan.return %a : !nn.tensor<[D 3], f32>
  }
}

// -----

// tplan.update (C1)
!s = !nn.tensor<[], f32>
tplan.model @m {
  %w = tplan.weight "w" "other" <"constant", 1.0 : f64> : !s
  // expected-error @+1 {{updates a weight of kind state only}}
  tplan.update %w, %w : !s, !s
}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh is a list, found 2 : i64}}
tplan.plan @p {mesh = 2 : i64}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh has axes of at least one rank, found dp = 0}}
tplan.plan @p {mesh = [{name = "dp", size = 0 : i64}]}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh names each axis once, found twice: dp}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "dp", size = 2 : i64}]}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh has at most 65536 ranks, found more along tp}}
tplan.plan @p {mesh = [{name = "dp", size = 65536 : i64}, {name = "tp", size = 2 : i64}]}

// -----

// tplan.plan (C2)
// expected-error @+1 {{shard needs dims, found {axes = []}}}
tplan.plan @p {shard = [{axes = []}]}

// -----

// tplan.plan (C2)
// expected-error @+1 {{shards over axes of the mesh, found tp}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], shard = [{axes = ["dp", "tp"], dims = ["B"]}]}

// -----

// tplan.plan (C2)
// expected-error @+1 {{shards over axes of the mesh, found dp}}
tplan.plan @p {zero = {axes = ["dp"], stage = 1 : i64}}

// -----

// tplan.plan (C2)
// expected-error @+1 {{zero needs axes, found {stage = 1 : i64}}}
tplan.plan @p {zero = {stage = 1 : i64}}

// -----

// tplan.plan (C3)
// expected-error @+1 {{has its stages along an axis of the mesh, found pp}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], stage_axis = "pp"}

// -----

// A field has its type, and no other name.
// expected-error @+1 {{plan has the fields recipe, cluster, mesh, shard, zero, reduce, read, microbatch, precision, precision_of, moments, master, computed_in, loss_scale, pipeline, chunks, group, kept, ahead, orders, stage_axis, stages, recompute, fuse, overlap, memory, hops, channels, compress, compress_weights, found "microbtach"}}
tplan.plan @p {microbtach = 2 : i64}

// -----

// expected-error @+1 {{microbatch is a whole number, found "two"}}
tplan.plan @p {microbatch = "two"}

// -----

// expected-error @+1 {{stages is a whole number, found true}}
tplan.plan @p {stages = [2, true]}

// -----

// expected-error @+1 {{precision is one of f32, tf32, bf16, f16, f64, found "bf61"}}
tplan.plan @p {precision = "bf61"}

// -----

// expected-error @+1 {{fuse is true or false, found 1 : i64}}
tplan.plan @p {fuse = 1 : i64}

// -----

// expected-error @+1 {{zero is a list of fields, found 1 : i64}}
tplan.plan @p {zero = 1 : i64}

// -----

// expected-error @+1 {{pipeline is a text, found 2 : i64}}
tplan.plan @p {pipeline = 2 : i64}

// -----

// expected-error @+1 {{clip is a number with a point, found 1 : i64}}
tplan.recipe @r {optimizer = {kind = "sgd", clip = 1 : i64, no_decay = []}}

// -----

// expected-error @+1 {{sizes is of another kind, found []}}
tplan.recipe @r {model = {name = "m", sizes = []}}

// -----

// expected-error @+1 {{target has the fields cpu, features, needs, vector_bytes, registers, f16c, bf16_gemm, arch, scales, workspace, attention, attention_forward, attention_backward, others, has_main, embed_as, found "archs"}}
module attributes {tplan.target = #tplan.target<{archs = "sm_90"}>} {}

// -----

// tplan.stored (C1)
tplan.disk "huggingface" {
  // expected-error @+1 {{has one or two names, found []}}
  tplan.stored ["w"] as [] layout [["D"]]
}

// -----

tplan.disk "huggingface" {
  // expected-error @+1 {{has a layout of lists, found "D"}}
  tplan.stored ["w"] as ["w"] layout ["D"]
}

// -----

tplan.disk "huggingface" {
  // expected-error @+1 {{has dimensions and numbers as factors, found 1.0}}
  tplan.stored ["w"] as ["w"] layout [[1.0]]
}

// -----

// tplan.stored (C2)
tplan.disk "huggingface" {
  // expected-error @+1 {{counts through its weights in one place, found [[3, "D"]]}}
  tplan.stored ["v", "w"] as ["vw"] layout [[3, "D"]]
}

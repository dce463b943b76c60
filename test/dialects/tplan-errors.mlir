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
// expected-error @+1 {{mesh is a list of axes, found 2 : i64}}
tplan.plan @p {mesh = 2 : i64}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh has axes {name = "dp", size = 2 : i64}, found {name = "dp", size = 0 : i64}}}
tplan.plan @p {mesh = [{name = "dp", size = 0 : i64}]}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh names each axis once, found twice: dp}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}, {name = "dp", size = 2 : i64}]}

// -----

// tplan.plan (C1)
// expected-error @+1 {{mesh has at most 65536 ranks, found [{name = "dp", size = 65536 : i64}, {name = "tp", size = 2 : i64}]}}
tplan.plan @p {mesh = [{name = "dp", size = 65536 : i64}, {name = "tp", size = 2 : i64}]}

// -----

// tplan.plan (C2)
// expected-error @+1 {{shard has lists of dims and axes, found {axes = []}}}
tplan.plan @p {shard = [{axes = []}]}

// -----

// tplan.plan (C2)
// expected-error @+1 {{shards over axes of the mesh, found "tp"}}
tplan.plan @p {mesh = [{name = "dp", size = 2 : i64}], shard = [{axes = ["dp", "tp"], dims = ["B"]}]}

// -----

// tplan.plan (C2)
// expected-error @+1 {{shards over axes of the mesh, found "dp"}}
tplan.plan @p {zero = {axes = ["dp"], stage = 1 : i64}}

// -----

// tplan.plan (C2)
// expected-error @+1 {{zero has a list of axes, found {stage = 1 : i64}}}
tplan.plan @p {zero = {stage = 1 : i64}}

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

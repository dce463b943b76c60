// RUN: tplan-opt --assign-layouts -verify-diagnostics -split-input-file %s
// What a plan's lines cannot cut.

// expected-note @below {{B is cut here}}
// expected-note @below {{F is cut here; cut one of them over another axis, or not at all}}
tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}], shard = [{axes = ["tp"], dims = ["B", "F"]}]}
nn.layer @f(%x: !nn.tensor<[B 4, D 6], f32> {nn.role = "invariant", nn.name = "x"}, %w: !nn.tensor<[D 6, F 8], f32> {nn.role = "param", nn.name = "w"}) {
  // expected-error @+1 {{one computation cannot be cut twice over axis tp, found the dimensions B and F}}
  %0 = nn.contract %x, %w : (<[B 4, D 6], f32>, <[D 6, F 8], f32>) -> <[B 4, F 8], f32>
  nn.return
}

// -----

// expected-note @below {{B is cut here}}
// expected-note @below {{F is cut here; cut one of them over another axis, or not at all}}
tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}], shard = [{axes = ["tp"], dims = ["B", "F"]}]}
// expected-error @+1 {{one value cannot be cut twice over axis tp, found the dimensions B and F}}
nn.layer @f(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0"}) -> (!nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0"}) {
  nn.return %x : !nn.tensor<[B 4, F 8], f32>
}

// -----

// expected-note @below {{S is cut here; leave it whole}}
tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}], shard = [{axes = ["tp"], dims = ["S"]}]}
nn.layer @f(%q: !nn.tensor<[S 8, H 2, K 4], f32> {nn.role = "invariant", nn.name = "q"}) {
  // expected-error @+1 {{needs all of dimension S on each rank, which the plan cuts over tp}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2, K 4], f32>) -> (!nn.tensor<[S 8, H 2, K 4], f32>, !nn.tensor<[S 8, H 2], f32>)
  nn.return
}

// -----

// expected-note @below {{H is cut here}}
tplan.plan @p {mesh = [{name = "tp", size = 4 : i64}], shard = [{axes = ["tp"], dims = ["H"]}]}
nn.layer @f(%q: !nn.tensor<[S 8, H 6, K 4], f32> {nn.role = "invariant", nn.name = "q"}) {
  // expected-error @+1 {{attention cannot cut H of size 6 into equal blocks; nearest are 3 and 6 ranks, found 4}}
  %0:2 = nn.attention %q, %q, %q <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!nn.tensor<[S 8, H 6, K 4], f32>, !nn.tensor<[S 8, H 6, K 4], f32>, !nn.tensor<[S 8, H 6, K 4], f32>) -> (!nn.tensor<[S 8, H 6, K 4], f32>, !nn.tensor<[S 8, H 6], f32>)
  nn.return
}

// -----

// Four heads of a rank have two groups, of which it would count the wrong ones.
// expected-note @below {{give H and G the same axes}}
tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}], shard = [{axes = ["tp"], dims = ["H"]}]}
nn.layer @f(%q: !nn.tensor<[S 8, H 8, K 4], f32> {nn.role = "invariant", nn.name = "q"}, %k: !nn.tensor<[S 8, G 2, K 4], f32> {nn.role = "invariant", nn.name = "k"}) {
  // expected-error @+1 {{attention needs its heads cut as their groups are, and further only within one group; found H over tp and G whole}}
  %0:2 = nn.attention %q, %k, %k <query = "S", key = "S", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[S 8, H 8, K 4], f32>, !nn.tensor<[S 8, G 2, K 4], f32>, !nn.tensor<[S 8, G 2, K 4], f32>) -> (!nn.tensor<[S 8, H 8, K 4], f32>, !nn.tensor<[S 8, H 8], f32>)
  nn.return
}

// -----

tplan.plan @p {mesh = [{name = "tp", size = 2 : i64}]}
nn.layer @f() {
  // expected-error @+1 {{no rule says how ranks may share this operation: nn.scalar}}
  %0 = nn.scalar "lr" : <[], f32>
  nn.return
}

// -----

// A line that cannot cut what it names is refused, and not ignored.
// expected-error @below {{blocks of V must have a position each: it has 61, choose at most as many ranks or a multiple; found 64}}
tplan.plan @p {mesh = [{name = "tp", size = 64 : i64}], shard = [{axes = ["tp"], dims = ["V"]}]}
nn.param @w : !nn.tensor<[V 61, D 4], f32> x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"

// -----

// expected-note @below {{D is cut here: over a number of ranks that divides 4, or leave these weights out with `except`, or name fp8(rowwise), which has no blocks}}
tplan.plan @p {mesh = [{name = "tp", size = 3 : i64}], shard = [{axes = ["tp"], dims = ["D"]}]}
nn.layer @f(%x: !nn.tensor<[B 2, D 512], f32> {nn.role = "invariant", nn.name = "x"}) {
  // expected-error @+1 {{axes cut between blocks of 128 elements, which have one scale: D has 4 of them, found 3 ranks along tp}}
  %0 = nn.split %x "D" by 128 : <[B 2, D 512], f32> -> <[B 2, D 4, in.D 128], f32>
  nn.return
}

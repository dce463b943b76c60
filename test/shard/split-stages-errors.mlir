// RUN: tplan-opt --split-stages --split-input-file --verify-diagnostics %s
!x = !nn.tensor<[B 2], f32>
// expected-error@below {{the stages hold 3 layers, the lists of the model 4}}
tplan.plan @p {stages = [1, 2]}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  // expected-note@below {{4 layers of it are here}}
  %y = nn.run [@a] x 4 layer 1 carried(%x) invariant() params [{}] : (!x) -> !x
}

// -----

!x = !nn.tensor<[B 2], f32>
// expected-error@below {{each stage needs at least one layer, found 0}}
tplan.plan @p {stages = [2, 0]}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  %y = nn.run [@a] x 2 layer 1 carried(%x) invariant() params [{}] : (!x) -> !x
}

// -----

// expected-error@below {{there is no chain @train to cut into stages}}
module {}

// -----

!x = !nn.tensor<[B 2], f32>
// expected-error@below {{each stage needs a layer of a list, and ranks along pp hold 4 stages, found layers: 2}}
tplan.plan @p {mesh = [{name = "pp", size = 4 : i64}], stage_axis = "pp"}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  %y = nn.run [@a] x 2 layer 1 carried(%x) invariant() params [{}] : (!x) -> !x
}

// -----

!x = !nn.tensor<[B 2], f32>
// expected-error@below {{each stage needs a layer of a list, and ranks along pp hold 4 stages, found layers: 2}}
tplan.plan @p {mesh = [{name = "pp", size = 2 : i64}], pipeline = "zb_v", stage_axis = "pp"}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  %y = nn.run [@a] x 2 layer 1 carried(%x) invariant() params [{}] : (!x) -> !x
}

// -----

!x = !nn.tensor<[B 2], f32>
// expected-error@below {{with interleaved ranks along pp hold 6 stages, found 2}}
tplan.plan @p {mesh = [{name = "pp", size = 2 : i64}], pipeline = "interleaved", chunks = 3 : i64, stage_axis = "pp", stages = [1, 1]}
nn.chain @train {
  %x = nn.run [@entry] x 1 layer 0 carried() invariant() params [{}] : () -> !x
  %y = nn.run [@a] x 2 layer 1 carried(%x) invariant() params [{}] : (!x) -> !x
}

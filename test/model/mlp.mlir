// A two-layer MLP on tokens: the whole way of one small model.
!ids = !nn.tensor<[B 4, S 8], i32>
!x = !nn.tensor<[B 4, S 8, D 24], f32>
!h = !nn.tensor<[B 4, S 8, F 40], f32>
!logits = !nn.tensor<[B 4, S 8, V 61], f32>
!table = !nn.tensor<[V 61, D 24], f32>
!up = !nn.tensor<[F 40, D 24], f32>
!down = !nn.tensor<[D 24, F 40], f32>
!scalar = !nn.tensor<[], f32>

tplan.recipe @r {batch = 4 : i64, sequence = 8 : i64, steps = 10 : i64, optimizer = {kind = "adamw", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, decay = 0.1, momentum = 0.0, clip = 1.0, no_decay = ["embed.weight"]}, lr = [{begin = 0 : i64, end = 10 : i64, from = 1.0e-3, to = 1.0e-3, shape = "flat"}]}
tplan.plan @p {recipe = "r", microbatch = 2 : i64, precision = "f32", pipeline = "accumulate", stages = [2 : i64], recompute = {default = "none", rules = []}, fuse = true}

tplan.layer @layer(%x: !x) -> !x {
  %up = tplan.weight "up.weight" "linear" <"normal", 2.0e-2 : f64> : !up
  %down = tplan.weight "down.weight" "linear" <"normal", 2.0e-2 : f64> : !down
  %0 = tplan.apply "contract"(%x, %up) : (!x, !up) -> !h
  %1 = tplan.apply "relu"(%0) : (!h) -> !h
  %2 = tplan.apply "contract"(%1, %down) : (!h, !down) -> !x
  %3 = tplan.apply "add"(%x, %2) : (!x, !x) -> !x
  tplan.return %3 : !x
}

tplan.model @mlp {
  %tokens = tplan.input "tokens" shift 0 vocabulary 61 : !ids
  %next = tplan.input "tokens" shift 1 vocabulary 61 : !ids
  %embed = tplan.weight "embed.weight" "embedding" <"normal", 2.0e-2 : f64> : !table
  %head = tplan.weight "head.weight" "linear" <"normal", 2.0e-2 : f64> : !table
  %x0 = tplan.apply "lookup"(%embed, %tokens) {dim = "V"} : (!table, !ids) -> !x
  %x1 = tplan.for "blocks" runs [[2 : i64, 0 : i64]] carried(%x0) invariant() : (!x) -> !x {
  ^bb0(%x: !x):
    %y = tplan.call @layer as ""(%x) : (!x) -> !x
    tplan.return %y : !x
  }
  %logits = tplan.apply "contract"(%x1, %head) : (!x, !table) -> !logits
  tplan.output "logits" %logits : !logits
  %sum, %count = tplan.apply "cross_entropy"(%logits, %next) {over = "V"} : (!logits, !ids) -> (!scalar, !nn.tensor<[], f64>)
  tplan.loss "main" weight 1.0 %sum count %count terms 0 : !scalar, !nn.tensor<[], f64>
}

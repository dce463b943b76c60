module {
  tplan.layer @mlp_layer(%arg0: !nn.tensor<[B 16, S 64, D 64], f32> {nn.name = "x"}) -> !nn.tensor<[B 16, S 64, D 64], f32> {
    %0 = tplan.weight "up.weight" "linear" <"normal", 2.000000e-02 : f64> : <[F 256, D 64], f32>
    %1 = tplan.weight "up.bias" "bias" <"constant", 0.000000e+00 : f64> : <[F 256], f32>
    %2 = tplan.weight "down.weight" "linear" <"normal", 2.000000e-02 : f64> : <[D 64, F 256], f32>
    %3 = tplan.weight "down.bias" "bias" <"constant", 0.000000e+00 : f64> : <[D 64], f32>
    %4 = tplan.apply "contract"(%arg0, %0) : (!nn.tensor<[B 16, S 64, D 64], f32>, !nn.tensor<[F 256, D 64], f32>) -> !nn.tensor<[B 16, S 64, F 256], f32>
    %5 = tplan.apply "add"(%4, %1) : (!nn.tensor<[B 16, S 64, F 256], f32>, !nn.tensor<[F 256], f32>) -> !nn.tensor<[B 16, S 64, F 256], f32>
    %6 = tplan.apply "relu"(%5) : (!nn.tensor<[B 16, S 64, F 256], f32>) -> !nn.tensor<[B 16, S 64, F 256], f32>
    %7 = tplan.apply "contract"(%6, %2) : (!nn.tensor<[B 16, S 64, F 256], f32>, !nn.tensor<[D 64, F 256], f32>) -> !nn.tensor<[B 16, S 64, D 64], f32>
    %8 = tplan.apply "add"(%7, %3) : (!nn.tensor<[B 16, S 64, D 64], f32>, !nn.tensor<[D 64], f32>) -> !nn.tensor<[B 16, S 64, D 64], f32>
    %9 = tplan.apply "add"(%arg0, %8) : (!nn.tensor<[B 16, S 64, D 64], f32>, !nn.tensor<[B 16, S 64, D 64], f32>) -> !nn.tensor<[B 16, S 64, D 64], f32>
    tplan.return %9 : !nn.tensor<[B 16, S 64, D 64], f32>
  }
  tplan.model @mlp {
    %0 = tplan.input "tokens" shift 0 vocabulary 256 : <[B 16, S 64], i32>
    %1 = tplan.input "tokens" shift 1 vocabulary 256 : <[B 16, S 64], i32>
    %2 = tplan.weight "embed.weight" "embedding" <"normal", 2.000000e-02 : f64> : <[V 256, D 64], f32>
    %3 = tplan.weight "head.weight" "linear" <"normal", 2.000000e-02 : f64> : <[V 256, D 64], f32>
    %4 = tplan.weight "head.bias" "bias" <"constant", 0.000000e+00 : f64> : <[V 256], f32>
    %5 = tplan.apply "lookup"(%2, %0) {dim = "V"} : (!nn.tensor<[V 256, D 64], f32>, !nn.tensor<[B 16, S 64], i32>) -> !nn.tensor<[B 16, S 64, D 64], f32>
    %6 = tplan.for "layers" runs [[2, 0]] carried(%5) invariant() : (!nn.tensor<[B 16, S 64, D 64], f32>) -> !nn.tensor<[B 16, S 64, D 64], f32> {
    ^bb0(%arg0: !nn.tensor<[B 16, S 64, D 64], f32>):
      %10 = tplan.call @mlp_layer as ""(%arg0) : (!nn.tensor<[B 16, S 64, D 64], f32>) -> !nn.tensor<[B 16, S 64, D 64], f32>
      tplan.return %10 : !nn.tensor<[B 16, S 64, D 64], f32>
    }
    %7 = tplan.apply "contract"(%6, %3) : (!nn.tensor<[B 16, S 64, D 64], f32>, !nn.tensor<[V 256, D 64], f32>) -> !nn.tensor<[B 16, S 64, V 256], f32>
    %8 = tplan.apply "add"(%7, %4) : (!nn.tensor<[B 16, S 64, V 256], f32>, !nn.tensor<[V 256], f32>) -> !nn.tensor<[B 16, S 64, V 256], f32>
    tplan.output "logits" %8 : <[B 16, S 64, V 256], f32>
    %9:2 = tplan.apply "cross_entropy"(%8, %1) {over = "V"} : (!nn.tensor<[B 16, S 64, V 256], f32>, !nn.tensor<[B 16, S 64], i32>) -> (!nn.tensor<[], f64>, !nn.tensor<[], f64>)
    tplan.loss "main" weight 1.000000e+00 %9#0 count %9#1 terms 0 : <[], f64>, !nn.tensor<[], f64>
  }
  tplan.recipe @recipe.train {batch = 16 : i64, data = [{format = "", name = "data", path = "train.txt", weight = 1.000000e+00 : f64}], lr = [{begin = 0 : i64, end = 20 : i64, from = 0.000000e+00 : f64, shape = "linear", to = 3.000000e-03 : f64}, {begin = 20 : i64, end = 200 : i64, from = 3.000000e-03 : f64, shape = "cosine", to = 3.000000e-04 : f64}], model = {name = "mlp", sizes = {D = 64 : i64, F = 256 : i64, L = 2 : i64, V = 256 : i64}}, optimizer = {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, clip = 0.000000e+00 : f64, decay = 1.000000e-02 : f64, eps = 1.000000e-08 : f64, kind = "adamw", momentum = 0.000000e+00 : f64, no_decay = ["embed.weight", "head.bias", "layers.down.bias", "layers.up.bias"]}, sequence = 64 : i64, steps = 200 : i64}
  tplan.plan @serial {fuse = true, microbatch = 8 : i64, pipeline = "accumulate", precision = "f32", read = "every", recipe = "recipe.train", recompute = {default = "none", rules = []}, reduce = "ordered", stages = [2]}
}


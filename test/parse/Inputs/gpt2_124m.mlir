module {
  tplan.layer @gpt2_block(%arg0: !nn.tensor<[B 512, S 1024, D 768], f32> {nn.name = "x"}) -> !nn.tensor<[B 512, S 1024, D 768], f32> {
    %0 = tplan.call @layernorm as "norm1"(%arg0) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %1 = tplan.call @mha as "attn"(%0) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %2 = tplan.apply "add"(%arg0, %1) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %3 = tplan.call @layernorm as "norm2"(%2) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %4 = tplan.call @mlp as "ffn"(%3) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %5 = tplan.apply "add"(%2, %4) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    tplan.return %5 : !nn.tensor<[B 512, S 1024, D 768], f32>
  }
  tplan.layer @layernorm(%arg0: !nn.tensor<[B 512, S 1024, D 768], f32> {nn.name = "x"}) -> !nn.tensor<[B 512, S 1024, D 768], f32> {
    %0 = tplan.weight "gain" "norm" <"constant", 1.000000e+00 : f64> : <[D 768], f32>
    %1 = tplan.weight "offset" "norm" <"constant", 0.000000e+00 : f64> : <[D 768], f32>
    %2 = tplan.apply "mean"(%arg0) {over = ["D"]} : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024], f32>
    %3 = tplan.apply "sub"(%arg0, %2) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[B 512, S 1024], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %4 = tplan.apply "square"(%3) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %5 = tplan.apply "mean"(%4) {over = ["D"]} : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024], f32>
    %6 = tplan.apply "constant"() {value = 1.000000e-05 : f64} : () -> !nn.tensor<[], f32>
    %7 = tplan.apply "add"(%5, %6) : (!nn.tensor<[B 512, S 1024], f32>, !nn.tensor<[], f32>) -> !nn.tensor<[B 512, S 1024], f32>
    %8 = tplan.apply "rsqrt"(%7) : (!nn.tensor<[B 512, S 1024], f32>) -> !nn.tensor<[B 512, S 1024], f32>
    %9 = tplan.apply "mul"(%3, %8) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[B 512, S 1024], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %10 = tplan.apply "mul"(%9, %0) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %11 = tplan.apply "add"(%10, %1) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    tplan.return %11 : !nn.tensor<[B 512, S 1024, D 768], f32>
  }
  tplan.layer @mha(%arg0: !nn.tensor<[B 512, S 1024, D 768], f32> {nn.name = "x"}) -> !nn.tensor<[B 512, S 1024, D 768], f32> {
    %0 = tplan.weight "q.weight" "linear" <"normal", 2.000000e-02 : f64> : <[H 12, K 64, D 768], f32>
    %1 = tplan.weight "q.bias" "bias" <"constant", 0.000000e+00 : f64> : <[H 12, K 64], f32>
    %2 = tplan.weight "k.weight" "linear" <"normal", 2.000000e-02 : f64> : <[H 12, K 64, D 768], f32>
    %3 = tplan.weight "k.bias" "bias" <"constant", 0.000000e+00 : f64> : <[H 12, K 64], f32>
    %4 = tplan.weight "v.weight" "linear" <"normal", 2.000000e-02 : f64> : <[H 12, K 64, D 768], f32>
    %5 = tplan.weight "v.bias" "bias" <"constant", 0.000000e+00 : f64> : <[H 12, K 64], f32>
    %6 = tplan.weight "out.weight" "linear" <"normal", 2.000000e-02 : f64> : <[D 768, H 12, K 64], f32>
    %7 = tplan.weight "out.bias" "bias" <"constant", 0.000000e+00 : f64> : <[D 768], f32>
    %8 = tplan.apply "contract"(%arg0, %0) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[H 12, K 64, D 768], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %9 = tplan.apply "add"(%8, %1) : (!nn.tensor<[B 512, S 1024, H 12, K 64], f32>, !nn.tensor<[H 12, K 64], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %10 = tplan.apply "contract"(%arg0, %2) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[H 12, K 64, D 768], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %11 = tplan.apply "add"(%10, %3) : (!nn.tensor<[B 512, S 1024, H 12, K 64], f32>, !nn.tensor<[H 12, K 64], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %12 = tplan.apply "contract"(%arg0, %4) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[H 12, K 64, D 768], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %13 = tplan.apply "add"(%12, %5) : (!nn.tensor<[B 512, S 1024, H 12, K 64], f32>, !nn.tensor<[H 12, K 64], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %14 = tplan.apply "attention"(%9, %11, %13) {spec = #nn.attention<query = "S", key = "S", heads = "H", groups = "H", scale = 1.250000e-01, mask = <causal>>} : (!nn.tensor<[B 512, S 1024, H 12, K 64], f32>, !nn.tensor<[B 512, S 1024, H 12, K 64], f32>, !nn.tensor<[B 512, S 1024, H 12, K 64], f32>) -> !nn.tensor<[B 512, S 1024, H 12, K 64], f32>
    %15 = tplan.apply "contract"(%14, %6) : (!nn.tensor<[B 512, S 1024, H 12, K 64], f32>, !nn.tensor<[D 768, H 12, K 64], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %16 = tplan.apply "add"(%15, %7) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %17 = tplan.apply "dropout"(%16) {rate = 1.000000e-01 : f64, site = 1 : i64} : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    tplan.return %17 : !nn.tensor<[B 512, S 1024, D 768], f32>
  }
  tplan.layer @mlp(%arg0: !nn.tensor<[B 512, S 1024, D 768], f32> {nn.name = "x"}) -> !nn.tensor<[B 512, S 1024, D 768], f32> {
    %0 = tplan.weight "up.weight" "linear" <"normal", 2.000000e-02 : f64> : <[F 3072, D 768], f32>
    %1 = tplan.weight "up.bias" "bias" <"constant", 0.000000e+00 : f64> : <[F 3072], f32>
    %2 = tplan.weight "down.weight" "linear" <"normal", 2.000000e-02 : f64> : <[D 768, F 3072], f32>
    %3 = tplan.weight "down.bias" "bias" <"constant", 0.000000e+00 : f64> : <[D 768], f32>
    %4 = tplan.apply "contract"(%arg0, %0) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[F 3072, D 768], f32>) -> !nn.tensor<[B 512, S 1024, F 3072], f32>
    %5 = tplan.apply "add"(%4, %1) : (!nn.tensor<[B 512, S 1024, F 3072], f32>, !nn.tensor<[F 3072], f32>) -> !nn.tensor<[B 512, S 1024, F 3072], f32>
    %6 = tplan.apply "gelu_tanh"(%5) : (!nn.tensor<[B 512, S 1024, F 3072], f32>) -> !nn.tensor<[B 512, S 1024, F 3072], f32>
    %7 = tplan.apply "contract"(%6, %2) : (!nn.tensor<[B 512, S 1024, F 3072], f32>, !nn.tensor<[D 768, F 3072], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %8 = tplan.apply "add"(%7, %3) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %9 = tplan.apply "dropout"(%8) {rate = 1.000000e-01 : f64, site = 2 : i64} : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    tplan.return %9 : !nn.tensor<[B 512, S 1024, D 768], f32>
  }
  tplan.model @gpt2_1 {
    %0 = tplan.input "tokens" shift 0 vocabulary 50257 : <[B 512, S 1024], i32>
    %1 = tplan.input "tokens" shift 1 vocabulary 50257 : <[B 512, S 1024], i32>
    %2 = tplan.weight "embed.weight" "embedding" <"normal", 2.000000e-02 : f64> : <[V 50257, D 768], f32>
    %3 = tplan.weight "place.weight" "embedding" <"normal", 1.000000e-02 : f64> : <[P 1024, D 768], f32>
    %4 = tplan.apply "lookup"(%2, %0) {dim = "V"} : (!nn.tensor<[V 50257, D 768], f32>, !nn.tensor<[B 512, S 1024], i32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %5 = tplan.apply "positions"() {dim = "S"} : () -> !nn.tensor<[S 1024], i32>
    %6 = tplan.apply "lookup"(%3, %5) {dim = "P"} : (!nn.tensor<[P 1024, D 768], f32>, !nn.tensor<[S 1024], i32>) -> !nn.tensor<[S 1024, D 768], f32>
    %7 = tplan.apply "add"(%4, %6) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %8 = tplan.apply "dropout"(%7) {rate = 1.000000e-01 : f64, site = 0 : i64} : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %9 = tplan.for "blocks" runs [[12, 0]] carried(%8) invariant() : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32> {
    ^bb0(%arg0: !nn.tensor<[B 512, S 1024, D 768], f32>):
      %13 = tplan.call @gpt2_block as ""(%arg0) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
      tplan.return %13 : !nn.tensor<[B 512, S 1024, D 768], f32>
    }
    %10 = tplan.call @layernorm as "norm"(%9) : (!nn.tensor<[B 512, S 1024, D 768], f32>) -> !nn.tensor<[B 512, S 1024, D 768], f32>
    %11 = tplan.apply "contract"(%10, %2) : (!nn.tensor<[B 512, S 1024, D 768], f32>, !nn.tensor<[V 50257, D 768], f32>) -> !nn.tensor<[B 512, S 1024, V 50257], f32>
    tplan.output "logits" %11 : <[B 512, S 1024, V 50257], f32>
    %12:2 = tplan.apply "cross_entropy"(%11, %1) {over = "V"} : (!nn.tensor<[B 512, S 1024, V 50257], f32>, !nn.tensor<[B 512, S 1024], i32>) -> (!nn.tensor<[], f64>, !nn.tensor<[], f64>)
    tplan.loss "main" weight 1.000000e+00 %12#0 count %12#1 terms 0 : <[], f64>, !nn.tensor<[], f64>
  }
  tplan.disk "huggingface" {
    tplan.stored ["embed.weight"] as ["transformer.wte.weight", "wte.weight"] layout [["V"], ["D"]]
    tplan.stored ["place.weight"] as ["transformer.wpe.weight", "wpe.weight"] layout [["P"], ["D"]]
    tplan.stored ["blocks.{i}.norm1.gain"] as ["transformer.h.{i}.ln_1.weight", "h.{i}.ln_1.weight"] layout [["D"]]
    tplan.stored ["blocks.{i}.norm1.offset"] as ["transformer.h.{i}.ln_1.bias", "h.{i}.ln_1.bias"] layout [["D"]]
    tplan.stored ["blocks.{i}.attn.q.weight", "blocks.{i}.attn.k.weight", "blocks.{i}.attn.v.weight"] as ["transformer.h.{i}.attn.c_attn.weight", "h.{i}.attn.c_attn.weight"] layout [["D"], [3, "H", "K"]]
    tplan.stored ["blocks.{i}.attn.q.bias", "blocks.{i}.attn.k.bias", "blocks.{i}.attn.v.bias"] as ["transformer.h.{i}.attn.c_attn.bias", "h.{i}.attn.c_attn.bias"] layout [[3, "H", "K"]]
    tplan.stored ["blocks.{i}.attn.out.weight"] as ["transformer.h.{i}.attn.c_proj.weight", "h.{i}.attn.c_proj.weight"] layout [["H", "K"], ["D"]]
    tplan.stored ["blocks.{i}.attn.out.bias"] as ["transformer.h.{i}.attn.c_proj.bias", "h.{i}.attn.c_proj.bias"] layout [["D"]]
    tplan.stored ["blocks.{i}.norm2.gain"] as ["transformer.h.{i}.ln_2.weight", "h.{i}.ln_2.weight"] layout [["D"]]
    tplan.stored ["blocks.{i}.norm2.offset"] as ["transformer.h.{i}.ln_2.bias", "h.{i}.ln_2.bias"] layout [["D"]]
    tplan.stored ["blocks.{i}.ffn.up.weight"] as ["transformer.h.{i}.mlp.c_fc.weight", "h.{i}.mlp.c_fc.weight"] layout [["D"], ["F"]]
    tplan.stored ["blocks.{i}.ffn.up.bias"] as ["transformer.h.{i}.mlp.c_fc.bias", "h.{i}.mlp.c_fc.bias"] layout [["F"]]
    tplan.stored ["blocks.{i}.ffn.down.weight"] as ["transformer.h.{i}.mlp.c_proj.weight", "h.{i}.mlp.c_proj.weight"] layout [["F"], ["D"]]
    tplan.stored ["blocks.{i}.ffn.down.bias"] as ["transformer.h.{i}.mlp.c_proj.bias", "h.{i}.mlp.c_proj.bias"] layout [["D"]]
    tplan.stored ["norm.gain"] as ["transformer.ln_f.weight", "ln_f.weight"] layout [["D"]]
    tplan.stored ["norm.offset"] as ["transformer.ln_f.bias", "ln_f.bias"] layout [["D"]]
    tplan.ignored "transformer.h.{i}.attn.bias"
    tplan.ignored "h.{i}.attn.bias"
    tplan.ignored "transformer.h.{i}.attn.masked_bias"
    tplan.ignored "h.{i}.attn.masked_bias"
    tplan.ignored "lm_head.weight"
    tplan.config ["architectures"] is ["GPT2LMHeadModel"] written
    tplan.config ["model_type"] is "gpt2"
    tplan.config ["vocab_size"] is 50257 : i64
    tplan.config ["n_positions"] is 1024 : i64
    tplan.config ["n_embd"] is 768 : i64
    tplan.config ["n_layer"] is 12 : i64
    tplan.config ["n_head"] is 12 : i64
    tplan.config ["n_inner"] is 3072 : i64 absent 3072 : i64
    tplan.config ["activation_function"] is "gelu_new"
    tplan.config ["layer_norm_epsilon"] is 1.000000e-05 : f64
    tplan.config ["scale_attn_weights"] is true absent true
    tplan.config ["scale_attn_by_inverse_layer_idx"] is false absent false
    tplan.config ["add_cross_attention"] is false absent false
    tplan.config ["tie_word_embeddings"] is true absent true
    tplan.config ["embd_pdrop"] is 1.000000e-01 : f64 written
    tplan.config ["resid_pdrop"] is 1.000000e-01 : f64 written
    tplan.config ["attn_pdrop"] is 0 : i64 written
  }
  tplan.recipe @recipe.train {batch = 512 : i64, data = [{format = "u16", name = "data", path = "openwebtext/*.bin", weight = 1.000000e+00 : f64}], eval = {every = 250 : i64, format = "u16", path = "openwebtext_val.bin", tokens = 1000000 : i64}, lr = [{begin = 0 : i64, end = 700 : i64, from = 0.000000e+00 : f64, shape = "linear", to = 6.000000e-04 : f64}, {begin = 700 : i64, end = 19074 : i64, from = 6.000000e-04 : f64, shape = "cosine", to = 6.000000e-05 : f64}], model = {name = "gpt2", sizes = {D = 768 : i64, F = 3072 : i64, H = 12 : i64, K = 64 : i64, L = 12 : i64, P = 1024 : i64, V = 50257 : i64, eps = 1.000000e-05 : f64, rate = 1.000000e-01 : f64}}, optimizer = {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, clip = 1.000000e+00 : f64, decay = 1.000000e-01 : f64, eps = 1.000000e-08 : f64, kind = "adamw", momentum = 0.000000e+00 : f64, no_decay = ["blocks.attn.k.bias", "blocks.attn.out.bias", "blocks.attn.q.bias", "blocks.attn.v.bias", "blocks.ffn.down.bias", "blocks.ffn.up.bias", "blocks.norm1.gain", "blocks.norm1.offset", "blocks.norm2.gain", "blocks.norm2.offset", "norm.gain", "norm.offset"]}, save = {every = 1000 : i64, keep = 3 : i64, path = ""}, sequence = 1024 : i64, steps = 19074 : i64}
  tplan.plan @gpt2 {fuse = true, microbatch = 4 : i64, pipeline = "accumulate", precision = "f32", read = "every", recipe = "recipe.train", recompute = {default = "none", rules = [{first = 0 : i64, last = 5 : i64, policy = "full"}]}, reduce = "ordered", stages = [12]}
}


module {
  tplan.layer @block(%arg0: !nn.tensor<[B 8, S 256, D 192], f32> {nn.name = "x"}) -> !nn.tensor<[B 8, S 256, D 192], f32> {
    %0 = tplan.call @rmsnorm as "norm1"(%arg0) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %1 = tplan.call @gqa as "attn"(%0) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %2 = tplan.apply "add"(%arg0, %1) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %3 = tplan.call @rmsnorm as "norm2"(%2) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %4 = tplan.call @swiglu as "ffn"(%3) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %5 = tplan.apply "add"(%2, %4) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    tplan.return %5 : !nn.tensor<[B 8, S 256, D 192], f32>
  }
  tplan.layer @rmsnorm(%arg0: !nn.tensor<[B 8, S 256, D 192], f32> {nn.name = "x"}) -> !nn.tensor<[B 8, S 256, D 192], f32> {
    %0 = tplan.weight "gain" "norm" <"constant", 1.000000e+00 : f64> : <[D 192], f32>
    %1 = tplan.apply "square"(%arg0) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %2 = tplan.apply "mean"(%1) {over = ["D"]} : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256], f32>
    %3 = tplan.apply "constant"() {value = 1.000000e-05 : f64} : () -> !nn.tensor<[], f32>
    %4 = tplan.apply "add"(%2, %3) : (!nn.tensor<[B 8, S 256], f32>, !nn.tensor<[], f32>) -> !nn.tensor<[B 8, S 256], f32>
    %5 = tplan.apply "rsqrt"(%4) : (!nn.tensor<[B 8, S 256], f32>) -> !nn.tensor<[B 8, S 256], f32>
    %6 = tplan.apply "mul"(%arg0, %5) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[B 8, S 256], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %7 = tplan.apply "mul"(%6, %0) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    tplan.return %7 : !nn.tensor<[B 8, S 256, D 192], f32>
  }
  tplan.layer @gqa(%arg0: !nn.tensor<[B 8, S 256, D 192], f32> {nn.name = "x"}) -> !nn.tensor<[B 8, S 256, D 192], f32> {
    %0 = tplan.weight "q.weight" "linear" <"normal", 2.000000e-02 : f64> : <[H 6, K 32, D 192], f32>
    %1 = tplan.weight "k.weight" "linear" <"normal", 2.000000e-02 : f64> : <[G 3, K 32, D 192], f32>
    %2 = tplan.weight "v.weight" "linear" <"normal", 2.000000e-02 : f64> : <[G 3, K 32, D 192], f32>
    %3 = tplan.weight "out.weight" "linear" <"normal", 2.000000e-02 : f64> : <[D 192, H 6, K 32], f32>
    %4 = tplan.apply "contract"(%arg0, %0) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[H 6, K 32, D 192], f32>) -> !nn.tensor<[B 8, S 256, H 6, K 32], f32>
    %5 = tplan.apply "rope"(%4) {base = 1.000000e+04 : f64, over = "K", positions = "S"} : (!nn.tensor<[B 8, S 256, H 6, K 32], f32>) -> !nn.tensor<[B 8, S 256, H 6, K 32], f32>
    %6 = tplan.apply "contract"(%arg0, %1) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[G 3, K 32, D 192], f32>) -> !nn.tensor<[B 8, S 256, G 3, K 32], f32>
    %7 = tplan.apply "rope"(%6) {base = 1.000000e+04 : f64, over = "K", positions = "S"} : (!nn.tensor<[B 8, S 256, G 3, K 32], f32>) -> !nn.tensor<[B 8, S 256, G 3, K 32], f32>
    %8 = tplan.apply "contract"(%arg0, %2) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[G 3, K 32, D 192], f32>) -> !nn.tensor<[B 8, S 256, G 3, K 32], f32>
    %9 = tplan.apply "attention"(%5, %7, %8) {spec = #nn.attention<query = "S", key = "S", heads = "H", groups = "G", scale = 0.17677669529663687, mask = <causal>>} : (!nn.tensor<[B 8, S 256, H 6, K 32], f32>, !nn.tensor<[B 8, S 256, G 3, K 32], f32>, !nn.tensor<[B 8, S 256, G 3, K 32], f32>) -> !nn.tensor<[B 8, S 256, H 6, K 32], f32>
    %10 = tplan.apply "contract"(%9, %3) : (!nn.tensor<[B 8, S 256, H 6, K 32], f32>, !nn.tensor<[D 192, H 6, K 32], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    tplan.return %10 : !nn.tensor<[B 8, S 256, D 192], f32>
  }
  tplan.layer @swiglu(%arg0: !nn.tensor<[B 8, S 256, D 192], f32> {nn.name = "x"}) -> !nn.tensor<[B 8, S 256, D 192], f32> {
    %0 = tplan.weight "gate.weight" "linear" <"normal", 2.000000e-02 : f64> : <[F 512, D 192], f32>
    %1 = tplan.weight "up.weight" "linear" <"normal", 2.000000e-02 : f64> : <[F 512, D 192], f32>
    %2 = tplan.weight "down.weight" "linear" <"normal", 2.000000e-02 : f64> : <[D 192, F 512], f32>
    %3 = tplan.apply "contract"(%arg0, %0) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[F 512, D 192], f32>) -> !nn.tensor<[B 8, S 256, F 512], f32>
    %4 = tplan.apply "silu"(%3) : (!nn.tensor<[B 8, S 256, F 512], f32>) -> !nn.tensor<[B 8, S 256, F 512], f32>
    %5 = tplan.apply "contract"(%arg0, %1) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[F 512, D 192], f32>) -> !nn.tensor<[B 8, S 256, F 512], f32>
    %6 = tplan.apply "mul"(%4, %5) : (!nn.tensor<[B 8, S 256, F 512], f32>, !nn.tensor<[B 8, S 256, F 512], f32>) -> !nn.tensor<[B 8, S 256, F 512], f32>
    %7 = tplan.apply "contract"(%6, %2) : (!nn.tensor<[B 8, S 256, F 512], f32>, !nn.tensor<[D 192, F 512], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    tplan.return %7 : !nn.tensor<[B 8, S 256, D 192], f32>
  }
  tplan.model @llama {
    %0 = tplan.input "tokens" shift 0 vocabulary 256 : <[B 8, S 256], i32>
    %1 = tplan.input "tokens" shift 1 vocabulary 256 : <[B 8, S 256], i32>
    %2 = tplan.weight "embed.weight" "embedding" <"normal", 2.000000e-02 : f64> : <[V 256, D 192], f32>
    %3 = tplan.weight "head.weight" "linear" <"normal", 2.000000e-02 : f64> : <[V 256, D 192], f32>
    %4 = tplan.apply "lookup"(%2, %0) {dim = "V"} : (!nn.tensor<[V 256, D 192], f32>, !nn.tensor<[B 8, S 256], i32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %5 = tplan.for "blocks" runs [[6, 0]] carried(%4) invariant() : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32> {
    ^bb0(%arg0: !nn.tensor<[B 8, S 256, D 192], f32>):
      %9 = tplan.call @block as ""(%arg0) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
      tplan.return %9 : !nn.tensor<[B 8, S 256, D 192], f32>
    }
    %6 = tplan.call @rmsnorm as "norm"(%5) : (!nn.tensor<[B 8, S 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, D 192], f32>
    %7 = tplan.apply "contract"(%6, %3) : (!nn.tensor<[B 8, S 256, D 192], f32>, !nn.tensor<[V 256, D 192], f32>) -> !nn.tensor<[B 8, S 256, V 256], f32>
    tplan.output "logits" %7 : <[B 8, S 256, V 256], f32>
    %8:2 = tplan.apply "cross_entropy"(%7, %1) {over = "V"} : (!nn.tensor<[B 8, S 256, V 256], f32>, !nn.tensor<[B 8, S 256], i32>) -> (!nn.tensor<[], f64>, !nn.tensor<[], f64>)
    tplan.loss "main" weight 1.000000e+00 %8#0 count %8#1 terms 0 : <[], f64>, !nn.tensor<[], f64>
  }
  tplan.disk "huggingface" {
    tplan.stored ["embed.weight"] as ["model.embed_tokens.weight"] layout [["V"], ["D"]]
    tplan.stored ["blocks.{i}.norm1.gain"] as ["model.layers.{i}.input_layernorm.weight"] layout [["D"]]
    tplan.stored ["blocks.{i}.attn.q.weight"] as ["model.layers.{i}.self_attn.q_proj.weight"] layout [["H", "K"], ["D"]]
    tplan.stored ["blocks.{i}.attn.k.weight"] as ["model.layers.{i}.self_attn.k_proj.weight"] layout [["G", "K"], ["D"]]
    tplan.stored ["blocks.{i}.attn.v.weight"] as ["model.layers.{i}.self_attn.v_proj.weight"] layout [["G", "K"], ["D"]]
    tplan.stored ["blocks.{i}.attn.out.weight"] as ["model.layers.{i}.self_attn.o_proj.weight"] layout [["D"], ["H", "K"]]
    tplan.stored ["blocks.{i}.norm2.gain"] as ["model.layers.{i}.post_attention_layernorm.weight"] layout [["D"]]
    tplan.stored ["blocks.{i}.ffn.gate.weight"] as ["model.layers.{i}.mlp.gate_proj.weight"] layout [["F"], ["D"]]
    tplan.stored ["blocks.{i}.ffn.up.weight"] as ["model.layers.{i}.mlp.up_proj.weight"] layout [["F"], ["D"]]
    tplan.stored ["blocks.{i}.ffn.down.weight"] as ["model.layers.{i}.mlp.down_proj.weight"] layout [["D"], ["F"]]
    tplan.stored ["norm.gain"] as ["model.norm.weight"] layout [["D"]]
    tplan.stored ["head.weight"] as ["lm_head.weight"] layout [["V"], ["D"]]
    tplan.ignored "model.layers.{i}.self_attn.rotary_emb.inv_freq"
    tplan.config ["architectures"] is ["LlamaForCausalLM"] written
    tplan.config ["model_type"] is "llama"
    tplan.config ["vocab_size"] is 256 : i64
    tplan.config ["hidden_size"] is 192 : i64
    tplan.config ["num_hidden_layers"] is 6 : i64
    tplan.config ["num_attention_heads"] is 6 : i64
    tplan.config ["num_key_value_heads"] is 3 : i64 absent 6 : i64
    tplan.config ["head_dim"] is 32 : i64 absent 32 : i64
    tplan.config ["intermediate_size"] is 512 : i64
    tplan.config ["hidden_act"] is "silu"
    tplan.config ["rms_norm_eps"] is 1.000000e-05 : f64
    tplan.config ["rope_theta", "rope_parameters.rope_theta"] is 10000 : i64 absent 10000 : i64
    tplan.config ["rope_scaling"] is unit absent unit
    tplan.config ["rope_parameters.rope_type"] is "default" absent "default"
    tplan.config ["attention_bias"] is false absent false
    tplan.config ["mlp_bias"] is false absent false
    tplan.config ["tie_word_embeddings"] is false absent false
    tplan.config ["max_position_embeddings"] is 256 : i64 written
  }
  tplan.recipe @recipe.train {batch = 8 : i64, data = [{format = "", name = "data", path = "README.md", weight = 1.000000e+00 : f64}], eval = {every = 500 : i64, format = "", path = "CONTRIBUTING.md", tokens = 0 : i64}, lr = [{begin = 0 : i64, end = 100 : i64, from = 0.000000e+00 : f64, shape = "linear", to = 3.000000e-03 : f64}, {begin = 100 : i64, end = 3000 : i64, from = 3.000000e-03 : f64, shape = "cosine", to = 3.000000e-04 : f64}], model = {name = "llama", sizes = {D = 192 : i64, F = 512 : i64, G = 3 : i64, H = 6 : i64, K = 32 : i64, L = 6 : i64, V = 256 : i64, base = 10000 : i64, eps = 1.000000e-05 : f64}}, optimizer = {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, clip = 1.000000e+00 : f64, decay = 1.000000e-01 : f64, eps = 1.000000e-08 : f64, kind = "adamw", momentum = 0.000000e+00 : f64, no_decay = ["blocks.norm1.gain", "blocks.norm2.gain", "embed.weight", "norm.gain"]}, sequence = 256 : i64, steps = 3000 : i64}
  tplan.plan @tiny {fuse = true, microbatch = 8 : i64, pipeline = "accumulate", precision = "f32", read = "every", recipe = "recipe.train", recompute = {default = "none", rules = []}, reduce = "ordered", stages = [6]}
}


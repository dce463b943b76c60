"""Makes the models that tplan reads and writes in test/huggingface/run, with transformers.

Run by hand, never by a test:  python make_models.py  (needs torch, transformers, safetensors).
Writes beside itself tokens.u16, the ids of one row, and a folder for each model, as transformers
saves it, with logits.safetensors: those of the row, computed in f32:
  llama          grouped heads, an untied head, f32, one file
  llama-sharded  the same weights rounded to bf16, in three files and an index; a config.json as
                 transformers 4 wrote it
  llama-tied     the table is the head
  gpt2           f32
  gpt2-bare      f16, as OpenAI's own checkpoint: names without `transformer.`, and buffers
The sizes divide no vector and no tile. Weights are larger than a start would have them, so that
scores are no constant and the angles of positions matter.
"""
import json
import pathlib
import shutil

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).parent
S, V, D, F = 16, 61, 24, 40
OFTEN = dict(vocab_size=V, bos_token_id=1, eos_token_id=2, pad_token_id=None)


def llama(tied):
    return LlamaForCausalLM(LlamaConfig(hidden_size=D, intermediate_size=F, num_hidden_layers=2, num_attention_heads=4,
                                        num_key_value_heads=2, head_dim=6, rms_norm_eps=1e-5, rope_theta=500000.0,
                                        tie_word_embeddings=tied, max_position_embeddings=64, initializer_range=0.3,
                                        **OFTEN))


def gpt2():
    return GPT2LMHeadModel(GPT2Config(n_positions=S, n_embd=D, n_layer=2, n_head=4, n_inner=F, initializer_range=0.3,
                                      **OFTEN))


def randomise(model):
    """Norms and biases, which begin as constants, would hide a mistake in them."""
    for name, weight in model.named_parameters():
        if weight.ndim == 1:
            with torch.no_grad():
                weight.add_(0.3 * torch.randn_like(weight))
    return model


def save(model, name, tokens, dtype=torch.float32, **how):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model.to(dtype).save_pretrained(folder, **how)
    # Read again: a model that was rounded has rounded more than its weights.
    model = type(model).from_pretrained(folder, dtype=torch.float32)
    for path in folder.glob("*.safetensors"):
        path.chmod(0o644)
    with torch.no_grad():
        logits = model.eval()(tokens).logits[0]
    save_file({"logits": logits.contiguous()}, folder / "logits.safetensors")
    print(name, "logits up to", logits.abs().max().item())
    return folder


def as_before(folder):
    """config.json in the spelling of transformers 4."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["rope_scaling"] = None
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def as_openai(folder):
    """The names without prefix, and buffers that no model has as weights any more."""
    path = folder / "model.safetensors"
    tensors = {name.removeprefix("transformer."): t for name, t in load_file(path).items()}
    for i in range(2):
        tensors[f"h.{i}.attn.bias"] = torch.ones(S, S, dtype=torch.uint8).tril().view(1, 1, S, S)
        tensors[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    for key in "tie_word_embeddings", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "dtype", "add_cross_attention":
        config.pop(key, None)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def main():
    torch.manual_seed(0)
    row = np.random.default_rng(0).integers(0, V, S).astype("<u2")
    (HERE / "tokens.u16").write_bytes(row.tobytes())
    tokens = torch.tensor(row.astype(np.int64))[None]
    model = randomise(llama(tied=False))
    save(model, "llama", tokens)
    as_before(save(model, "llama-sharded", tokens, torch.bfloat16, max_shard_size="10KB"))
    save(randomise(llama(tied=True)), "llama-tied", tokens)
    model = randomise(gpt2())
    save(model, "gpt2", tokens)
    as_openai(save(model, "gpt2-bare", tokens, torch.float16))


if __name__ == "__main__":
    main()

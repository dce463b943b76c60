"""Makes the stored numbers that tplan's training is compared with, in PyTorch.

Run by hand, never by a test:  python make_oracle.py  (needs torch, numpy, safetensors).
Writes beside itself, for each of llama, gpt2 and mlp:
  NAME.weights.safetensors    initial weights, f32, under tplan's names and shapes
  NAME.gradients.safetensors  gradients of the first step before clipping, f64
  NAME.json                   sizes, recipe, and 20 losses and gradient norms in f64, in f32 and in bf16
  NAME.bf16.safetensors       gradients of the first step in f64, of weights that are bf16 numbers
and tokens.u16, the text of all three, which holds each row once: `--data u16:tokens.u16
--seed 1` reads the rows in the order that is used here.

The models are written out in elementary operations here, not taken from a library, so
that each formula can be read beside tplan's: the sizes divide no vector and no tile.

In bf16, weights are rounded first: f64 and bf16 begin from the same numbers. Master weights,
the optimizer and the loss are f32, working weights and activations bf16, and no autocast
chooses. NAME.json has how far each gradient is from f64.
"""
import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as fn
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from philox import philox

SIZES = dict(L=2, D=24, H=4, G=2, K=6, F=40, V=61, S=17)
STEPS, BATCH, MICROBATCH = 20, 4, 2
RECIPE = dict(optimizer="adamw", betas=[0.9, 0.95], eps=1e-8, decay=0.1,
              no_decay=["norms", "biases", "embeddings"], clip=1.0, lr=1e-2, steps=STEPS,
              batch=BATCH, microbatch=MICROBATCH)
L, D, H, G, K, F, V, S = (SIZES[k] for k in "LDHGKFVS")


def uniform(key, count):
    """`count` numbers in [-1, 1), functions of (key, index) alone: splitmix64."""
    mask = (1 << 64) - 1
    out = np.empty(count)
    for i in range(count):
        x = ((key << 40) + i + 1) * 0x9E3779B97F4A7C15 & mask
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
        out[i] = ((x ^ (x >> 31)) >> 11) / 2**52 - 1
    return out


# Kind -> (centre, half width of the uniform start); linear weights by their fan-in.
START = {"norm": (1.0, 0.1), "bias": (0.0, 0.1), "embedding": (0.0, 0.5), "linear": (0.0, None)}


class Weights(dict):
    """Name -> tensor, in the order of creation, which is the key of the start values."""

    def __init__(self):
        super().__init__()
        self.kinds = {}

    def add(self, name, kind, *shape, fan_in=D, centre=None):
        usual, width = START[kind]
        centre = usual if centre is None else centre
        width = width or math.sqrt(3 / fan_in)
        values = centre + width * uniform(len(self) + 1, math.prod(shape)).reshape(shape)
        self[name] = torch.tensor(values.astype(np.float32))
        self.kinds[name] = kind


def linear(x, w, pre, over=1):
    """Contracts the last `over` dims of x with those of the weight; adds the bias if there is one."""
    weight = w[pre + ".weight"]
    y = torch.tensordot(x, weight, dims=(list(range(x.ndim - over, x.ndim)),
                                         list(range(weight.ndim - over, weight.ndim))))
    return y + w[pre + ".bias"] if pre + ".bias" in w else y


def rmsnorm(x, w, pre):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w[pre + ".gain"]


def layernorm(x, w, pre):
    centred = x - x.mean(-1, keepdim=True)
    return (centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
            * w[pre + ".gain"] + w[pre + ".offset"])


def rope(x):
    """Half-split rotary embedding of [B, S, heads, K], base 10000; angles in f64."""
    n = x.shape[-1] // 2
    frequency = 10000.0 ** (-torch.arange(n, dtype=torch.float64) / n)
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequency
    cos = torch.cat([angle.cos(), angle.cos()], -1).to(x.dtype)[:, None]
    sin = torch.cat([angle.sin(), angle.sin()], -1).to(x.dtype)[:, None]
    return x * cos + torch.cat([-x[..., n:], x[..., :n]], -1) * sin


def attention(q, k, v):
    """Causal softmax attention of [B, S, H, K] over [B, S, groups, K]."""
    repeat = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(repeat, 2), v.repeat_interleave(repeat, 2)
    scores = torch.einsum("bshk,bthk->bhst", q, k) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.einsum("bhst,bthk->bshk", scores.masked_fill(hidden, -math.inf).softmax(-1), v)


def llama_weights():
    w = Weights()
    w.add("embed.weight", "embedding", V, D)
    for i in range(L):
        p = f"blocks.{i}."
        w.add(p + "attn.q.weight", "linear", H, K, D)
        w.add(p + "attn.k.weight", "linear", G, K, D)
        w.add(p + "attn.v.weight", "linear", G, K, D)
        w.add(p + "attn.out.weight", "linear", D, H, K, fan_in=H * K)
        w.add(p + "ffn.gate.weight", "linear", F, D)
        w.add(p + "ffn.up.weight", "linear", F, D)
        w.add(p + "ffn.down.weight", "linear", D, F, fan_in=F)
        w.add(p + "norm1.gain", "norm", D)
        w.add(p + "norm2.gain", "norm", D)
    w.add("norm.gain", "norm", D)
    w.add("head.weight", "linear", V, D)
    return w


def llama(w, tokens):
    x = w["embed.weight"][tokens]
    for i in range(L):
        p = f"blocks.{i}."
        h = rmsnorm(x, w, p + "norm1")
        q, k, v = (linear(h, w, p + "attn." + part) for part in "qkv")
        x = x + linear(attention(rope(q), rope(k), v), w, p + "attn.out", over=2)
        h = rmsnorm(x, w, p + "norm2")
        x = x + linear(fn.silu(linear(h, w, p + "ffn.gate")) * linear(h, w, p + "ffn.up"), w,
                       p + "ffn.down")
    return linear(rmsnorm(x, w, "norm"), w, "head")


def gpt2_weights():
    w = Weights()
    w.add("embed.weight", "embedding", V, D)
    w.add("place.weight", "embedding", S, D)
    for i in range(L):
        p = f"blocks.{i}."
        for part in "qkv":
            w.add(f"{p}attn.{part}.weight", "linear", H, K, D)
            w.add(f"{p}attn.{part}.bias", "bias", H, K)
        w.add(p + "attn.out.weight", "linear", D, H, K, fan_in=H * K)
        w.add(p + "attn.out.bias", "bias", D)
        w.add(p + "ffn.up.weight", "linear", F, D)
        w.add(p + "ffn.up.bias", "bias", F)
        w.add(p + "ffn.down.weight", "linear", D, F, fan_in=F)
        w.add(p + "ffn.down.bias", "bias", D)
        for norm in "norm1", "norm2":
            w.add(f"{p}{norm}.gain", "norm", D)
            w.add(f"{p}{norm}.offset", "norm", D, centre=0.0)
    w.add("norm.gain", "norm", D)
    w.add("norm.offset", "norm", D, centre=0.0)
    return w


def gpt2(w, tokens):
    x = w["embed.weight"][tokens] + w["place.weight"]
    for i in range(L):
        p = f"blocks.{i}."
        h = layernorm(x, w, p + "norm1")
        q, k, v = (linear(h, w, p + "attn." + part) for part in "qkv")
        x = x + linear(attention(q, k, v), w, p + "attn.out", over=2)
        h = linear(layernorm(x, w, p + "norm2"), w, p + "ffn.up")
        x = x + linear(fn.gelu(h, approximate="tanh"), w, p + "ffn.down")
    return layernorm(x, w, "norm") @ w["embed.weight"].T


def mlp_weights():
    w = Weights()
    w.add("embed.weight", "embedding", V, D)
    w.add("hidden1.weight", "linear", F, D)
    w.add("hidden1.bias", "bias", F)
    w.add("hidden2.weight", "linear", D, F, fan_in=F)
    w.add("hidden2.bias", "bias", D)
    w.add("head.weight", "linear", V, D)
    return w


def mlp(w, tokens):
    x = w["embed.weight"][tokens]
    x = linear(fn.relu(linear(x, w, "hidden1")), w, "hidden2")
    return linear(fn.gelu(x), w, "head")


MODELS = {"llama": (llama_weights, llama), "gpt2": (gpt2_weights, gpt2), "mlp": (mlp_weights, mlp)}


def make_tokens():
    """A stream that can be learned a little: each token often follows from the one before."""
    count = STEPS * BATCH * S + 1
    noise = uniform(0, count)
    tokens = ((noise + 1) / 2 * V).astype(np.uint16)
    for t in range(1, count):
        if noise[t] < 0.2:
            tokens[t] = (3 * int(tokens[t - 1]) + 7) % V
    return tokens


def permutation(seed, size):
    """The order in which the runtime reads the windows of its first epoch (runtime/support/random.h)."""
    half = 1
    while 1 << 2 * half < size:
        half += 1
    mask = (1 << half) - 1
    for index in range(size):
        while True:
            left, right = index >> half, index & mask
            for step in range(4):
                left, right = right, left ^ (philox(seed, (1 << 64) - 1, step << 32 | right)[0] & mask)
            index = left << half | right
            if index < size:
                break
        yield index


def make_rows(tokens):
    """[step, sequence, S + 1]: windows of S + 1 tokens, S apart, in the order of seed 1."""
    order = list(permutation(1, STEPS * BATCH))
    assert sorted(order) == list(range(STEPS * BATCH))
    rows = np.stack([tokens[at * S:at * S + S + 1] for at in order])
    return rows.reshape(STEPS, BATCH, S + 1)


def train(start, forward, rows, dtype):
    """Losses, gradient norms, and gradients of the first step; the optimizer is never narrower than f32."""
    master = torch.float32 if dtype == torch.bfloat16 else dtype
    w = {name: t.to(master, copy=True).requires_grad_() for name, t in start.items()}
    plain = [t for name, t in w.items() if start.kinds[name] != "linear"]
    decayed = [t for name, t in w.items() if start.kinds[name] == "linear"]
    optimizer = torch.optim.AdamW(
        [dict(params=decayed, weight_decay=RECIPE["decay"]), dict(params=plain, weight_decay=0.0)],
        lr=RECIPE["lr"], betas=RECIPE["betas"], eps=RECIPE["eps"], foreach=False)
    losses, norms, gradients = [], [], {}
    for batch in torch.tensor(rows.astype(np.int64)):
        optimizer.zero_grad()
        total = 0.0
        for part in batch.split(MICROBATCH):
            logits = forward({name: t.to(dtype) for name, t in w.items()}, part[:, :-1]).to(master)
            loss = fn.cross_entropy(logits.reshape(-1, V), part[:, 1:].reshape(-1), reduction="sum")
            loss = loss / (BATCH * S)
            loss.backward()
            total += loss.item()
        if not gradients:
            gradients = {name: t.grad.double().numpy().copy() for name, t in w.items()}
        norm = torch.nn.utils.clip_grad_norm_(w.values(), RECIPE["clip"], foreach=False)
        optimizer.step()
        losses.append(total)
        norms.append(norm.item())
    return losses, norms, gradients


def in_bf16(name, start, forward, rows):
    """What PyTorch makes of weights that are bf16 numbers, and how far from f64; writes the gradients in f64."""
    for key, t in start.items():
        start[key] = t.detach().bfloat16().float()
    losses, norms, gradients = train(start, forward, rows, torch.float64)
    found_losses, found_norms, found = train(start, forward, rows, torch.bfloat16)
    save_file(gradients, HERE / f"{name}.bf16.safetensors")
    norm = np.linalg.norm
    total = norm([norm(g) for g in gradients.values()])
    apart = {key: norm(found[key] - g) for key, g in gradients.items()}
    # As test/oracle/against_torch.py measures.
    far = {key: float(apart[key] / max(norm(g), 1e-3 * total)) for key, g in gradients.items()}
    together = float(norm(list(apart.values())) / total)
    return dict(loss=losses, grad_norm=norms,
                torch=dict(loss=found_losses, grad_norm=found_norms, far=far, together=together))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokens = make_tokens()
    (HERE / "tokens.u16").write_bytes(tokens.astype("<u2").tobytes())
    rows = make_rows(tokens)
    for name, (make, forward) in MODELS.items():
        start = make()
        save_file({k: t.numpy() for k, t in start.items()}, HERE / f"{name}.weights.safetensors")
        record = dict(torch=torch.__version__, sizes=SIZES, recipe=RECIPE, kinds=start.kinds)
        for label, dtype in ("f64", torch.float64), ("f32", torch.float32):
            losses, norms, gradients = train(start, forward, rows, dtype)
            record[label] = dict(loss=losses, grad_norm=norms)
            if label == "f64":
                save_file(gradients, HERE / f"{name}.gradients.safetensors")
                record["gradient_norms"] = {k: float(np.linalg.norm(g)) for k, g in gradients.items()}
        # The rows of softmax do not change when every score of a row moves by one number.
        record["zero_gradients"] = [k for k in start if k.endswith("attn.k.bias")]
        record["bf16"] = in_bf16(name, start, forward, rows)
        (HERE / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        f64, f32 = record["f64"]["loss"], record["f32"]["loss"]
        print(f"{name}: {f64[0]:.6f} -> {f64[-1]:.6f}, f32 differs by at most "
              f"{max(abs(a - b) for a, b in zip(f64, f32)):.1e}, first norm {record['f64']['grad_norm'][0]:.4f}")


if __name__ == "__main__":
    main()

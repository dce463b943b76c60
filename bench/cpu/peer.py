"""The peer of bench/cpu: a Llama trained by PyTorch, eager or compiled.

peer.py [--compile] [--bf16] [--threads N] [--warmup N] [--steps N]; --bf16 is autocast, the weights
stay f32. Prints one line of JSON: tokens_per_second (of each step) and peak_mib: peak resident
memory of the steps after the warm-up, less what the process held once the library was loaded.
"""
import argparse
import json
import math
import os
import pathlib
import time


def resident(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


parser = argparse.ArgumentParser()
parser.add_argument("--compile", action="store_true")
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--warmup", type=int, default=1)
parser.add_argument("--steps", type=int, default=3)
options = parser.parse_args()

import torch
import torch.nn.functional as fn
from torch import nn

torch.set_num_threads(options.threads)
torch.manual_seed(1)
loaded = resident("VmRSS")

# The sizes of bench/cpu/step.tplan.
L, D, H, G, F, V, B, S = 8, 512, 8, 4, 1408, 8192, 8, 512
K = D // H


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(D, eps=1e-5), nn.RMSNorm(D, eps=1e-5)
        self.q, self.out = nn.Linear(D, H * K, bias=False), nn.Linear(H * K, D, bias=False)
        self.k, self.v = nn.Linear(D, G * K, bias=False), nn.Linear(D, G * K, bias=False)
        self.gate, self.up = nn.Linear(D, F, bias=False), nn.Linear(D, F, bias=False)
        self.down = nn.Linear(F, D, bias=False)

    def forward(self, x, cos, sin):
        def heads(y, n):
            return y.view(B, S, n, K).transpose(1, 2)

        def rope(y):
            a, b = y.chunk(2, -1)
            return y * cos + torch.cat([-b, a], -1) * sin

        h = self.norm1(x)
        q, k, v = rope(heads(self.q(h), H)), rope(heads(self.k(h), G)), heads(self.v(h), G)
        y = fn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, S, H * K))
        h = self.norm2(x)
        return x + self.down(fn.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(V, D), nn.Linear(D, V, bias=False)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), nn.RMSNorm(D, eps=1e-5)
        angle = torch.arange(S)[:, None] * 10000.0 ** (-torch.arange(K // 2) / (K // 2))
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1))

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return fn.cross_entropy(self.head(self.norm(x)).view(-1, V), targets.view(-1))


model = Llama()
for weight in model.parameters():
    if weight.ndim > 1:
        nn.init.normal_(weight, std=0.02)
loss_of = torch.compile(model) if options.compile else model
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1,
                              fused=True)
speeds = []
for step in range(options.warmup + options.steps):
    if step == options.warmup:
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins again
    rows = torch.randint(V, (B, S + 1))
    begin = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=options.bf16):
        loss = loss_of(rows[:, :-1], rows[:, 1:].contiguous())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step >= options.warmup:
        speeds.append(B * S / (time.perf_counter() - begin))
assert math.isfinite(loss.item())
print(json.dumps(dict(tokens_per_second=speeds, peak_mib=resident("VmHWM") - loaded)))

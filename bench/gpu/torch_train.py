"""A training in PyTorch, for bench/gpu: the same model, batch, optimizer and steps as tplan's.

    torch_train.py MODEL VARIANT MICROBATCH [--tiny]

VARIANT: compiled (torch.compile), compiled-chunked (and the loss in chunks, so that no logits of all tokens are kept),
transformers (GPT2LMHeadModel as it comes, eager). Weights and the optimizer are f32, autocast to bf16, attention is
SDPA, AdamW is fused, gradients are clipped to 1. The last line is one JSON object: tokens per second, and the most
bytes that PyTorch's allocator has given out. Without torch.cuda it trains on the CPU, eagerly: a test of this file.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as fn
from torch.utils.checkpoint import checkpoint

import models

CHUNKS = 8
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return fn.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), 1e-5)


def rope(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Attention(nn.Module):
    def __init__(self, m, bias):
        super().__init__()
        self.m = m
        self.q = nn.Linear(m.D, m.H * m.K, bias=bias)
        self.kv = nn.Linear(m.D, 2 * m.G * m.K, bias=bias)
        self.out = nn.Linear(m.H * m.K, m.D, bias=bias)

    def forward(self, x, turn):
        m, (batch, length, _) = self.m, x.shape
        q = self.q(x).view(batch, length, m.H, m.K).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, m.G, m.K).permute(2, 0, 3, 1, 4)
        if turn is not None:
            q, k = rope(q, *turn), rope(k, *turn)
        y = fn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=m.G != m.H)
        return self.out(y.transpose(1, 2).reshape(batch, length, m.H * m.K))


class Gated(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.gate, self.up = nn.Linear(m.D, m.F, bias=False), nn.Linear(m.D, m.F, bias=False)
        self.down = nn.Linear(m.F, m.D, bias=False)

    def forward(self, x):
        return self.down(fn.silu(self.gate(x)) * self.up(x))


class Plain(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.up, self.down = nn.Linear(m.D, m.F), nn.Linear(m.F, m.D)

    def forward(self, x):
        return self.down(fn.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        norm = RMSNorm if m.norm == "rms" else nn.LayerNorm
        self.norm1, self.norm2 = norm(m.D), norm(m.D)
        self.attention = Attention(m, bias=m.norm != "rms")
        self.ffn = Gated(m) if m.norm == "rms" else Plain(m)

    def forward(self, x, turn):
        x = x + self.attention(self.norm1(x), turn)
        return x + self.ffn(self.norm2(x))


class Transformer(nn.Module):
    """Llama, or GPT-2 where positions are learned and the head is the table."""

    def __init__(self, m, chunks):
        super().__init__()
        self.m, self.chunks = m, chunks
        self.embed = nn.Embedding(m.V, m.D)
        self.place = nn.Embedding(m.S, m.D) if m.tied else None
        self.blocks = nn.ModuleList(Block(m) for _ in range(m.L))
        self.norm = RMSNorm(m.D) if m.norm == "rms" else nn.LayerNorm(m.D)
        self.head = nn.Linear(m.D, m.V, bias=False)
        if m.tied:
            self.head.weight = self.embed.weight
        else:
            angle = torch.arange(m.S)[:, None] * 10000.0 ** (-torch.arange(m.K // 2) / (m.K // 2))
            self.register_buffer("turn", torch.stack([torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin)]))
        for parameter in self.parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=0.02)

    def loss_of(self, x, targets):
        return fn.cross_entropy(self.head(x).float(), targets, reduction="sum")

    def forward(self, tokens, targets):
        """The sum of the losses of all tokens."""
        x = self.embed(tokens).to(torch.bfloat16)
        if self.m.tied:
            x, turn = x + self.place.weight.to(x.dtype), None
        else:
            turn = tuple(self.turn.to(x.dtype))
        for block in self.blocks:
            x = block(x, turn)
        x, targets = self.norm(x).flatten(0, 1), targets.flatten()
        if self.chunks == 1:
            return self.loss_of(x, targets)
        return sum(checkpoint(self.loss_of, *part, use_reentrant=False)
                   for part in zip(x.chunk(self.chunks), targets.chunk(self.chunks)))


class Packaged(nn.Module):
    """transformers' GPT-2."""

    def __init__(self, m):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.model = GPT2LMHeadModel(GPT2Config(vocab_size=m.V, n_positions=m.S, n_embd=m.D, n_layer=m.L, n_head=m.H,
                                                n_inner=m.F, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
                                                use_cache=False))

    def forward(self, tokens, targets):
        logits = self.model(tokens).logits.float()
        return fn.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")


def make(m, variant):
    torch.manual_seed(1)
    if variant == "transformers":
        return Packaged(m).to(DEVICE)
    model = Transformer(m, CHUNKS if variant == "compiled-chunked" else 1).to(DEVICE)
    return torch.compile(model) if ON_GPU else model


def seconds_of_steps(m, variant, microbatch):
    model = make(m, variant)
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW([dict(params=matrices, weight_decay=0.1), dict(params=vectors, weight_decay=0.0)],
                                  lr=1e-4, betas=(0.9, 0.95), fused=True)
    seconds = []
    for _ in range(m.warm + m.timed):
        tokens = torch.randint(m.V, (m.batch, m.S + 1), device=DEVICE)
        if ON_GPU:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for part in tokens.split(microbatch):
            with torch.autocast(DEVICE, torch.bfloat16):
                loss = model(part[:, :-1], part[:, 1:]) / (m.batch * m.S)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last = loss.item()  # waits for all
        seconds.append(time.perf_counter() - begin)
        if last != last:
            sys.exit("torch_train.py: the loss is no number")
    return seconds[m.warm:]


def main():
    name, variant, microbatch = sys.argv[1:4]
    m = models.model_of(name, "--tiny" in sys.argv)
    try:
        seconds = statistics.median(seconds_of_steps(m, variant, int(microbatch)))
    except Exception as error:  # the compiler wraps that of the allocator, which has much to say
        if "out of memory" in str(error):
            sys.exit("torch_train.py: out of memory")
        raise
    print(json.dumps(dict(tokens_per_second=m.batch * m.S / seconds, allocated=torch.cuda.max_memory_allocated() if ON_GPU else 0)))


if __name__ == "__main__":
    main()

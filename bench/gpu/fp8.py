"""A stack of layers of the size of Llama 3 8B, 8,192 tokens a microbatch, in bf16 and with its GEMMs in FP8.

Ratios to bf16 of the whole step, and of GEMMs with the kernels that quantisation is part of, all others included. The bars
are those of docs/fp8.md.
"""
import json
import statistics

import categories
import models
import trainings
from sections import Verdict

# Parts of what bf16 takes: GEMMs and kernels, and the step.
BARS = {"delayed": (0.62, 0.78), "current": (0.66, 0.80), "blockwise": (0.72, 0.84), "rowwise": (0.75, 0.91)}
MODEL = "llama_8b_stack"
measured = {}


def binary_of(precision):
    return f"{MODEL}-{precision}"


SMALL = ["model.V=64", "model.L=1", "model.D=256", "model.H=2", "model.G=2", "model.K=128", "model.F=256",
         'recipe.data="tokens.u16", S = 128']


def pack(pack, section):
    recipes = ["blockwise"] if pack.tiny else BARS
    for precision in ("bf16", *recipes):
        named = precision if precision == "bf16" else f"bf16, fp8({precision}) for blocks.*"
        pack.compile(models.PLANS, "bench", binary_of(precision), plan=MODEL, toolkit=True,
                     settings=[f"plan.precision={named}", *(SMALL if pack.tiny else [])])
    for recipe in recipes:
        pack.add(section, recipe, recipe=recipe)


def measure(precision, machine):
    """Seconds of GEMMs and fused kernels, and of a step that is replayed."""
    if precision in measured:
        return measured[precision]
    at, warm, steps = machine.folder("fp8"), 2, 8
    tokens = trainings.random_tokens(machine, MODEL, steps * 8192 + 1, 64 if machine.tiny else 32000)
    command = [machine.pack / "bench" / binary_of(precision), "--device=cuda", "--steps", steps, "--data", f"u16:{tokens}",
               "--metrics", at / "log.jsonl"]
    profiled, found = categories.categories(machine.run(*command, "--profile"))
    machine.run(*command)
    lines = [json.loads(line) for line in (at / "log.jsonl").read_text().splitlines()]
    step = statistics.median(line["step_seconds"] for line in lines[warm:])
    measured[precision] = sum(found[name][0] for name in ("gemm", "kernel") if name in found) / profiled, step
    return measured[precision]


def run(row, machine):
    (plain, whole), (narrow, step) = (measure(each, machine) for each in ("bf16", row["recipe"]))
    of_gemms, of_step = BARS[row["recipe"]]
    said = (f"GEMMs and kernels take {narrow / plain:.3f} of bf16's {1e3 * plain:.2f} ms, the bar is {of_gemms}; a step "
            f"{step / whole:.3f} of {1e3 * whole:.2f} ms, the bar is {of_step}")
    return Verdict(None if machine.tiny else narrow <= of_gemms * plain and step <= of_step * whole, said)

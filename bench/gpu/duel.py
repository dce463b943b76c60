"""Rows of a model beside PyTorch: rounds in which each trains once, as many as the time allows, and medians of them.

Bars: 1.05 of the tokens per second of the fastest of PyTorch's, 0.9 of the memory of the one that takes least. Where
there is no torch.cuda, tplan's own figures stand, and no bar is met.
"""
import functools
import statistics

import models
import trainings
from sections import Verdict

ROUNDS = 3
FASTER, LESS = 1.05, 0.9
ROWS = ("tokens per second", "peak of memory", "FLOP utilisation")
measured = {}  # by section: what all rows of it are read from


def pack_rows(pack, section, name, variants):
    trainings.pack_model(pack, name)
    for row in ROWS:
        pack.add(section, row, model=name, variants=variants, largest=section.endswith("-largest"))


def measure(row, machine):
    """Runs of each contender, and the ceilings, once for a section."""
    if row["section"] in measured:
        return measured[row["section"]]
    model = models.model_of(row["model"], machine.tiny)
    contenders = {"tplan": trainings.train_largest}
    contenders |= {variant: functools.partial(trainings.train_in_torch, variant=variant)
                   for variant in row["variants"] if is_here(machine, variant)}
    sizes = {name: model.sizes if row["largest"] else (model.equal,) for name in contenders}
    runs = {name: [] for name in contenders}
    for _ in range(1 if machine.tiny else ROUNDS):
        before = machine.left()
        for name, train in contenders.items():
            runs[name].append(train(machine, model, sizes=sizes[name]))
            sizes[name] = (runs[name][-1].microbatch,)
        if machine.left() < 1.2 * (before - machine.left()):  # another one would not end
            break
    measured[row["section"]] = model, len(runs["tplan"]), medians(runs), trainings.ceilings(machine)
    return measured[row["section"]]


def is_here(machine, variant):
    """PyTorch with a GPU, and the package of that name for the variant that is one."""
    return trainings.has_module(machine, "torch", "torch.cuda.is_available()") and (
        variant != "transformers" or trainings.has_module(machine, variant))


def medians(runs):
    return {name: trainings.Run(*(statistics.median(values) for values in zip(*rounds))) for name, rounds in runs.items()}


def listed(runs, text):
    return ", ".join(f"{name} {text(run)} (microbatch {run.microbatch:.0f})" for name, run in runs.items())


def allocated(run):
    return f", {run.allocated / 2**30:.2f} by its own allocator" if run.allocated else ""


def run(row, machine):
    model, rounds, runs, ceiling = measure(row, machine)
    ours, theirs = runs["tplan"], [run for name, run in runs.items() if name != "tplan"]
    if row["name"] == "tokens per second":
        absent = [name for name in row["variants"] if name not in runs]
        said = f"{rounds} rounds: " + listed(runs, lambda run: f"{run.tokens_per_second:,.0f}")
        said += f"; not here: {', '.join(absent)}" if absent else ""
        ratio = ours.tokens_per_second / max(run.tokens_per_second for run in theirs) if theirs else None
        return judge(ratio, said, machine, lambda ratio: ratio >= FASTER, FASTER)
    if row["name"] == "peak of memory":
        said = listed(runs, lambda run: f"{run.peak / 2**30:.2f} GiB" + allocated(run))
        ratio = ours.peak / max(1, min(run.peak for run in theirs)) if theirs else None
        return judge(ratio, said, machine, lambda ratio: 0 < ratio <= LESS, LESS)
    rate, most = 1e-12 * ours.tokens_per_second * models.flops_per_token(model), ceiling["gemm_tflops"]
    return Verdict(None, f"{rate:.3g} TFLOP/s of the model, {rate / most:.3f} of {most:.3g} of GEMMs alone")


def judge(ratio, said, machine, holds, bar):
    if ratio is None:
        return Verdict(None if machine.tiny else False, f"{said}; no torch.cuda to compare with")
    return Verdict(holds(ratio), f"{said}: {ratio:.3f}, the bar is {bar}")

"""Where the time of a step goes: --profile, whose calls stand between events, and steps that are replayed.

Bytes of a category are those of its calls, each input read once and each output written once. A gap is what a replayed
step takes beyond the sum of its calls. It may be below 0, because the sum of the calls
includes the events around each, but not far.
"""
import json
import re
import statistics

import models
import trainings
from sections import Failed, Verdict

ENOUGH, LEAST_GAPS, MOST_GAPS = 0.8, -0.1, 0.02
FUSED = ("kernel", "optimizer")
measured = {}


def pack(pack, section):
    for name in models.MODELS:
        model = models.model_of(name, pack.tiny)
        trainings.pack_model(pack, name, [model.equal])
        pack.add(section, f"{name}: fused kernels", model=name)
        pack.add(section, f"{name}: gaps", model=name)


def categories(printed):
    """Steps, and seconds and GB/s by category, from the first table of --profile."""
    table = re.search(r"^profile: (\d+) step.*\ncategory .*\n((?:.+\n)*)", printed, re.M)
    if not table:
        raise Failed(f"no profile is printed: {printed[-400:]}")
    rows = [line.rsplit(None, 5) for line in table[2].splitlines()]
    return int(table[1]), {name.strip(): (float(seconds), float(bandwidth)) for name, _, seconds, _, _, bandwidth in rows}


def measure(row, machine):
    """Seconds and bandwidth of one step by category, and its seconds where it is replayed."""
    if row["model"] in measured:
        return measured[row["model"]]
    model = models.model_of(row["model"], machine.tiny)
    at, steps = machine.folder("profile"), model.warm + model.timed
    command = [machine.pack / "bench" / f"{model.name}-{model.equal}", "--device=cuda", "--steps", steps,
               "--data", f"u16:{trainings.tokens(machine, model)}", "--metrics", at / "log.jsonl"]
    profiled, found = categories(machine.run(*command, "--profile"))
    machine.run(*command)
    replayed = statistics.median(json.loads(line)["step_seconds"] for line in
                                 (at / "log.jsonl").read_text().splitlines()[model.warm:])
    measured[row["model"]] = found, found["all calls"][0] / profiled, replayed, trainings.ceilings(machine)["copy_gb_s"]
    return measured[row["model"]]


def run(row, machine):
    found, busy, replayed, copy = measure(row, machine)
    if row["name"].endswith("gaps"):
        gaps = 1 - busy / replayed
        said = f"a step takes {1e3 * replayed:.2f} ms, its calls {1e3 * busy:.2f}: gaps of {gaps:.3f}, the bars are {LEAST_GAPS} and {MOST_GAPS}"
        return Verdict(None if machine.tiny else LEAST_GAPS < gaps < MOST_GAPS, said)
    fused = [found[name] for name in FUSED if name in found]
    seconds = sum(time for time, _ in fused)
    bandwidth = sum(time * rate for time, rate in fused) / seconds
    shares = ", ".join(f"{name} {time / found['all calls'][0]:.1%}" for name, (time, _) in found.items() if name != "all calls")
    said = f"{bandwidth:.4g} GB/s, {bandwidth / copy:.3f} of a copy's {copy:.4g}, the bar is {ENOUGH}; of the time: {shares}"
    return Verdict(None if machine.tiny else bandwidth >= ENOUGH * copy, said)

"""Trainings side by side: what is compiled, and one run of each with its tokens per second and peak of memory.

Bytes are the driver's figure for both sides: a thread asks how many are free while a training runs, before and at the
least. The process that asks has a context of its own, which is in both.
"""
import array
import collections
import json
import random
import statistics
import threading
import time

import models
from sections import ROOT, Failed

# allocated: the peak by PyTorch's own allocator, which is less than what the driver counts; 0 for
# others.
Run = collections.namedtuple("Run", "tokens_per_second peak microbatch allocated", defaults=(0,))


def pack_model(pack, name, sizes=None):
    """Programs of a model, one a microbatch, and the ceilings."""
    model = models.model_of(name, pack.tiny)
    pack.program("gpu-ceilings")
    for size in sizes or model.sizes:
        pack.compile(models.PLANS, "bench", f"{name}-{size}", plan=name,
                     settings=models.settings(model, size, pack.tiny), toolkit=True)


def ceilings(machine):
    """TFLOP/s of large bf16 GEMMs and GB/s of a large copy on this GPU."""
    return json.loads(machine.run(machine.pack / "bin" / "gpu-ceilings", *(["--tiny"] if machine.tiny else [])))


def tokens(machine, model):
    """A file of random tokens, as many as the trainings of a model read."""
    return random_tokens(machine, model.name, (model.warm + model.timed) * model.batch * model.S + 1, model.V)


def random_tokens(machine, name, count, vocabulary):
    path = machine.scratch / f"{name}.u16"
    if not path.exists():
        mask = (1 << (vocabulary.bit_length() - 1)) - 1
        numbers = array.array("H", random.Random(1).randbytes(2 * count))
        path.write_bytes(array.array("H", (n & mask for n in numbers)).tobytes())
    return path


class Watch:
    """The most bytes of the GPU that others take while it is open."""

    def __init__(self, machine):
        self.driver = machine.driver
        self.before = self.least = self.driver.free()
        self.open = True
        self.thread = threading.Thread(target=self.look)

    def look(self):
        self.driver.free()  # the context is the thread's
        while self.open:
            self.least = min(self.least, self.driver.free())
            time.sleep(0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.open = False
        self.thread.join()

    @property
    def peak(self):
        return self.before - self.least


def train(machine, model, microbatch):
    """tplan's, at a microbatch."""
    at = machine.folder("training")
    steps = model.warm + model.timed
    with Watch(machine) as watch:
        machine.run(machine.pack / "bench" / f"{model.name}-{microbatch}", "--device=cuda", "--steps", steps,
                    "--data", f"u16:{tokens(machine, model)}", "--metrics", at / "log.jsonl")
    lines = [json.loads(line) for line in (at / "log.jsonl").read_text().splitlines()]
    if len(lines) != steps:
        raise Failed(f"a training of {steps} steps leaves {len(lines)}")
    return Run(statistics.median(line["tokens_per_second"] for line in lines[model.warm:]), watch.peak, microbatch)


def versions_of_driver(report):
    """The versions of CUDA whose bytes beside the arena are known."""
    return [row["version"] for row in report["memory"]["beside_gpu"] if row["library"] == "CUDA"]


def predicted(report, driver):
    """The arena, and what libraries hold: CUDA and cuBLASLt of the driver's version, others of the one that is listed."""
    loaded = [row for row in report["memory"]["beside_gpu"] if row["library"] != "NCCL"]  # which processes alone load
    return report["memory"]["arena"], sum(row["bytes"] for row in loaded
                                          if row["library"] not in ("CUDA", "cuBLASLt") or row["version"] == driver)


def report_of(machine, model, microbatch):
    return json.loads((machine.pack / "bench" / f"{model.name}-{microbatch}.json").read_text())


def train_largest(machine, model, sizes):
    """At the first of `sizes` that fits by the report: libraries that find no memory have many ways to say so."""
    free = machine.driver.free()
    for size in sizes:
        report = report_of(machine, model, size)
        if sum(predicted(report, max(versions_of_driver(report)))) <= free:
            return train(machine, model, size)
    raise Failed(f"no microbatch of {sizes} fits the {free:,} bytes of this GPU that are free")


def train_in_torch(machine, model, sizes, variant):
    """PyTorch's, at the first of `sizes` that fits: each in a process of its own, whose peak is no other's."""
    for size in sizes:
        try:
            with Watch(machine) as watch:
                told = machine.run_python(ROOT / "bench" / "gpu" / "torch_train.py", model.name, variant, size,
                                          *(["--tiny"] if machine.tiny else []), TORCHINDUCTOR_CACHE_DIR=machine.scratch / "inductor")
        except Failed as error:
            if "out of memory" not in str(error):
                raise
            continue
        found = json.loads(told.splitlines()[-1])
        return Run(found["tokens_per_second"], watch.peak, size, found["allocated"])
    raise Failed(f"in PyTorch, {variant}, no microbatch of {sizes} fits this GPU")


def has_module(machine, name, asked="True"):
    """Whether the Python here has a package of which `asked` holds."""
    try:
        machine.run_python("-c", f"import {name}; assert {asked}")
    except Failed:
        return False
    return True

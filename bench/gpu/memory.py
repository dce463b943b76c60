"""Bytes of the GPU: what the report predicts, arena and libraries, against what the driver says that a training took."""
import json

import models
import trainings
from sections import Failed, Verdict

WITHIN = 300 << 20


def pack(pack, section):
    for name in models.MODELS:
        model = models.model_of(name, pack.tiny)
        trainings.pack_model(pack, name, [model.equal])
        pack.add(section, name, model=name)


def predicted(report, driver):
    """The arena, and what libraries hold: CUDA and cuBLASLt of the driver's version, others of the one that is listed."""
    memory = report["memory"]
    known = [row["version"] for row in memory["beside_gpu"] if row["library"] == "CUDA"]
    if driver not in known:
        raise Failed(f"the table of libraries (--report) has CUDA {known}, and the driver is for CUDA {driver}")
    loaded = [row for row in memory["beside_gpu"] if row["library"] != "NCCL"]  # which processes alone load
    return memory["arena"], sum(row["bytes"] for row in loaded if row["library"] not in ("CUDA", "cuBLASLt") or row["version"] == driver)


def run(row, machine):
    model = models.model_of(row["model"], machine.tiny)
    report = json.loads((machine.pack / "bench" / f"{model.name}-{model.equal}.json").read_text())
    arena, libraries = predicted(report, machine.driver.version() // 1000)
    found = trainings.train(machine, model, model.equal).peak
    off = found - arena - libraries
    said = (f"arena {arena:,} and libraries {libraries:,} bytes are predicted, the driver says {found:,}: off by "
            f"{off / 2**20:.0f} MiB, the bar is {WITHIN >> 20}")
    return Verdict(None if machine.is_stand_in else abs(off) <= WITHIN, said)

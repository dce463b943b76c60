"""Bytes of the GPU: what the report predicts, arena and libraries, against what the driver says that a training took."""
import models
import trainings
from sections import Failed, Verdict

WITHIN = 300 << 20


def pack(pack, section):
    for name in models.MODELS:
        model = models.model_of(name, pack.tiny)
        trainings.pack_model(pack, name, [model.equal])
        pack.add(section, name, model=name)


def run(row, machine):
    model = models.model_of(row["model"], machine.tiny)
    report = trainings.report_of(machine, model, model.equal)
    driver, known = machine.driver.version() // 1000, trainings.versions_of_driver(report)
    if driver not in known:
        raise Failed(f"the table of libraries (--report) has CUDA {known}, and the driver is for CUDA {driver}")
    arena, libraries = trainings.predicted(report, driver)
    found = trainings.train(machine, model, model.equal).peak
    off = found - arena - libraries
    said = (f"arena {arena:,} and libraries {libraries:,} bytes are predicted, the driver says {found:,}: off by "
            f"{off / 2**20:.0f} MiB, the bar is {WITHIN >> 20}")
    return Verdict(None if machine.is_stand_in else abs(off) <= WITHIN, said)

"""Rows of the table of plans over ranks (test/invariance/ranks) on a GPU that the ranks share.

The serial plan of each program and precision is trained on a CPU when the pack is made; the pack holds what it left.
"""
import json
import pathlib
import tempfile

import datasets
import measures
import training
from script import load_script
from sections import ROOT, Verdict
from traffic import check_traffic

TABLE = ROOT / "test" / "gpu" / "plans.txt"
TINY = 1  # of its rows

ranks = load_script(ROOT / "test" / "invariance" / "ranks")


def rows_of(precision):
    lines = [line for line in TABLE.read_text().splitlines() if line[0] != "#"]
    return [ranks.parse(f". {line} | precision {precision}") for line in lines]


def pack(pack, section):
    references = {}
    with tempfile.TemporaryDirectory() as scratch:
        for precision in ("f32", "f64"):
            for number, row in enumerate(rows_of(precision)[:TINY if pack.tiny else None]):
                program = row.program.removesuffix("_nodes")
                reference = f"plans/serial/{program}-{precision}"
                if reference not in references:
                    references[reference] = train_serial(pack, row._replace(program=program), reference, pathlib.Path(scratch))
                settings = [f"{key if '.' in key else f'plan.{key}'}={value}" for key, value in row.settings.items()]
                binary = pack.compile(training.HERE / "models.tplan", "plans", f"{precision}-{number}",
                                      plan=row.program, settings=settings)
                pack.add(section, ranks.title(row), binary=binary, reference=reference, program=row.program,
                         settings=row.settings)


def train_serial(pack, row, name, scratch):
    """What the serial plan leaves, at the start and at the end, to the pack."""
    at = training.place(scratch, "serial")
    binary = at / "train"
    training.make(row.program, {"precision": ranks.precision(row)}, binary)
    for steps in (0, training.STEPS):
        folder = pack.subfolder(name, str(steps))
        gradients = ["--dump-gradients", folder / "gradients.safetensors"] if steps else []
        training.start(binary, folder, "--steps", str(steps), *gradients, **datasets.data_of(row, scratch))
    return name


def run(row, machine):
    plan = ranks.Row("", row["program"], row["settings"])
    reference = machine.pack / row["reference"]
    wanted = ranks.Reference(training.tensors(reference / "0", 0), training.left(reference / str(training.STEPS)))
    at = machine.folder("plan")
    count = ranks.ranks(plan)
    printed = training.start(machine.pack / row["binary"], at, "--device=cuda", "--audit-memory", *ranks.options(plan, at),
                             env=machine.environment, seconds=max(machine.left(), 1), **datasets.data_of(plan, at))
    far = []
    wrong = measures.judge(row["program"], ranks.precision(plan), training.left(at), wanted, far.append)
    if not wrong and count > 1:
        report = json.loads((machine.pack / (row["binary"] + ".json")).read_text())
        check_traffic(report, printed, ranks.reads_first(plan))
    (errors,) = far
    said = ", ".join(f"{name} {error:.0e}" for name, (error, _) in zip(measures.Tolerance._fields, errors))
    return Verdict(not wrong, wrong or f"{count} ranks, off by at most: {said}")

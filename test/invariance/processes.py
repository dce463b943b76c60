"""Trainings as processes over NCCL, for which a library stands in, with a GPU each.

The stand-in runs what it is given as late as is legal and after random delays, and refuses what NCCL leaves
undefined: operations that differ or come in another order, communicators that two streams use.
"""
import json
import os
import re
import zlib

import jobs
from traffic import check_traffic
from training import GPU, STEPS, TOKENS, Wrong, left, of_stages

DELAY = 300  # microseconds, at most, before an operation


def train(binary, folder, ranks, options, data=f"u16:{TOKENS}", cwd=None, step=STEPS, seconds=300, **more):
    """What is left after that step, and what rank 0 printed; calls of the driver are in `folder`, by process. Without `data`, on the recipe's."""
    seed = zlib.crc32(f"{binary.stat().st_size} {ranks}".encode())
    libraries = dict(GPU[1])
    nccl = libraries.pop("TPLAN_NCCL")
    environment = {**os.environ, **libraries, "STANDIN_CUDA": libraries["TPLAN_CUDA"], "STANDIN_DEVICES": str(ranks),
                   "STANDIN_NCCL_DELAY": str(DELAY), "STANDIN_SEED": str(seed), **more}
    command = [binary, *(["--data", data] if data else []), "--seed", "1", "--threads", "1", "--save", folder / "save", "--metrics",
               folder / "log.jsonl", "--audit-memory", "--nccl-library", nccl, *options]
    outcomes = jobs.run(ranks, command, environment, seconds, cwd)
    for rank, outcome in enumerate(outcomes):
        if outcome.code != 0:
            raise Wrong(f"rank {rank} ends with {outcome.code}: {outcome.err.strip()[-1500:]}")
    return left(folder, step), outcomes[0].out


def check_arenas(log, ranks, report):
    """Each process has allocated its arena, that of its stage, and nothing else, on its device."""
    found = {}
    for line in log.read_text().splitlines():
        if allocation := re.match(r"(\d+) \d+ alloc .*\bbytes=(\d+)", line):
            found.setdefault(allocation[1], []).append(int(allocation[2]))
    reports = of_stages(report)
    wanted = sorted([one["memory"]["arena"]] for one in reports for _ in range(ranks // len(reports)))
    if sorted(found.values()) != wanted:
        raise Wrong(f"processes allocate {sorted(found.values())} bytes, the report has {wanted}")


def check_sums(operations, report):
    """NCCL adds where the plan says so, and nowhere else."""
    adds = bool(re.search(r"\t(all_reduce|reduce_scatter)\t", operations.read_text()))
    if adds != (report["reduce"] == "native"):
        raise Wrong(f"sums of NCCL's: {adds}, and the plan reduces {report['reduce']}")


def check_channels(operations, report):
    """Each group has as many channels as the plan gives it; 0: it gives none."""
    found = {line.rsplit("\t", 1)[1] for line in operations.read_text().splitlines()}
    if found - {str(report["channels"])}:
        raise Wrong(f"groups have {sorted(found)} channels, the plan gives {report['channels']}")


def captured(threads, at, ranks, options, reads_first, data):
    """Steps are graphs; each process has one allocation."""
    log, operations = at / "calls", at / "operations"
    report = json.loads((threads / "report").read_text())
    found, _ = train(threads / "train", at, ranks, [word for word in options if word != "--audit-collectives"],
                     STANDIN_LOG=str(log), STANDIN_NCCL_LOG=str(operations), **data)
    check_arenas(log, ranks, report)
    check_sums(operations, report)
    check_channels(operations, report)
    replaying = set(re.findall(r"^(\d+) \d+ graphlaunch ", log.read_text(), re.M))
    if len(replaying) != ranks:
        raise Wrong(f"{len(replaying)} of {ranks} processes replay what they captured")
    return found, left(threads)


def audited(threads, at, ranks, options, reads_first, data):
    """Collectives, call by call, are those of the report."""
    found, printed = train(threads / "train", at, ranks, options, **data)
    check_traffic(json.loads((threads / "report").read_text()), printed, reads_first, is_apart=True)
    return found, left(threads)


CHECKS = {"n": captured, "N": audited}  # by flag of a row

"""What collectives have moved, counted by the transport, is what the report says: by what the ranks were doing,
kind and axes.

What `--audit-collectives` prints is of ranks that have issued the same operations, whose bytes are those that the
operations say: that the binary has checked itself.
"""
import collections
import re

from training import STEPS, Wrong, of_stages

Moved = collections.namedtuple("Moved", "calls sent staged")  # of a rank; bytes

# How often what the report lists is done in a training.
TIMES = {"step": STEPS, "metrics": STEPS, "preparation": 1}
# What else ranks do together, all of them, in a row of the table.
BESIDE = {"set-up", "gradients", "memory audit", "checkpoint"}


def audited(printed):
    """For each program of the plan a table by (activity, kind, axes); and the most bytes that the log of a rank has."""
    head = re.search(r"^collectives audit: in one order on \d+ ranks, .* logs of (\d+) bytes", printed, re.M)
    if not head:
        raise Wrong("no audit of collectives is printed")
    tables = []
    for line in printed[head.end():].splitlines()[1:]:
        activity, *rest = re.split(r"\s{2,}", line.strip())
        if activity.startswith("stage "):
            continue
        if activity == "in":
            tables.append({})
            continue
        kind, axes, *numbers = rest
        tables[-1][activity, kind, axes] = Moved(*map(int, numbers))
    return tables, int(head[1])


def reported(report, is_staged):
    """The same of a whole training."""
    rows = {}
    for row in report["collectives"]:
        key = row["in"], row["kind"].removesuffix(" max").replace("_", "-"), row["axes"]
        calls = row["calls"] * TIMES[row["in"]]
        moved = Moved(calls, calls * row["bytes"], calls * row["staged"] * is_staged)
        rows[key] = Moved(*map(sum, zip(rows.get(key, (0, 0, 0)), moved)))
    return rows


def check_traffic(report, printed, reads_first, is_staged=False, is_apart=False):
    """Checks ranks that stage what they send, as processes of MPI do, or threads, which never do; or processes over
    NCCL, which do not count what goes another way: what they read, meet for, and add on the host."""
    tables, _ = audited(printed)
    reports = of_stages(report)
    if len(tables) != len(reports):
        raise Wrong(f"the audit has tables of {len(tables)} stages, the report of {len(reports)}")
    for stage, (found, one) in enumerate(zip(tables, reports)):
        try:
            check_table(one, found, reads_first, is_staged, is_apart)
        except Wrong as error:
            raise Wrong(f"stage {stage}: {error}" if len(reports) > 1 else f"{error}")


def check_table(report, found, reads_first, is_staged, is_apart):
    """Checks the ranks of one program."""
    wanted = reported(report, is_staged)
    if is_apart:
        wanted = {key: moved for key, moved in wanted.items() if key[0] != "metrics"}
    beside = {key: moved for key, moved in found.items() if key[0] not in TIMES}
    apart = {key: (found.get(key), wanted.get(key)) for key in (found.keys() - beside.keys()) | wanted.keys()
             if found.get(key) != wanted.get(key)}
    if apart:
        raise Wrong(f"{len(apart)} kinds of collectives move other bytes than the report has: " +
                    "; ".join(f"{', '.join(key)}: {one}, not {other}" for key, (one, other) in sorted(apart.items())[:3]))
    doing = set() if is_apart else BESIDE | ({"data"} if reads_first else set())
    if {activity for activity, _, _ in beside} != doing or not {axes for _, _, axes in beside} <= {"all ranks"}:
        raise Wrong(f"beside the steps ranks meet in {sorted(beside)}, not in {sorted(doing)} of all ranks")
    staging = [copy for copy in report["copies"] if copy["staging"]]
    if staging:
        raise Wrong(f"{len(staging)} calls copy what a collective takes or makes, first {staging[0]}")

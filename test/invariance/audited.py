"""Whether a driver is asked for what --audit-streams has judged, from the log of its calls (driver_calls.py) and the trace.

A captured step is compared with the same step in the trace: the same work in the same order, each in its stream and on the same
bytes of the arena, with the same events between; kernels by name, with their arguments in order. Streams and events have
names of their own on each side, one for one. A collective is many calls of a driver: together they read all that the
trace says it reads, touch all that it touches and nothing else. Of the workspace and scratch any part may be taken.

Not seen: which process is which rank, so that two which do each other's work are found only where a third differs.
"""
import collections
import itertools
import re

from liveness import joined
from training import Wrong

# Work, a collective, a record or a wait: its stream and event, a kernel's name and arguments, all extents that it reads,
# those that it writes, whether it is in memory that no value has.
Step = collections.namedtuple("Step", "kind stream event kernel reads writes besides title")
# Names of kernels, extents of the workspace and of scratch, and the steps of each rank, all or the first and the last.
Judged = collections.namedtuple("Judged", "kernels besides ranks")
COLLECTIVES = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "permute"}
EXTENT = re.compile(r"([rw])(\d+)-(\d+)$")


def step(kind, stream, event, kernel, reads, writes, title, besides):
    """`kernel`: its name, or none."""
    reads, writes = list(reads), list(writes)
    inside = [any(low <= begin and end <= high for low, high in besides) for begin, end in reads + writes]
    outside = [span for span, is_inside in zip(reads + writes, inside) if not is_inside]
    values = joined(span for span in outside if span in reads), joined(span for span in outside if span in writes)
    return Step(kind, stream, event, kernel and (kernel, reads, writes), *values, any(inside), title)


def parse(line, kernels, besides):
    kind, stream, event, *rest = line.split(" ")
    found = [match.groups() for match in itertools.takewhile(bool, map(EXTENT.match, rest))]
    reads, writes = ([(int(begin), int(end)) for letter, begin, end in found if letter == wanted] for wanted in "rw")
    title = rest[len(found):]
    if kind == "work":
        kind, event = "collective" if title[0] in COLLECTIVES else kind, None
    kernel = title[0] if title and title[0] in kernels else None
    return step(kind, stream, event, kernel, reads, writes, " ".join(title), besides)


def read(lines):
    """The first step of each rank in the trace: between two of what the host gives, which has a stream and two events alone."""
    kernels, ranks, inside, besides = set(), [], False, []
    for line in lines:
        word, *rest = line.split(" ")
        if word == "slot" and rest[1] in ("workspace", "scratch"):
            besides.append(tuple(map(int, rest[0].split("-"))))
        elif word == "kernel":
            kernels.add(named(rest[0]))
        elif word == "rank":
            giving, taken = (str(int(count) - 1) for count in rest[1:])
            ranks.append([])
        elif ranks and (word, *rest[:2]) == ("record", "0", taken):
            inside = not ranks[-1]
        elif ranks and rest[0] == giving:
            inside = False
        elif inside:
            ranks[-1].append(parse(line, kernels, besides))
    if not ranks or not all(ranks):
        raise Wrong("is of a trace without a step")
    return Judged(kernels, besides, [together(steps) for steps in ranks])


def named(kernel):
    """As the plan spells what a driver has without points."""
    return kernel.replace("$", ".")


def together(steps):
    """Collectives that follow each other in a stream as one."""
    merged = []
    for step in steps:
        last = merged[-1] if merged else step
        if merged and step.kind == last.kind == "collective" and step.stream == last.stream:
            merged[-1] = last._replace(reads=joined(last.reads + step.reads), writes=joined(last.writes + step.writes))
        else:
            merged.append(step)
    return merged


def covers(wide, narrow):
    return joined(wide + narrow) == wide


def agree(asked, judged, names):
    """`names`: what each stream and event of one side is on the other."""
    if asked.kind != judged.kind or asked.kernel != judged.kernel or asked.besides > judged.besides:
        return False
    for what in ("stream", "event"):
        one, other = getattr(asked, what), getattr(judged, what)
        if names.setdefault((what, "asked", one), other) != other or names.setdefault((what, "judged", other), one) != one:
            return False
    if asked.kind != "collective":
        return (asked.reads, asked.writes) == (judged.reads, judged.writes)
    touched = [joined(side.reads + side.writes) for side in (asked, judged)]
    return touched[0] == touched[1] and covers(asked.reads, judged.reads) and covers(judged.writes, asked.writes)


def agreement(asked, judged):
    """How many steps agree, from the first on."""
    names = {}
    return sum(1 for _ in itertools.takewhile(lambda both: agree(*both, names), zip(asked, judged)))


def check(judged, asked):
    """`judged`: steps by rank, all or the first and the last; `asked`: the same by process, in any order."""
    asked = [together(steps) for steps in asked]
    pairs = [[(agreement(ours, theirs), ours, theirs) for ours in asked] for theirs in judged]
    if len(asked) == len(judged):
        pairs += [[(agreement(ours, theirs), ours, theirs) for theirs in judged] for ours in asked]
    for some in pairs:
        if not any(alike == len(ours) == len(theirs) for alike, ours, theirs in some):
            at, *sides = max(some, key=lambda pair: pair[0])
            told = [side[at].title if at < len(side) else "nothing" for side in sides]
            raise Wrong("is asked for what was not judged: {}; judged: {}".format(*told))

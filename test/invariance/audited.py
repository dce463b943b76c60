"""Whether a driver is asked for what --audit-streams has judged, from the log of its calls (driver_calls.py) and the trace.

A captured step is held to the same step in the trace: the same work in the same order, each in its stream and on the same
bytes of the arena, with the same events between. Streams and events have names of their own on each side, one for one.
A collective is many calls of a driver, which touch nothing but what the trace says of it; of the workspace a library may
take a part.
"""
import collections
import itertools
import re

from liveness import joined
from training import Wrong

# Work, a collective, a record or a wait: its stream and event, all extents that it touches, those that it writes, whether
# it is in the workspace besides.
Step = collections.namedtuple("Step", "kind stream event touched written works title")
# The extent of the workspace, and the steps of each rank.
Judged = collections.namedtuple("Judged", "workspace ranks")
COLLECTIVES = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all", "permute"}
EXTENT = re.compile(r"([rw])(\d+)-(\d+)$")


def step(kind, stream, event, reads, writes, title, workspace):
    inside = lambda span: workspace[0] <= span[0] and span[1] <= workspace[1]
    touched, written = (joined(span for span in some if not inside(span)) for some in ((*reads, *writes), writes))
    return Step(kind, stream, event, touched, written, any(map(inside, writes)), title)


def parse(line, workspace):
    kind, stream, event, *rest = line.split(" ")
    found = [match.groups() for match in itertools.takewhile(bool, map(EXTENT.match, rest))]
    spans = [(letter, (int(begin), int(end))) for letter, begin, end in found]
    title = " ".join(rest[len(spans):])
    if kind == "work":
        kind, event = "collective" if title.split(" ")[0] in COLLECTIVES else kind, None
    reads, writes = ([span for letter, span in spans if letter == wanted] for wanted in "rw")
    return step(kind, stream, event, reads, writes, title, workspace)


def read(lines):
    """Of each rank in the trace its first step: between two of what the host gives, which has a stream and two events alone."""
    ranks, inside, workspace = [], False, (0, 0)
    for line in lines:
        word, *rest = line.split(" ")
        if word == "slot" and rest[1:] == ["workspace"]:
            workspace = tuple(map(int, rest[0].split("-")))
        elif word == "rank":
            giving, taken = (str(int(count) - 1) for count in rest[1:])
            ranks.append([])
        elif ranks and (word, *rest[:2]) == ("record", "0", taken):
            inside = not ranks[-1]
        elif ranks and rest[0] == giving:
            inside = False
        elif inside:
            ranks[-1].append(parse(line, workspace))
    if not all(ranks):
        raise Wrong("is of a trace without a step")
    return Judged(workspace, [together(steps) for steps in ranks])


def together(steps):
    """Collectives that follow each other in a stream as one."""
    merged = []
    for step in steps:
        last = merged[-1] if merged else step
        if merged and step.kind == last.kind == "collective" and step.stream == last.stream:
            merged[-1] = last._replace(touched=joined(last.touched + step.touched), written=joined(last.written + step.written))
        else:
            merged.append(step)
    return merged


def covers(wide, narrow):
    return all(any(low <= begin and end <= high for low, high in wide) for begin, end in narrow)


def agree(asked, judged, names):
    """`names`: what each stream and event of one side is on the other."""
    if asked.kind != judged.kind:
        return False
    for what in ("stream", "event"):
        one, other = getattr(asked, what), getattr(judged, what)
        if names.setdefault((what, "asked", one), other) != other or names.setdefault((what, "judged", other), one) != one:
            return False
    if asked.kind == "collective":
        return covers(judged.touched, asked.touched) and covers(judged.written, asked.written)
    return (asked.touched, asked.written) == (judged.touched, judged.written) and asked.works <= judged.works


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

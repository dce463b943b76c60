"""What a program for GPUs may call of the driver, checked over the log of a driver that stands in (STANDIN_LOG).

The plan says where things are: the slots of the arena and the arguments of each kernel stand in what --trace-streams has
written. The log says what was called: test/standin/driver/log.h. `check` raises Wrong at the first call that is not as it
must be; what it knows of captures and memory it finds by itself, not from what the driver has refused.
"""
import bisect
import collections
import functools
import itertools
import re

import audited
import liveness
from liveness import extent, joined
from training import Wrong

Call = collections.namedtuple("Call", "process thread name fields error text")
# The calls that a captured step may be made of.
CAPTURABLE = {"launch", "copy", "copy2d", "memset", "memset2d", "hostfunc", "write", "record", "wait"}
WORK = {"launch", "copy", "copy2d", "memset", "memset2d", "hostfunc"}
# Where there is a ptxas the kernels come as code first, which a driver that has no GPU cannot take.
ANSWERS = {("module", "CUDA_ERROR_NO_BINARY_FOR_GPU"), ("eventquery", "CUDA_ERROR_NOT_READY"), ("streamquery", "CUDA_ERROR_NOT_READY")}
PAIR = re.compile(r"(\w+)=(\S+)")


# ===-- What is read ------------------------------------------------------------------------------------===

class Plan:
    """Slots as (begin, end); of each kernel how many inputs and outputs it has, and of each argument its bytes and how
    far it is from that of the next layer; steps as they were judged, by rank."""

    def __init__(self, trace):
        self.slots, self.kernels = set(), {}
        lines = trace.read_text().splitlines()
        self.judged = audited.read(lines)
        for line in lines:
            word, *rest = line.split(" ")
            if word == "slot":
                self.slots.add(tuple(map(int, rest[0].split("-"))))
            elif word == "kernel":
                sizes = [tuple(map(int, size.split("+"))) for size in rest[3:]]
                self.kernels[rest[0]] = int(rest[1]), int(rest[2]), sizes
            else:
                break
        self.edges = sorted(set(itertools.chain(*self.slots)))
        self.covers = [sum(1 << number for number, (begin, end) in enumerate(self.slots) if begin <= edge < end)
                       for edge in self.edges]

    def owners(self, begin, end):
        """The slots that have all of these bytes, as a mask."""
        first, last = (bisect.bisect_right(self.edges, place) - 1 for place in (begin, max(begin, end - 1)))
        return self.covers[first] & self.covers[last] if first >= 0 else 0


@functools.lru_cache(maxsize=None)  # logs with one change are read again and again
def parse(line):
    text, _, error = line.partition(" -> ")
    process, thread, name, *rest = text.split(" ")
    pairs = PAIR.findall(" ".join(rest))
    if name == "library":
        data, *ranges = pairs
        return Call(process, thread, name, {"data": data[1], "ranges": [(kind, *bounds(span)) for kind, span in ranges]}, error, line)
    return Call(process, thread, name, dict(pairs), error, line)


def bounds(span):
    return tuple(int(end, 16) for end in span.split("-"))


# ===-- What is known of a rank, a thread of a process --------------------------------------------------===

class Capture:
    """Which streams take part, and what each knows of the others: the end of one that nobody knows was never joined."""

    def __init__(self, origin):
        self.origin, self.length, self.knows, self.events, self.work = origin, {origin: 0}, {origin: {origin: 0}}, {}, []

    def step(self, stream):
        self.length[stream] += 1
        self.knows[stream][stream] = self.length[stream]

    def record(self, stream, event):
        self.events[event] = dict(self.knows[stream])

    def wait(self, stream, event):
        if event not in self.events:
            raise Wrong("waits, in a capture, for an event that was recorded outside of it")
        known = self.knows.setdefault(stream, {})
        if self.length.setdefault(stream, 0) == 0:
            self.step(stream)
        for other, length in self.events[event].items():
            known[other] = max(known.get(other, 0), length)

    def unjoined(self):
        known = self.knows[self.origin]
        return [stream for stream, length in self.length.items() if known.get(stream, 0) < length]


class Graph:
    """What is captured: the work, what it reads and writes, the same as steps for audited.py."""

    def __init__(self):
        self.done, self.works, self.asked = [], [], []


class Rank:
    def __init__(self):
        self.arena = None  # begin and end
        self.freed = False
        self.streams, self.events, self.pinned = set(), set(), {}
        self.capture, self.graph = None, None
        self.graphs, self.execs = {}, {}  # by name
        self.done = []  # work, that of graphs at each of their launches
        self.first = None  # how much of it was issued before the first capture
        self.asked, self.together = [], False  # steps since then, for audited.py; whether in a collective
        self.replays = []  # graphs that were launched, each with the work and the steps that were before it
        self.fetched = None, []  # what the last copy that blocks has read: place and operands
        self.between = 0  # of the plan, issued by calls since the last capture or replay


# ===-- The check ---------------------------------------------------------------------------------------===

class Checker:
    def __init__(self, plan, arena_bytes, ranks, steps, captures):
        self.plan, self.arena_bytes, self.wanted, self.steps, self.captures = plan, arena_bytes, ranks, steps, captures
        self.ranks = collections.defaultdict(Rank)  # by process and thread
        self.announced = {}  # what host functions that come touch, by process and data
        self.launches = {}  # extents that a launch may read and write, by process and number
        self.issued, self.touched = [], collections.defaultdict(list)  # work in its order; of a launch what each run touched
        self.arenas = collections.defaultdict(list)  # where they begin, by process
        self.process, self.stream, self.title, self.measures = None, None, None, False  # of the call that is checked

    def run(self, lines):
        calls = [parse(line) for line in lines]
        # Algorithms of GEMMs are measured on memory that means nothing yet; times are asked for then alone.
        measured = {call[:2]: number for number, call in enumerate(calls, 1) if call.name == "elapsed"}
        for number, call in enumerate(calls, 1):
            self.process, self.stream, self.title = call.process, call.fields.get("s"), (number, call.text)
            self.measures = number <= measured.get(call[:2], 0)
            try:
                if call.error and (call.name, call.error) not in ANSWERS:
                    raise Wrong("is refused")
                self.one(call)
            except Wrong as wrong:
                raise Wrong(f"call {number} {wrong}: {call.text}") from None
        self.finish()
        liveness.check(self.plan, self.arenas, self.issued, self.touched)
        if self.captures:
            audited.check(self.plan.judged.ranks, [self.first_replayed(rank) for rank in self.ranks.values() if rank.arena])

    # Memory.

    def owner(self, address):
        for (process, _), rank in self.ranks.items():
            if process == self.process and rank.arena and not rank.freed and rank.arena[0] <= address < rank.arena[1]:
                return rank
        return None

    def inside(self, what, begin, end):
        """All of it in one slot of a living arena."""
        rank = self.owner(begin)
        if not rank:
            raise Wrong(f"has {what} in no arena that lives")
        base = rank.arena[0]
        if self.measures and end <= rank.arena[1]:
            return
        if not self.plan.owners(begin - base, end - base):
            raise Wrong(f"has {what} in no slot: arena bytes {begin - base} to {end - base}")

    def runs(self, rank, reads, writes, launch=None, spread=False):
        """Work is issued, or is of a graph that will be launched."""
        work = liveness.Work(self.title, self.process, reads, writes, launch, spread, self.measures)
        (rank.graph.works if rank.capture else self.issued).append(work)
        if not launch:
            self.asks(rank, None, itertools.chain(*reads), itertools.chain(*writes))

    def asks(self, rank, kernel, reads, writes, kind="work", event=None):
        if rank.capture or (rank.first is not None and self.stream != "-"):
            kind = "collective" if rank.capture and rank.together else kind
            both = [[(begin - rank.arena[0], end - rank.arena[0]) for begin, end in some] for some in (reads, writes)]
            title = "call {} {}".format(*self.title)
            asked = rank.graph.asked if rank.capture else rank.asked
            asked.append(audited.step(kind, self.stream, event, kernel, *both, title, self.plan.judged.besides))

    def one(self, call):
        if call.name == "touch":
            return self.touch(call)
        rank = self.ranks[call[:2]] if call.thread != "-" else None
        if rank:
            self.in_order(rank, call)
        getattr(self, f"on_{call.name}", lambda *_: None)(rank, call)
        if call.name in WORK and not self.measures:
            self.work(rank, call)

    def in_order(self, rank, call):
        """What a thread may call at all, and in a capture."""
        stream = call.fields.get("s", "-")
        if call.name not in ("stream", "streamdestroy") and stream != "-" and stream not in rank.streams:
            raise Wrong("is issued to the stream of another thread")
        if call.name == "record" and call.fields["e"] not in rank.events:
            raise Wrong("records the event of another thread")
        if self.measures and call.name in ("launch", "begin", "graphlaunch"):
            raise Wrong("is a call of a step before the algorithms of all GEMMs are chosen")
        if not rank.capture or call.name == "end":
            return
        if call.name not in CAPTURABLE or (call.name in WORK and stream == "-"):
            raise Wrong("is no call of a capture")
        if call.name != "wait" and stream not in rank.capture.length:
            raise Wrong("is in a stream that is not captured, while another one is")

    def work(self, rank, call):
        done = (call.name, tuple(sorted((key, value) for key, value in call.fields.items() if key not in ("n", "data", "function"))))
        if rank.capture:
            rank.capture.step(call.fields["s"])
            rank.graph.done.append(done)
        elif call.fields["s"] != "-" and call.fields.get("kind") != "htod":
            rank.done.append(done)
            rank.between += call.name == "launch" and any(size for size, _ in self.plan.kernels[call.fields["kernel"]][2][:2])

    def on_alloc(self, rank, call):
        begin, size = int(call.fields["p"], 16), int(call.fields["bytes"])
        if rank.arena:
            raise Wrong("is a second allocation")
        if size != self.arena_bytes:
            raise Wrong(f"is not the arena of {self.arena_bytes} bytes")
        rank.arena = begin, begin + size
        self.arenas[self.process].append(begin)

    def on_free(self, rank, call):
        if not rank.arena or rank.freed or int(call.fields["p"], 16) != rank.arena[0]:
            raise Wrong("frees what is not the arena of the rank")
        rank.freed = True

    def on_hostalloc(self, rank, call):
        rank.pinned[int(call.fields["p"], 16)] = int(call.fields["bytes"])

    def on_hostfree(self, rank, call):
        if rank.pinned.pop(int(call.fields["p"], 16), None) is None:
            raise Wrong("frees what the thread has not allocated")

    def on_stream(self, rank, call):
        rank.streams.add(call.fields["s"])

    def on_event(self, rank, call):
        rank.events.add(call.fields["e"])

    def on_streamdestroy(self, rank, call):
        rank.streams.discard(call.fields["s"])

    def on_eventdestroy(self, rank, call):
        rank.events.discard(call.fields["e"])

    # Work.

    def on_launch(self, rank, call):
        pointers = [int(word, 16) for word in call.fields["args"].split(",") if word != "-"]
        inputs, outputs, sizes = self.plan.kernels[call.fields["kernel"]]
        if not any(size for size, _ in sizes[:2]):  # adds up the parts of ranks: how much is an argument, so it has the bytes that it touches
            for pointer in pointers[:2]:
                self.inside("an argument", pointer, pointer + 1)
            self.launches[call.process, call.fields["n"]] = None
            self.asks(rank, None, *sum_of_ranks(call, pointers))
            return self.runs(rank, None, None, launch=(call.process, call.fields["n"]))
        if len(pointers) != len(sizes):
            raise Wrong(f"has {len(pointers)} arguments of {len(sizes)}")
        layers = int(call.fields["grid"].split(",")[1])
        extents = [[(pointer + layer * stride, pointer + layer * stride + size) for layer in range(layers if stride else 1)]
                   for pointer, (size, stride) in zip(pointers, sizes)]
        for span in itertools.chain(*extents):
            self.inside("an argument", *span)
        number = call.process, call.fields["n"]
        both = [list(itertools.chain(*some)) for some in (extents, extents[inputs:inputs + outputs])]
        self.launches[number] = [joined(some) for some in both]
        self.asks(rank, audited.named(call.fields["kernel"]), itertools.chain(*extents[:inputs], *extents[inputs + outputs:]), both[1])
        self.runs(rank, *both, launch=number)

    def on_library(self, rank, call):
        self.announced[call.process, call.fields["data"]] = call.fields["ranges"]

    def on_hostfunc(self, rank, call):
        ranges = self.announced.pop((call.process, call.fields["data"]), None)
        if ranges is None:
            raise Wrong("is a host function that no library has announced")
        for _, begin, end in ranges:
            self.inside("an operand", begin, end)
        self.runs(rank, *([[span[1:]] for span in ranges if span[0] == kind] for kind in "rw"))

    def rows(self, call, side, pitch):
        begin = int(call.fields[side], 16)
        if call.name in ("copy2d", "memset2d"):
            width, height, step = (int(call.fields[key]) for key in ("width", "height", pitch))
            return [(begin + row * step, begin + row * step + width) for row in range(height)]
        size = int(call.fields["bytes"]) if call.name == "copy" else int(call.fields["width"]) * int(call.fields["count"])
        return [(begin, begin + size)]

    def on_copy(self, rank, call):
        to, source = self.rows(call, "dst", "dpitch"), self.rows(call, "src", "spitch")
        kind, blocks = call.fields["kind"], call.fields["s"] == "-"
        for what, rows in (("a target", to),) * kind.endswith("d") + (("a source", source),) * kind.startswith("d"):
            # One that blocks has several numbers at once, with what lies between them.
            for begin, end in ends(rows) if blocks else [extent(rows)]:
                self.inside(what, begin, end)
        reads = ([[end] for end in ends(source)] if blocks else [source]) * kind.startswith("d")
        if blocks:
            if to == rank.fetched[0]:  # numbers of which some are set: they may be the first there
                rank.fetched[1].clear()
            rank.fetched = source, reads
        self.runs(rank, reads, [to] * kind.endswith("d"), spread=blocks)
        for host in ([extent(source)] if kind.startswith("h") else []) + ([extent(to)] if kind.endswith("h") else []):
            pinned = any(begin <= host[0] and host[1] <= begin + size for begin, size in rank.pinned.items())
            if not blocks and not pinned:
                raise Wrong("has memory of the host that is not pinned")

    on_copy2d = on_copy

    def on_memset(self, rank, call):
        rows = self.rows(call, "dst", "pitch")
        self.inside("a target", *extent(rows))
        self.runs(rank, [], [rows])

    on_memset2d = on_memset

    def touch(self, call):
        """When a kernel has run, it has touched its arguments alone."""
        number = call.process, call.fields["n"]
        if number not in self.launches:
            raise Wrong("is of no launch")
        allowed, runs = self.launches[number], []
        self.touched[number].append(runs)
        for key, extents in (("r", 0), ("w", 1)):
            spans = [bounds(span) for span in call.fields[key].split(",") if span != "-"]
            runs.append(spans)
            for begin, end in spans:
                if not allowed:
                    self.inside("touched bytes", begin, end)
                elif not any(low <= begin and end <= high for low, high in allowed[extents]):
                    what = "what it may only read" if extents else "what is no argument"
                    raise Wrong(f"touches {what}: {begin:x}-{end:x}")

    def on_write(self, rank, call):
        """How far a stream has come, for messages: in memory of the host."""
        place = int(call.fields["dst"], 16)
        if not any(begin <= place and place + 4 <= begin + size for begin, size in rank.pinned.items()):
            self.inside("a target", place, place + 4)
            self.runs(rank, [], [[(place, place + 4)]])
        if rank.capture:
            rank.capture.step(call.fields["s"])
            rank.together = call.fields["value"] != "0"  # the message that is under way

    # Captures and graphs.

    def on_begin(self, rank, call):
        if rank.capture:
            raise Wrong("begins a capture in a capture")
        rank.capture, rank.graph = Capture(call.fields["s"]), Graph()
        if rank.first is None:
            rank.first = len(rank.done)

    def on_record(self, rank, call):
        if rank.capture:
            rank.capture.record(call.fields["s"], call.fields["e"])
            self.asks(rank, None, (), (), "record", call.fields["e"])

    def on_wait(self, rank, call):
        if rank.capture:
            rank.capture.wait(call.fields["s"], call.fields["e"])
            self.asks(rank, None, (), (), "wait", call.fields["e"])

    def on_end(self, rank, call):
        if not rank.capture or rank.capture.origin != call.fields["s"]:
            raise Wrong("ends no capture of its stream")
        if rank.capture.unjoined():
            raise Wrong(f"ends a capture that {' '.join(rank.capture.unjoined())} has not joined again")
        rank.graphs[call.fields["g"]] = rank.graph
        rank.capture = rank.graph = None
        rank.between = 0

    def on_instantiate(self, rank, call):
        rank.execs[call.fields["x"]] = rank.graphs[call.fields["g"]]

    def on_graphlaunch(self, rank, call):
        # Between two steps what the host gives is copied to its place, and what ranks have is added up.
        if rank.between:
            raise Wrong(f"comes after {rank.between} launches of the plan that are in no graph")
        rank.between = 0
        graph = rank.execs[call.fields["x"]]
        rank.replays.append((graph, len(rank.done), len(rank.asked)))
        rank.done += graph.done
        rank.asked += graph.asked
        self.issued += graph.works

    def replayed_steps(self, rank):
        """The launches of graphs in each step."""
        many, rest = divmod(len(rank.replays), self.steps - 1)
        if not rank.execs or rest:
            raise Wrong(f"{len(rank.execs)} graphs and {len(rank.replays)} replays in {self.steps} steps, as many in each but the first wanted")
        return [rank.replays[begin:begin + many] for begin in range(0, len(rank.replays), many)]

    def first_replayed(self, rank):
        """What is asked for in the first step that is replayed, graphs and calls between them."""
        (_, _, begin), *_, (last, _, end) = self.replayed_steps(rank)[0]
        return rank.asked[begin:end + len(last.asked)]

    def check_replays(self, rank):
        """Graphs, with the calls between them, are what the first step has called."""
        before = rank.done[:rank.first]
        for (_, begin, _), *_, (last, end, _) in self.replayed_steps(rank):
            step = rank.done[begin:end + len(last.done)]
            if not any(step == before[at:at + len(step)] for at in range(len(before) - len(step), -1, -1)):
                raise Wrong("what is replayed is not what the first step has called")
        unused = len(rank.execs) - len({id(graph) for graph, _, _ in rank.replays})
        if unused:
            raise Wrong(f"{unused} graphs are never replayed")

    def finish(self):
        ranks = [rank for rank in self.ranks.values() if rank.arena]
        if len(ranks) != self.wanted:
            raise Wrong(f"{len(ranks)} ranks have an arena, {self.wanted} wanted")
        for rank in ranks:
            if not rank.freed or rank.streams or rank.events or rank.pinned:
                raise Wrong("something is left at the end: the arena, streams, events or pinned memory")
            if self.captures:
                self.check_replays(rank)


def sum_of_ranks(call, pointers):
    """What a kernel reads and writes that adds up what ranks have: members by `stride` elements, `count` of each."""
    size = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}[call.fields["kernel"].rpartition("_")[2]]
    source, to, members, count, stride = pointers
    return [(source, source + ((members - 1) * stride + count) * size)], [(to, to + count * size)]


def ends(rows):
    """The first and the last number."""
    begin, end = extent(rows)
    return (begin, min(begin + 4, end)), (max(end - 4, begin), end)


def check(lines, plan, arena_bytes, ranks, steps, captures):
    """`captures`: sections are graphs. Ranks that are threads meet on the host, which no graph can."""
    Checker(plan, arena_bytes, ranks, steps, captures).run(lines)

"""Reads what `tplanc --emit=overlap` prints: programs with their values, sections and tasks, and functions with their calls.

It is a second reading of that text, which shares nothing with the compiler: test/overlap/judge.py and bench/overlap-bound play it.
"""

import dataclasses
import re

NAME = r"%[\w.#$-]+"


@dataclasses.dataclass
class Use:
    """An instance of a value: an expression of `period` and `microbatch`. At a border of the run, another value's only one. `shift`:
    how much later the microbatch is than the section's."""
    value: str
    instance: str = "0"
    border: str = ""
    outer: str = ""
    shift: int = 0

    def at(self, period, last, microbatch):
        microbatch += self.shift
        if self.border and period == (0 if self.border == "first" else last):
            return self.outer, 0
        return self.value, eval(self.instance, {"__builtins__": {}}, {"period": period, "microbatch": microbatch})


@dataclasses.dataclass
class Step:
    line: int
    kind: str  # call, await, zero, unpack, copy, all_reduce, send, receive, launch, ready
    name: str  # of the function or kernel, or what it is of
    reads: list
    writes: list
    frame: str = ""
    started: bool = False
    layers: int = 1
    peer: int = -1
    axes: tuple = ()
    stream: int = 0
    turn: tuple = ()


@dataclasses.dataclass
class Run:
    line: int
    times: int
    descending: bool
    steps: list


@dataclasses.dataclass
class Section:
    name: str
    task: tuple  # kind and stage, or none
    first: bool
    last: bool
    items: list  # steps and runs
    pair: tuple = ()  # kind and stage of a second task that is done with the first, and how much later its microbatch is

    def steps(self):
        """Steps in their order, each with its period and the last one."""
        for item in self.items:
            if isinstance(item, Step):
                yield item, 0, 0
                continue
            for i in range(item.times):
                for step in item.steps:
                    yield step, item.times - 1 - i if item.descending else i, item.times - 1


@dataclasses.dataclass
class Value:
    owner: str
    lives: str
    bytes: int
    count: int
    family: str


@dataclasses.dataclass
class Program:
    rank: int
    tasks: list  # kind, stage, microbatch
    together: set  # places of those that are done with the one before
    microbatches: int
    values: dict
    slots: dict  # of families: the slot of each microbatch
    lives: dict  # of families: the tasks from which to which a slot is in use, and its bytes
    pools: dict  # of families: the pool, and the pool's slot of each of its slots
    sections: dict
    entries: dict  # by kind: times and section

    def executed(self, kind):
        """The sections of an entry in their order, each with its microbatch."""
        for times, section in self.entries.get(kind, []):
            if times == "tasks":
                first = {task[:2]: i for i, task in reversed(list(enumerate(self.tasks)))}
                last = {task[:2]: i for i, task in enumerate(self.tasks)}
                isApart = lambda i: any(each.task == self.tasks[i][:2] and not each.pair and
                                        (each.first and first[each.task] == i or each.last and last[each.task] == i)
                                        for each in self.sections.values())
                paired = set()
                for i, (task, stage, microbatch) in enumerate(self.tasks):
                    if i in paired:
                        continue
                    if i + 1 in self.together and not isApart(i) and not isApart(i + 1):
                        other = (*self.tasks[i + 1][:2], self.tasks[i + 1][2] - microbatch)
                        if both := [each for each in self.sections.values() if each.task == (task, stage) and each.pair == other]:
                            paired.add(i + 1)
                            yield both[0], microbatch
                            continue
                    of = [each for each in self.sections.values() if each.task == (task, stage) and not each.pair]
                    isFirst = first[task, stage] == i and any(each.first for each in of)
                    isLast = not isFirst and last[task, stage] == i and any(each.last for each in of)
                    yield next(each for each in of if (each.first, each.last) == (isFirst, isLast)), microbatch
            else:
                for microbatch in range(self.microbatches if times == "each_microbatch" else 1):
                    yield self.sections[section.strip('"')], microbatch

    def piece(self, use, period, last, microbatch):
        """The memory of a use: a value, its instance, and the slot that the microbatch has of it."""
        name, instance = use.at(period, last, microbatch)
        value = self.values[name]
        if not value.family:
            return name, instance, 0
        slot = self.slots[value.family][microbatch + use.shift]
        if value.family in self.pools:
            pool, slots = self.pools[value.family]
            slot = f"pool {pool} {slots[slot]}"
        return name, instance, slot


@dataclasses.dataclass
class Call:
    line: int
    kind: str
    results: list
    operands: list
    text: str  # types and attributes
    event: str = ""
    axes: tuple = ()
    stream: int = 0
    turn: tuple = ()


@dataclasses.dataclass
class Function:
    args: list     # names
    labels: list   # of arguments: role and name
    types: list    # of arguments
    results: list  # labels of results
    result_types: list
    calls: list
    stream: int = 0

    IN_PLACE = {"loss", "metric", "contribution", "cot_invariant", "cot_param", "param", "state"}

    def updated(self, result):
        """The argument whose memory a result is, or none."""
        label = self.results[result]
        return self.labels.index(label) if label[0] in self.IN_PLACE and label in self.labels else None

    def bind(self, pieces, number):
        """The memory of each value in one call, by name, temporaries by the number of the call; and of what it returns. `pieces`: of
        the arguments, then of the results that update none."""
        memory = dict(zip(self.args, pieces))
        others = iter(pieces[len(self.args):])
        returned = []
        for i in range(len(self.results)):
            updated = self.updated(i)
            returned.append(next(others) if updated is None else pieces[updated])
        for name, piece in zip(self.calls[-1].operands, returned):
            if name not in self.args:
                memory[name] = piece
        for call in self.calls[:-1]:
            for name in call.results:
                memory.setdefault(name, (f"{number} {name}", 0, 0))
        return memory, returned


@dataclasses.dataclass
class Listing:
    mesh: list    # axes and sizes
    stages: str   # the axis of the stages
    programs: list
    functions: dict
    channels: list  # of streams 1, 2, ..: axes and the ends of a message, counted from the rank

    @property
    def streams(self):
        return len(self.channels)


def split(text):
    """At commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{<"
        depth -= c in ")]}" or (c == ">" and text[i - 1] != "-")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()] if text.strip() else []


def matching(text, start):
    """The end of the bracket that begins at `start`."""
    depth, quoted = 0, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += c in "([{<"
            depth -= c in ")]}" or (c == ">" and text[i - 1] != "-")
            if depth == 0:
                return i
    raise ValueError(f"no end of bracket: {text[start:start + 80]}")


def axes_of(text):
    return tuple(re.findall(r'"([^"]+)"', text))


def turn_of(text):
    stream = re.search(r"sched\.stream = (\d+)", text)
    turn = re.search(r"sched\.turn = array<i64: (\d+), (\d+)>", text)
    return int(stream[1]) if stream else 0, tuple(map(int, turn.groups())) if turn else ()


def uses_of(text):
    uses = []
    for part in split(text):
        m = re.fullmatch(rf"({NAME})(?:\[(.*?)\])?(?: (first|last) ({NAME}))?(?: of microbatch ([+-]) (\d+))?", part)
        if not m:
            raise ValueError(f"no use of a value: {part}")
        uses.append(Use(m[1], (m[2] or "0").replace(" mod ", " % "), m[3] or "", m[4] or "", int((m[5] or "") + (m[6] or "0"))))
    return uses


def clause(text, word):
    """What stands in the brackets after a word, or nothing."""
    m = re.search(rf" {word}\(", text)
    return text[m.end():matching(text, m.end() - 1)] if m else ""


def step_of(line, text):
    kind, rest = re.match(r"sched\.(\w+)(.*)", text).groups()
    stream, turn = turn_of(rest)
    plain = " " + rest.split(" {sched.")[0]
    name = re.search(r'@([\w.$-]+|"[^"]*")|"([^"]*)"', plain)
    frame = re.search(rf" frame ({NAME})", plain)
    layers = re.search(r" layers (\d+)", plain)
    peer = re.search(r" rank (\d+)", plain)
    over = re.search(r" over (\[[^]]*\])", plain)
    return Step(line, kind, (name[1] or name[2]).strip('"') if name else "", uses_of(clause(plain, "from")), uses_of(clause(plain, "to")),
                frame[1] if frame else "", bool(re.search(r"\) started\b|%\S+ started\b| started$", plain)),
                int(layers[1]) if layers else 1, int(peer[1]) if peer else -1, axes_of(over[1]) if over else (), stream, turn)


def tasks_of(text):
    """The tasks, and the places of those that are done with the one before."""
    found = re.findall(r"(with )?(\w+) (\d+) (\d+)", text[:text.index("]")])
    return [(kind, int(stage), int(microbatch)) for _, kind, stage, microbatch in found], {i for i, each in enumerate(found) if each[0]}


class Reader:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.programs, self.functions = [], {}

    def read(self):
        axes = [(name, int(size)) for name, size in re.findall(r'<"([^"]+)", (\d+)(?: of "[^"]*")?>', self.lines[0].split(" granules ")[0])]
        stages = re.search(r'stages "([^"]+)"', self.lines[0])
        channels = [(axes_of(over), int(source or 0), int(to or 0)) for over, source, to in
                    re.findall(r"#sched\.stream<over (\[[^]]*\])(?: from (-?\d+) to (-?\d+))?>", self.lines[0])]
        for at, line in enumerate(self.lines):
            text = line.strip()
            if text.startswith("sched.program"):
                self.program(at)
            elif text.startswith("rt.func"):
                self.function(at)
        return Listing(axes, stages[1] if stages else "", self.programs, self.functions, channels)

    def program(self, at):
        head = self.lines[at].strip()
        rank = re.search(r" rank (\d+)", head)
        program = Program(int(rank[1]) if rank else 0, *tasks_of(head[head.index("tasks ["):]),
                          int(re.search(r" microbatches (\d+)", head)[1]), {}, {}, {}, {}, {}, {})
        section, run = None, None
        for at in range(at + 1, len(self.lines)):
            text = self.lines[at].strip()
            if text == "}":
                if run:
                    run = None
                elif section:
                    section = None
                else:
                    break
            elif m := re.match(rf"({NAME}) = sched\.value (.*)", text):
                after = m[2][matching(m[2], 0) + 1:]
                owner, lives, size, count = re.match(r" (\w+) (\w+) bytes (\d+) x (\d+)", after).groups()
                family = re.search(r' in @("[^"]*"|[\w.$-]+)', after)
                program.values[m[1]] = Value(owner, lives, int(size), int(count), family[1].strip('"') if family else "")
            elif text.startswith("sched.family"):
                name = re.match(r'sched\.family @("[^"]*"|[\w.$-]+)', text)[1].strip('"')
                program.slots[name] = [int(n) for n in re.search(r"slot_of \[([^]]*)\]", text)[1].split(",")]
                born, at, dies, there, size = re.search(r" from (\w+) (\d+) to (\w+) (\d+) slots \d+ bytes (\d+)", text).groups()
                program.lives[name] = (born, int(at)), (dies, int(there)), int(size)
                if pool := re.search(r" pool (\d+) \[([^]]*)\]", text):
                    program.pools[name] = int(pool[1]), [int(n) for n in pool[2].split(",")]
            elif m := re.match(r'sched\.section @("[^"]*"|[\w.$-]+)(?: task (\w+) (\d+))?(?: with (\w+) (\d+) shift (-?\d+))?( first)?( last)?', text):
                section = Section(m[1].strip('"'), (m[2], int(m[3])) if m[2] else (), bool(m[7]), bool(m[8]), [],
                                  (m[4], int(m[5]), int(m[6])) if m[4] else ())
                program.sections[section.name] = section
                if text.endswith("}"):
                    section = None
            elif m := re.match(r'sched\.run .* x (\d+)( descending)? {', text):
                run = Run(at + 1, int(m[1]), bool(m[2]), [])
                section.items.append(run)
            elif m := re.match(r"sched\.entry (\w+) (.*)", text):
                program.entries[m[1]] = re.findall(r'#sched\.execute<(\w+)(?: @("[^"]*"|[\w.$-]+))?>', m[2])
            elif text.startswith("sched."):
                (run.steps if run else section.items).append(step_of(at + 1, text))
        self.programs.append(program)

    def function(self, at):
        head = self.lines[at].strip()
        name = re.match(r'rt\.func @("[^"]*"|[\w.$-]+)\(', head)
        begin = name.end() - 1
        end = matching(head, begin)
        args, labels, types = [], [], []
        label = lambda part: (re.search(r'nn\.role = "([^"]+)"', part)[1], re.search(r'nn\.name = "([^"]+)"', part)[1])
        kind = lambda part: re.search(r"!nn\.tensor(<.*?>)(?= {|$)", part)[1]
        for part in split(head[begin + 1:end]):
            args.append(part.split(":")[0])
            labels.append(label(part))
            types.append(kind(part.split(": ", 1)[1]))
        rest, results, result_types = head[end + 1:], [], []
        if rest.startswith(" -> ("):
            close = matching(rest, 4)
            for part in split(rest[5:close]):
                results.append(label(part))
                result_types.append(kind(part))
        function = Function(args, labels, types, results, result_types, [], turn_of(rest)[0])
        for at in range(at + 1, len(self.lines)):
            text = self.lines[at].strip()
            if text == "}":
                break
            function.calls.append(self.call(at + 1, text))
        self.functions[name[1].strip('"')] = function

    @staticmethod
    def call(line, text):
        made, rest = re.match(rf"(?:((?:{NAME}(?::\d+)?(?:, )?)+) = )?(rt\..*)", text).groups()
        results = []
        for each in (made or "").split(", "):
            if each:
                base, _, count = each.partition(":")
                results += [f"{base}#{i}" for i in range(int(count))] if count else [base]
        kind = rest.split()[0].removeprefix("rt.")
        before = rest.split(" : ")[0] if " : " in rest else rest
        before = re.sub(r"\{[^{}]*\}$|\{sched\..*", "", before)
        operands = re.findall(NAME, before) if kind != "launch" else re.findall(NAME, rest[:cut_types(rest)])
        event = results.pop() if kind == "collective" and len(results) == 2 else ""
        over = re.search(r" over (\[[^]]*\])", rest) if kind == "collective" else None
        stream, turn = turn_of(rest)
        if kind == "collective":
            kind = rest.split()[1]
        return Call(line, kind, results, operands, rest, event, axes_of(over[1]) if over else (), stream, turn)


def cut_types(text):
    """Where the types of a call begin: those of what it adds onto stand beside it."""
    depth = 0
    for i, c in enumerate(text):
        depth += c in "([{<"
        depth -= c in ")]}" or (c == ">" and text[i - 1] != "-")
        if depth == 0 and text.startswith(" : ", i):
            return i
    return len(text)


def read(text):
    return Reader(text).read()

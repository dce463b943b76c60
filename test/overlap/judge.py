"""Judges a plan that `tplanc --emit=overlap` has printed: does a step, an evaluation and a prediction do what they say, whoever is first?

Each rank has threads: 0, which computes, and one for each stream. What happens before what is known by vector clocks: a stream waits for
what thread 0 had done when something was started, thread 0 for a stream where it awaits. It is wrong if two touch a piece of memory, one
of them writing, and neither happens before the other; if an await awaits nothing, or something is under way at the end; if ranks wait for
each other in a circle, or meet in unlike exchanges; and if what is left in memory is not what `reference` left, where each value is known
by how it was made. Nothing here is shared with the compiler.
"""

import collections

import listing
import parts


class Wrong(Exception):
    pass


class Rank:
    """A rank of each coordinate along the axis of the stages: the others do the same."""

    def __init__(self, plan, program):
        self.plan, self.program = plan, program
        threads = range(plan.streams + 1)
        self.clocks = [[0] * len(threads) for _ in threads]
        self.events = {}      # by number: a clock
        self.signals = {}     # by instance of a value: a clock, until it is awaited
        self.posted = {}      # by instance of a value: a message, until it is awaited
        self.last = {}        # by group or channel: thread and time of its last exchange
        self.content = {}     # by piece: how it was made
        self.writers = {}     # by piece: thread and time
        self.readers = {}     # by piece: of each thread the last time
        self.calls = 0        # so that temporaries of calls differ
        self.touched = set()  # pieces that live as long as this section

    # Memory.

    def piece(self, use, period, last, microbatch):
        piece = self.program.piece(use, period, last, microbatch)
        value = self.program.values[piece[0]]
        if not 0 <= piece[1] < value.count:
            raise Wrong(f"{piece[0]} has no instance {piece[1]}")
        if value.lives == "section":
            self.touched.add(piece)
        return piece

    def before(self, thread, time, at):
        return time <= self.clocks[at][thread]

    def read(self, piece, thread):
        if (writer := self.writers.get(piece)) and not self.before(*writer, thread):
            raise Wrong(f"{piece} is read while it is written")
        self.readers.setdefault(piece, {})[thread] = self.clocks[thread][thread]
        return self.content.get(piece, ("given", piece[0].split(",")[0], piece[1]) if self.isKept(piece) else ("nothing",))

    def isKept(self, piece):
        return piece[0] in self.program.values and self.program.values[piece[0]].lives == "always"

    def write(self, piece, thread, content):
        if (writer := self.writers.get(piece)) and not self.before(*writer, thread):
            raise Wrong(f"{piece} is written twice at once")
        for reader, time in self.readers.pop(piece, {}).items():
            if not self.before(reader, time, thread):
                raise Wrong(f"{piece} is written while it is read")
        self.writers[piece] = thread, self.clocks[thread][thread]
        if content is not None:
            self.content[piece] = hash(content)

    def free(self, pieces):
        """Their memory may be another's from now on."""
        for piece in pieces:
            self.write(piece, 0, None)
            self.content.pop(piece, None)

    # Threads.

    def tick(self, thread):
        self.clocks[thread][thread] += 1

    def join(self, thread, clock):
        self.clocks[thread] = [max(a, b) for a, b in zip(self.clocks[thread], clock)]

    def follow(self, source, stream, event):
        self.events[event] = list(self.clocks[source])
        self.join(stream, self.events[event])

    # Work.

    def task(self, name, reads, writes, thread=0, call=None):
        """Something that reads and writes pieces in a thread; perhaps a call of a function."""
        self.tick(thread)
        contents = [self.read(piece, thread) for piece in reads]
        made = parts.contents_of(call, name, contents) if call else None
        if made and parts.is_of(made[0], parts.CALL):
            name, contents, made = made[0][1], made[0][2:], None
        for i, piece in enumerate(writes):
            self.write(piece, thread, ((name, *contents), i))
            if made:
                self.content[piece] = made[i]

    def exchange(self, name, reads, writes, axes, stream, turn, home=0, call=None):
        """Something in a stream, which follows thread `home`; whoever waits for it asks for the second event."""
        if turn:
            self.enter(axes, stream)
            self.follow(home, stream, turn[0])
        thread = stream if turn else home
        self.task(name, reads, writes, thread, call)
        self.order(axes, thread)
        if turn:
            self.events[turn[1]] = list(self.clocks[stream])

    def enter(self, axes, stream, ends=(0, 0)):
        """A stream is of one group, or of one channel, whose ends are counted from the rank."""
        if not 0 < stream <= self.plan.streams or self.plan.channels[stream - 1] != (axes, *ends):
            raise Wrong(f"an exchange over {axes} {ends} in stream {stream}")

    def order(self, channel, thread):
        """What a group does has one order on all ranks."""
        if channel in self.last and not self.before(*self.last[channel], thread):
            raise Wrong(f"exchanges over {channel} have no order")
        self.last[channel] = thread, self.clocks[thread][thread]

    def function(self, step, pieces, home):
        """The calls of a function; `pieces`: of its arguments, then of its results that update none."""
        function = self.plan.functions[step.name]
        self.calls += 1
        memory, given = function.bind(pieces, self.calls)
        back = function.calls[-1]
        inFrame = any(piece[0].startswith(f"{self.calls} ") for piece in memory.values())
        turns = {}
        for call in function.calls[:-1]:
            if call.event:
                turns[call.event] = call.turn
            if call.kind == "await":
                for event in call.operands:
                    if event not in turns:
                        raise Wrong(f"line {call.line}: awaits what is not started")
                    turn = turns.pop(event)
                    if turn:
                        self.join(home, self.events[turn[1]])
                continue
            reads, writes = [memory[name] for name in call.operands], [memory[name] for name in call.results]
            name = call.kind, call.text.split("@")[1].split("(")[0] if call.kind == "launch" else call.axes
            if not call.axes:
                self.task(name, reads, writes, home, call)
                continue
            self.exchange(name, reads, writes, call.axes, call.stream, call.turn, home, call)
            if not call.event and call.turn:
                self.join(home, self.events[call.turn[1]])
        if turns:
            raise Wrong(f"{step.name}: something is under way at its end")
        for name, piece in zip(back.operands, given):
            if memory[name] != piece:  # an argument, returned as another result
                self.task("copy", [memory[name]], [piece], home)
        # The temporaries of two calls share a frame.
        if inFrame and step.frame:
            self.write((step.frame, 0, 0), home, None)
            if self.program.values[step.frame].lives == "section":
                self.touched.add((step.frame, 0, 0))

    def step(self, step, period, last, microbatch):
        """Yields where it waits for other programs."""
        place = lambda use: self.piece(use, period, last, microbatch)
        reads, writes = [place(use) for use in step.reads], [place(use) for use in step.writes]
        if step.kind == "await":
            for event in reads:
                if event not in self.signals:
                    raise Wrong(f"line {step.line}: awaits what is not started")
                self.join(0, self.signals.pop(event))
                if event in self.posted:
                    yield from self.settle(*self.posted.pop(event))
        elif step.kind == "call" and step.started:
            self.follow(0, step.stream, step.turn[0]) if step.turn else None
            home = step.stream if step.turn else 0
            self.function(step, reads + writes[:-1], home)
            if writes[-1] in self.signals:
                raise Wrong(f"line {step.line}: signals what is not awaited yet")
            self.signals[writes[-1]] = list(self.clocks[home])
        elif step.kind == "call":
            self.function(step, reads + writes, 0)
        elif step.kind in ("send", "receive"):
            yield from self.message(step, reads, writes)
        elif step.kind == "all_reduce":
            crosses = self.plan.stages in step.axes and len(self.plan.programs) > 1
            name = step.kind, step.axes, step.name
            contents = (yield (name, [self.read(piece, 0) for piece in reads])) if crosses else []
            self.exchange((name, *map(tuple, contents)), reads, writes, step.axes, step.stream, step.turn)
            if step.turn:
                self.join(0, self.events[step.turn[1]])
        elif step.kind != "ready":
            self.task((step.kind, step.name, microbatch if step.kind == "unpack" else 0), reads, writes)

    def message(self, step, reads, writes):
        here, sends = self.program.rank, step.kind == "send"
        channel = ("message", here, step.peer) if sends else ("message", step.peer, here)
        event = writes.pop() if step.started else None
        sizes = [self.program.values[use.value].bytes for use in (step.reads if sends else step.writes[:len(writes)])]
        number = yield channel, "post", sends, (sizes, [self.content.get(piece) for piece in reads])
        if step.turn:
            ends = (0, step.peer - here) if sends else (step.peer - here, 0)
            self.enter((self.plan.stages,), step.stream, ends)
            self.follow(0, step.stream, step.turn[0])
        thread = step.stream if step.turn else 0
        self.tick(thread)
        for piece in reads:
            self.read(piece, thread)
        for piece in writes:
            self.write(piece, thread, None)
            self.content.pop(piece, None)
        self.order(channel, thread)
        if event:
            if event in self.signals:
                raise Wrong(f"line {step.line}: signals what is not awaited yet")
            self.signals[event] = list(self.clocks[thread])
            self.posted[event] = channel, sends, number, writes
            return
        if step.turn:
            self.events[step.turn[1]] = list(self.clocks[thread])
            self.join(0, self.events[step.turn[1]])
        yield from self.settle(channel, sends, number, writes)

    def settle(self, channel, sends, number, writes):
        """Waits until a message has come."""
        contents = yield channel, "wait", sends, number
        for piece, content in zip(writes, contents):
            self.content[piece] = hash(("received", content))

    def entries(self, kinds):
        for kind in kinds:
            yield from self.entry(kind)

    def entry(self, kind):
        for section, microbatch in self.program.executed(kind):
            self.touched = set()
            for step, period, last in section.steps():
                yield from self.step(step, period, last, microbatch)
            self.free(self.touched)
        for thread in range(1, self.plan.streams + 1):
            if not self.before(thread, self.clocks[thread][thread], 0):
                raise Wrong(f"something is under way at the end of {kind}")
        if self.signals:
            raise Wrong(f"something is not awaited at the end of {kind}")

    def left(self):
        return {piece: content for piece, content in self.content.items()
                if self.isKept(piece) and self.program.values[piece[0]].owner not in ("event", "frame")}


def play(plan, kinds):
    """Plays entries, one after the other, on all ranks; what each leaves in memory that is kept."""
    ranks = [Rank(plan, program) for program in plan.programs]
    going = [rank.entries(kinds) for rank in ranks]
    waits = [None] * len(ranks)

    def resume(i, answer=None):
        try:
            waits[i] = going[i].send(answer)
        except StopIteration:
            waits[i] = "done"

    channels = collections.defaultdict(lambda: {True: [], False: []})  # what each end has posted

    def answer(channel, what, sends, which):
        """The number of what is posted; or, once both ends have been, what has come."""
        if not any(rank.program.rank == channel[1 + sends] for rank in ranks):
            raise Wrong(f"no such rank: {channel[1 + sends]}")
        mine, others = channels[channel][sends], channels[channel][not sends]
        if what == "post":
            mine.append(which)
            if len(mine) <= len(others) and mine[-1][0] != others[len(mine) - 1][0]:
                raise Wrong(f"ranks {channel[1]} and {channel[2]} send and receive unlike values")
            return len(mine) - 1
        return others[which][1] if which < len(others) else None

    for i in range(len(ranks)):
        resume(i)
    while any(wait != "done" for wait in waits):
        went = False
        for i, wait in enumerate(waits):
            if wait == "done":
                continue
            if wait[0][0] == "message":
                if (came := answer(*wait)) is not None:
                    resume(i, came)
                    went = True
            elif all(each != "done" and each[0] == wait[0] for each in waits):
                contents = [each[1] for each in waits]
                for j in range(len(ranks)):
                    resume(j, contents)
                went = True
        if not went:
            raise Wrong(f"ranks wait for each other: {[wait if wait == 'done' else wait[0] for wait in waits]}")
    return [rank.left() for rank in ranks]


# Copies of weights may be made again in the next step, so they are prepared after one, as before an evaluation.
ENTRIES = [("prepare",), ("prepare", "step", "prepare"), ("prepare", "evaluate"), ("prepare", "predict")]


def judge(text, reference=None):
    """What the plan leaves in memory; raises Wrong where it is wrong, or where it leaves something else than `reference`."""
    try:
        plan = listing.read(text)
        left = [play(plan, kinds) for kinds in ENTRIES]
    except (KeyError, IndexError, StopIteration, RuntimeError) as error:
        raise Wrong(f"is no plan: {type(error).__name__} {error}") from error
    if reference is not None and left != reference:
        raise Wrong("leaves something else in memory")
    return left

"""The calls of a step and what each comes after; and the least time that such a step can take, however its exchanges overlap.

bench/overlap-bound writes down what each rank does, in tasks (sections) whose order is given. The bound is the largest of

- the longest path, in which a call comes after those that made what it reads; what a rank computes in a task, in any order, comes after
  all that it computes in the task before, whose calls take their time one after the other;
- for each stream of a rank, and its compute units, the least time in which one after the other can do its calls, each of which begins
  after the longest path before it and has the longest path after it to go. That is Jackson's preemptive schedule of one machine with
  heads and tails (Carlier 1982), which is exact where calls may be interrupted and a bound where they may not. The same holds for the end of
  each task and what comes before that: so a task whose exchanges take longer than it computes makes later tasks begin later.

A rank has no memory for all weights at once. A gathered weight takes its bytes from the start of the gather to its last reader, a gradient
of a whole weight from the call that makes it, which may be that reader, to the end of its sum. Gathers of weights over a group come one
after the other, and so do sums. What the device has left for them in a task is its memory without what is there always and without the
slots of families that the task finds in use. The next one cannot begin before so many have left that it fits. What functions need besides
that is not counted, so the bound stays below.
"""
import collections
import heapq


class Graph:
    """Calls by number: a call comes after others with smaller numbers."""

    def __init__(self):
        self.seconds, self.after = [], []
        self.streams = collections.defaultdict(list)  # of a rank: the calls that take turns
        self.stream = []                              # by call
        self.ends = {}                                # of tasks: the numbers of their ends, and the rank

    def add(self, seconds, after, stream=None):
        self.seconds.append(seconds)
        self.after.append(after)
        self.stream.append(stream)
        if stream is not None and seconds > 0:
            self.streams[stream].append(len(self.seconds) - 1)
        return len(self.seconds) - 1

    def bound(self):
        heads, tails = [0.0] * len(self.seconds), [0.0] * len(self.seconds)
        before = collections.defaultdict(set)  # by rank: what comes before the end of its last task
        for i, after in enumerate(self.after):
            heads[i] = max((heads[j] + self.seconds[j] for j in after), default=0.0)
            if i in self.ends:
                heads[i] = max(heads[i], self.end_of_task(i, self.ends[i], heads, before[self.ends[i]]))
        for i in reversed(range(len(self.seconds))):
            for j in self.after[i]:
                tails[j] = max(tails[j], tails[i] + self.seconds[i])
        longest = max((heads[i] + self.seconds[i] for i in range(len(self.seconds))), default=0.0)
        return max([longest, *(one_machine([(heads[i], self.seconds[i], tails[i]) for i in calls]) for calls in self.streams.values())])

    def end_of_task(self, end, rank, heads, before):
        """When a task can end at the earliest, by what each stream of its rank does after the end of the task before."""
        calls, work = {end}, [end]
        while work:
            for j in self.after[work.pop()]:
                if j not in before and j not in calls and (self.stream[j] is None or self.stream[j][0] == rank):
                    calls.add(j)
                    work.append(j)
        before |= calls
        tails, streams = dict.fromkeys(calls, 0.0), collections.defaultdict(list)
        for i in sorted(calls, reverse=True):
            for j in self.after[i]:
                if j in calls:
                    tails[j] = max(tails[j], tails[i] + self.seconds[i])
            if self.stream[i] is not None and self.seconds[i] > 0:
                streams[self.stream[i]].append((heads[i], self.seconds[i], tails[i]))
        return max(map(one_machine, streams.values()), default=0.0)


def one_machine(jobs):
    """When the last of jobs (head, seconds, tail) ends, if one at a time is done, the longest tail first, and others may interrupt it."""
    jobs = sorted(jobs)
    now, end, at, ready = 0.0, 0.0, 0, []
    while at < len(jobs) or ready:
        if not ready:
            now = max(now, jobs[at][0])
        while at < len(jobs) and jobs[at][0] <= now:
            heapq.heappush(ready, [-jobs[at][2], jobs[at][1]])
            at += 1
        tail, left = ready[0]
        until = min(now + left, jobs[at][0] if at < len(jobs) else float("inf"))
        ready[0][1] -= until - now
        if now + left <= until:
            heapq.heappop(ready)
            end = max(end, until - tail)
        now = until
    return end


class Held:
    """Bytes of a whole weight or gradient in flight."""

    def __init__(self, size, begins):
        self.size, self.begins = size, begins
        self.ends, self.section = None, 0  # the call with which it ends, and where that or what makes it is


class Rank:
    """What a rank writes into the graph. Pieces of memory are keys, of which only identity counts."""

    def __init__(self, graph, program, memory):
        self.graph, self.program, self.memory, self.name = graph, program, memory, program.rank
        self.made = {}      # by piece: the call that made it
        self.before = None  # the end of the task before
        self.tasks = []     # of each section: the number of its task, or none
        self.done = 0       # tasks
        self.computed, self.work = [], 0.0  # calls of this section, and their seconds
        self.held = {}      # by piece: what is in flight now
        self.gathered, self.summed = collections.defaultdict(list), collections.defaultdict(list)  # by group
        self.groups = set()  # over which weights are gathered

    def section(self, tasks):
        """Another section begins, of so many tasks, after all that the last one computed."""
        if self.computed:
            total = self.graph.add(self.work, [] if self.before is None else [self.before])
            self.before = self.graph.add(0.0, [total, *self.computed])
            self.graph.ends[self.before] = self.name
        self.tasks.append(self.done if tasks else None)
        self.done += tasks
        self.computed, self.work = [], 0.0

    def add(self, seconds, reads, writes, group, started, kind, moved):
        """`moved`: the bytes that a collective reads, and those that it makes."""
        after = [self.made[piece] for piece in reads if piece in self.made]
        compute = not group and not started
        if compute and self.before is not None:
            after.append(self.before)
        call = self.graph.add(seconds, after, (self.name, group))
        if compute:
            self.computed.append(call)
            self.work += seconds
        for piece in reads:
            if held := self.held.get(piece):
                held.ends, held.section = call, len(self.tasks) - 1
        if kind == "all_gather" and self.is_weight(reads[0]):
            self.groups.add(group)
            if self.is_passing(writes[0]):
                self.held[writes[0]] = Held(moved[1], call)
                self.gathered[group].append(self.held[writes[0]])
        elif kind == "reduce_scatter" and self.is_passing(reads[0]) and reads[0] in self.made:
            held = Held(moved[0], self.made[reads[0]])
            held.ends, held.section = call, len(self.tasks) - 1
            self.summed[group].append(held)
        for piece in writes:
            self.made[piece] = call
            if kind != "all_gather":
                self.held.pop(piece, None)

    def is_weight(self, piece):
        """A parameter, or what another group has gathered of one."""
        value = self.program.values.get(piece[0])
        return piece in self.held or (value is not None and value.owner in ("parameter", "copy"))

    def is_passing(self, piece):
        """A temporary, or in flight from one function to another."""
        value = self.program.values.get(piece[0])
        return value is None or value.owner == "in_flight"

    def returns(self, pairs, temporaries):
        """The end of a function: what else is what it returns, and what is gone."""
        for made, piece in pairs:
            if made != piece and made in self.made:
                self.made[piece] = self.made[made]
        for piece in temporaries:
            self.made.pop(piece, None)
            self.held.pop(piece, None)

    def send(self, seconds, reads, channel):
        """A message goes when the tasks before it are done."""
        after = [self.made[piece] for piece in reads if piece in self.made]
        return self.graph.add(seconds, after if self.before is None else [*after, self.before], channel)

    def join(self, calls, writes):
        """The tasks after this one begin when all of these calls are done."""
        joined = self.graph.add(0.0, calls)
        self.computed.append(joined)
        self.made.update(dict.fromkeys(writes, joined))

    def left(self):
        """Bytes that each section leaves for what is in flight."""
        program, tasks = self.program, {task: i for i, task in enumerate(self.program.tasks)}
        always = sum(value.bytes * value.count for value in program.values.values() if value.lives == "always" and value.owner != "in_flight")
        used = [0] * len(tasks)
        flying = {value.family for value in program.values.values() if value.owner == "in_flight"}
        for born, dies, size in (its for name, its in program.lives.items() if name not in flying):
            for microbatch in range(program.microbatches):
                first, last = (tasks.get((*task, microbatch)) for task in (born, dies))
                for at in range(first, last + 1) if first is not None and last is not None else ():
                    used[at] += size
        return [self.memory - always - (used[task] if task is not None else 0) for task in self.tasks]

    def limit_flight(self):
        """What comes next into flight comes after so many have left it that it fits."""
        left = self.left()
        grown = collections.Counter()  # by call: bytes of the whole gradients that it makes
        for held in (held for flight in self.summed.values() for held in flight):
            grown[held.begins] += held.size
        flights = [(True, flight) for flight in self.gathered.values()] + [(False, self.summed[group]) for group in self.groups]
        for gathers, flight in flights:
            flight = [held for held in flight if held.ends is not None]
            for k, held in enumerate(flight):
                if k:  # one after the other on their stream
                    begins, before = (held.begins, flight[k - 1].begins) if gathers else (held.ends, flight[k - 1].ends)
                    self.graph.after[begins] = [*self.graph.after[begins], before]
                size, m = held.size, k - 1
                while m >= 0 and self.memory:
                    size += flight[m].size
                    # What last reads the weight makes a gradient, when all after it are there.
                    if size + (grown[flight[m].ends] if gathers else 0) > left[flight[m].section if gathers else held.section]:
                        break
                    m -= 1
                # The listing itself may count on what is not counted here; then it is the limit.
                if m >= 0 and self.memory and flight[m].ends < held.begins:
                    self.graph.after[held.begins] = [*self.graph.after[held.begins], flight[m].ends]

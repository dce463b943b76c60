"""Whether what a host program reads is alive, from the log of its driver calls (driver_calls.py).

Slots share bytes, one after the other. Bytes that are written belong to the slots that have all of the write, and no
longer to another; an operand that is read has to be in one slot that all of its bytes belong to. So they were written
since the allocation, by no tenant of another slot. And in steps of training an operand is whole writes, or a part of
one: one that has the end of a larger write beside another write is of two tenants.

The order is that in which the process issues work, that of a graph at each of its launches. Streams may run it in
another, but only where neither side writes what the other touches (--audit-streams), so each read finds what it finds
here.

Not seen: a tenant that has all bytes of the one that is read, as frames have, whose values are no slots, where what is
read is also a whole write; what lies in a copy that blocks after its first number and before its last; what a library
leaves out of the range that it names. In captured steps audited.py sees the first of these. Decoding has operands of
which some rows mean nothing, so from the first kernel of `rows` the second rule is off.
"""
import bisect
import collections

from training import Wrong

# A call, by number and text: operands that it reads and writes, each a list of rows, or of a launch its arguments; the
# key of a launch among what is touched; whether it writes to several slots; whether it measures algorithms.
Work = collections.namedtuple("Work", "title process reads writes launch spread measures")


def extent(rows):
    return rows[0][0], rows[-1][1]


def joined(extents):
    """Sorted, those that touch as one."""
    merged = []
    for begin, end in sorted(extents):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((begin, end))
    return merged


class Memory:
    """Memory of a process: from each place to the next, the slots that bytes belong to, as a mask, and of which write."""

    def __init__(self, plan, bases):
        self.plan, self.bases, self.decodes = plan, sorted(bases), False
        self.begins, self.states = [0], [(0, None)]

    def base(self, address):
        return self.bases[bisect.bisect_right(self.bases, address) - 1]

    def owners(self, begin, end):
        base = self.base(begin)
        return self.plan.owners(begin - base, end - base)

    def pieces(self, begin, end):
        """Cut where slots begin and end."""
        base = self.base(begin)
        cuts = [begin, *(base + edge for edge in self.plan.edges if begin < base + edge < end), end]
        return zip(cuts, cuts[1:])

    def write(self, begin, end, state):
        first, last = bisect.bisect_left(self.begins, begin), bisect.bisect_left(self.begins, end)
        after = [] if end in self.begins[last:last + 1] else [self.states[last - 1]]
        self.begins[first:last] = [begin, end] if after else [begin]
        self.states[first:last] = [state, *after]

    def read(self, span, rows):
        mask, writes = self.owners(*span), set()
        for begin, end in rows:
            first, last = bisect.bisect_right(self.begins, begin) - 1, bisect.bisect_left(self.begins, end)
            for some, write in self.states[first:last]:
                mask &= some
                writes.add(write)
        where = "arena bytes {} to {}".format(*(place - self.base(span[0]) for place in span))
        if not mask:
            raise Wrong(f"reads what is alive in no slot: {where}")
        cut = any(low < edge < high for low, high in writes for edge in span)
        if cut and len(writes) > 1 and not self.decodes:
            raise Wrong(f"reads what is left of another tenant: {where}")


def within(touched, extents):
    """The rows of each extent that were touched: bytes that are touched side by side may belong to two slots."""
    begins = [begin for begin, _ in touched]
    for low, high in extents:
        first = max(0, bisect.bisect_right(begins, low) - 1)
        near = touched[first:bisect.bisect_left(begins, high)]
        rows = [(max(low, begin), min(high, end)) for begin, end in near if end > low]
        if rows:
            yield (low, high), rows


def operands(work, runs):
    """What is read and what is written, each an extent that is in one slot, and its rows."""
    if not work.launch:
        return [[(extent(rows), rows) for rows in some] for some in (work.reads, work.writes)]
    touched = next(runs[work.launch], None) if work.launch in runs else None
    if touched is None:
        raise Wrong("has not run")
    if work.reads is None:  # the kernel of any size
        return [[(span, [span]) for span in spans] for spans in touched]
    return [within(*both) for both in zip(touched, (work.reads, work.writes))]


def follow(work, memory, runs):
    reads, writes = operands(work, runs)
    memory.decodes |= "$rows " in work.title[1]
    for span, rows in () if work.measures else reads:
        memory.read(span, rows)
    for span, rows in writes:
        for row in rows:
            for piece in memory.pieces(*row) if work.spread else [row]:
                whole = piece if work.spread else span
                memory.write(*piece, (0 if work.measures else memory.owners(*whole), whole))


def check(plan, arenas, issued, touched):
    """`arenas`: where they begin, by process; `touched`: by launch, what each of its runs has read and written."""
    memories = {process: Memory(plan, bases) for process, bases in arenas.items()}
    runs = {launch: iter(some) for launch, some in touched.items()}
    for work in issued:
        try:
            follow(work, memories[work.process], runs)
        except Wrong as wrong:
            raise Wrong(f"call {work.title[0]} {wrong}: {work.title[1]}") from None

"""Plays and checks execution orders of pipeline schedules, with no knowledge of any schedule.

Conventions are those of the survey, section 1; messages are placed as
in section 4. Times have the unit of the given costs. Memory is counted in chunks: one unit is what one
forward of one chunk keeps for one microbatch.
"""

import re
from typing import NamedTuple

ACTION = re.compile(r"(\d+)([FBIW])(\d+)")
MESSAGE = re.compile(r"(\d+)(SEND|RECV)_([FB])(\d+)")


class Malformed(ValueError):
    """The orders cannot be read or cannot run to their end."""


def parts(token):
    """Actions (stage, kind, microbatch) of a token: two for an overlapped pair, otherwise one."""
    texts = token[1:-1].split(";") if token.startswith("(") else [token]
    found = [ACTION.fullmatch(text.strip()) for text in texts]
    if not all(found):
        raise Malformed(f"not an action: {token!r}")
    actions = [(int(m[1]), m[2], int(m[3])) for m in found]
    if len(actions) > 1 and [kind for _, kind, _ in actions] != ["F", "B"]:
        raise Malformed(f"a pair is one F and one B: {token!r}")
    return actions


class Chains:
    """Neighbours of each stage along the chains of the model (section 1)."""

    def __init__(self, chains):
        self.before, self.after = {}, {}
        for chain in chains:
            for stage, following in zip(chain, chain[1:]):
                self.after[stage] = following
                self.before[following] = stage

    def remote_input(self, stage, kind):
        """(stage, direction) whose result this action takes from another stage, or None."""
        if kind == "F" and stage in self.before:
            return self.before[stage], "F"
        if kind in "BI" and stage in self.after:
            return self.after[stage], "B"
        return None

    def output_to(self, stage, kind):
        """(stage, direction) that receives this action's result, or None."""
        if kind == "F" and stage in self.after:
            return self.after[stage], "F"
        if kind in "BI" and stage in self.before:
            return self.before[stage], "B"
        return None


def result_key(stage, kind, microbatch):
    """The name of what an action hands on. I and B give the same: a gradient for the stage before."""
    return stage, {"F": "F", "B": "B", "I": "B", "W": "W"}[kind], microbatch


def needs(chains, token):
    """Results that must be there before the token may start (dependencies of section 1)."""
    needed = set()
    for stage, kind, microbatch in parts(token):
        source = chains.remote_input(stage, kind)
        if source:
            needed.add((source[0], source[1], microbatch))
        if kind in "BI":
            needed.add((stage, "F", microbatch))
        if kind == "W":
            needed.add((stage, "B", microbatch))
    return needed


class Outcome(NamedTuple):
    """Result of a simulation; lists have one entry per rank.

    bubble_ratio is 1 - busy / (ranks * makespan) and so counts the start stagger (section 1).
    idle_inside is last end - first start - busy. Peaks are in chunks, in program order.
    """

    makespan: float
    busy: list
    idle: list
    idle_inside: list
    bubble_ratio: float
    peak_until_weight: list
    peak_until_input: list
    spans: list


def simulate(orders, chains, costs=(1, 1, 1), latency=0, full_backward=None):
    """Play the orders in program order on each rank.

    costs: (F, I, W). full_backward: cost of B, I + W when left out. latency: from the end of an action
    until its result is on another rank; a message occupies no rank and messages do not queue.
    """
    links = Chains(chains)
    cost = dict(zip("FIW", costs))
    cost["B"] = cost["I"] + cost["W"] if full_backward is None else full_backward
    home = {stage: rank for rank, order in enumerate(orders) for token in order for stage, _, _ in parts(token)}
    ended = {}
    spans = [[] for _ in orders]

    def arrival(key, rank):
        return ended[key] + (latency if home[key[0]] != rank else 0)

    for rank, token in _runnable(orders, links):
        ready = max((arrival(key, rank) for key in needs(links, token)), default=0)
        start = max(ready, spans[rank][-1][2] if spans[rank] else 0)
        end = start + sum(cost[kind] for _, kind, _ in parts(token))
        spans[rank].append((token, start, end))
        ended.update((result_key(*action), end) for action in parts(token))
    return _outcome(orders, spans)


def _runnable(orders, links):
    """Yield (rank, token) round-robin over the ranks, each token after everything that it needs."""
    there = set()
    position = [0] * len(orders)
    moved = True
    while moved:
        moved = False
        for rank, order in enumerate(orders):
            if position[rank] < len(order) and needs(links, order[position[rank]]) <= there:
                token = order[position[rank]]
                position[rank] += 1
                moved = True
                there.update(result_key(*action) for action in parts(token))
                yield rank, token
    stuck = [f"rank {r} at {order[i]}" for r, (order, i) in enumerate(zip(orders, position)) if i < len(order)]
    if stuck:
        raise Malformed("deadlock: " + ", ".join(stuck))


def _outcome(orders, spans):
    makespan = max(span[-1][2] for span in spans if span)
    busy = [sum(end - start for _, start, end in span) for span in spans]
    inside = [span[-1][2] - span[0][1] - work if span else 0 for span, work in zip(spans, busy)]
    return Outcome(makespan, busy, [makespan - work for work in busy], inside,
                   1 - sum(busy) / (len(orders) * makespan),
                   [peak(order, "W") for order in orders], [peak(order, "I") for order in orders], spans)


def peak(order, freed_by):
    """Peak of live activations on one rank, in chunks, in program order.

    freed_by: W or I, the action that frees a split backward's activation; B always frees. A pair
    allocates for its forward before its backward frees (trap 5).
    """
    live = highest = 0
    for token in order:
        for _, kind, _ in parts(token):
            live += {"F": 1, "B": -1, freed_by: -1}.get(kind, 0)
            highest = max(highest, live)
    return highest


# ---- messages, section 4 ----------------------------------------------------------------------

def place_messages(orders, chains, rank_of_stage):
    """Orders with messages, written `<stage>SEND_F<microbatch>`, `RECV_F`, `SEND_B` or `RECV_B`.

    The stage of a SEND is the one that produced, the stage of a RECV the one that consumes. SEND and RECV
    of one message are appended at the same moment, when the producing action is.
    """
    links = Chains(chains)
    programs = [[] for _ in orders]
    for rank, token in _runnable(orders, links):
        programs[rank].append(token)
        for stage, kind, microbatch in parts(token):
            target = links.output_to(stage, kind)
            if target and rank_of_stage[target[0]] != rank:
                programs[rank].append(f"{stage}SEND_{target[1]}{microbatch}")
                programs[rank_of_stage[target[0]]].append(f"{target[0]}RECV_{target[1]}{microbatch}")
    return programs


def _message(text, links, rank_of_stage):
    """((source rank, destination rank), is_send, identity), the same identity at both ends; or None."""
    match = MESSAGE.fullmatch(text)
    if not match:
        return None
    stage, is_send, direction, microbatch = int(match[1]), match[2] == "SEND", match[3], int(match[4])
    downstream = (direction == "F") == is_send
    peer = (links.after if downstream else links.before).get(stage)
    if peer is None:
        raise Malformed(f"{text} has no stage at its other end")
    sender, receiver = (stage, peer) if is_send else (peer, stage)
    return (rank_of_stage[sender], rank_of_stage[receiver]), is_send, (sender, direction, microbatch)


def check_messages(programs, chains, rank_of_stage):
    """Problems of programs with messages: FIFO per channel, arrival before use, progress when blocking.

    An entry that is a tuple of messages is one batch: all of it is posted before any of it is waited for.
    A message outside a batch blocks, SEND as well as RECV, until the other end has posted it.
    """
    links = Chains(chains)
    problems = _fifo_problems(programs, links, rank_of_stage)
    return problems + _blocking_problems(programs, links, rank_of_stage)


def _as_batch(entry):
    return entry if isinstance(entry, tuple) else (entry,)


def _fifo_problems(programs, links, rank_of_stage):
    sent, received = {}, {}
    for rank, program in enumerate(programs):
        for text in (text for entry in program for text in _as_batch(entry)):
            message = _message(text, links, rank_of_stage)
            if message:
                channel, is_send, identity = message
                if channel[0 if is_send else 1] != rank:
                    return [f"{text} stands on rank {rank}"]
                (sent if is_send else received).setdefault(channel, []).append(identity)
    return [f"channel {channel}: sent and received in different orders"
            for channel in sorted(sent.keys() | received.keys()) if sent.get(channel) != received.get(channel)]


def _blocking_problems(programs, links, rank_of_stage):
    """Run with blocking messages, which match by their number in the channel."""
    posted = {}                            # (channel, is_send) -> number of messages posted so far
    waits = [[] for _ in programs]         # posted by this rank and not matched yet
    local = [set() for _ in programs]      # results on this rank, its own and received ones
    position = [0] * len(programs)
    problems = []

    def post(rank, entry):
        for text in _as_batch(entry):
            channel, is_send, identity = _message(text, links, rank_of_stage)
            posted[channel, is_send] = number = posted.get((channel, is_send), 0) + 1
            waits[rank].append((channel, is_send, number, identity))

    def step(rank):
        entry = programs[rank][position[rank]]
        if _message(_as_batch(entry)[0], links, rank_of_stage) is None:
            missing = needs(links, entry) - local[rank]
            if missing:
                problems.append(f"rank {rank}: {entry} runs before {sorted(missing)} is there")
            local[rank].update(result_key(*action) for action in parts(entry))
            return True
        if not waits[rank]:
            post(rank, entry)
        if any(posted.get((channel, not is_send), 0) < number for channel, is_send, number, _ in waits[rank]):
            return False
        for _, is_send, _, identity in waits[rank]:
            if is_send and identity not in local[rank]:
                problems.append(f"rank {rank}: {entry} sends {identity} before it is there")
            local[rank].add(identity)
        waits[rank] = []
        return True

    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            while position[rank] < len(program) and step(rank):
                position[rank] += 1
                moved = True
    problems += [f"deadlock: rank {rank} waits at {program[i]}"
                 for rank, (program, i) in enumerate(zip(programs, position)) if i < len(program)]
    return problems


# ---- the checker ------------------------------------------------------------------------------

def check(orders, chains, rank_of_stage, microbatches_of_chain):
    """All problems of compute orders, as sentences; an empty list means that they are right."""
    try:
        problems = _set_problems(orders, chains, rank_of_stage, microbatches_of_chain)
        problems += _local_order_problems(orders)
        if problems:
            return problems
        programs = place_messages(orders, chains, rank_of_stage)
    except Malformed as error:
        return [str(error)]
    return check_messages(programs, chains, rank_of_stage)


def _set_problems(orders, chains, rank_of_stage, microbatches_of_chain):
    """Every (stage, microbatch) has F, and B or both I and W, once each, on the rank of the stage."""
    kinds, problems = {}, []
    for rank, token in ((rank, token) for rank, order in enumerate(orders) for token in order):
        for stage, kind, microbatch in parts(token):
            kinds.setdefault((stage, microbatch), []).append(kind)
            if rank_of_stage.get(stage) != rank:
                problems.append(f"{token} runs on rank {rank}, its stage is on {rank_of_stage.get(stage)}")
    wanted = {(stage, j) for chain, ids in zip(chains, microbatches_of_chain) for stage in chain for j in ids}
    for key in sorted(wanted | kinds.keys()):
        if key not in wanted or sorted(kinds.get(key, [])) not in (["B", "F"], ["F", "I", "W"]):
            problems.append(f"stage {key[0]} microbatch {key[1]} has actions {kinds.get(key, [])}")
    return problems


def _local_order_problems(orders):
    """On each rank F stands before B or I, and I before W, of the same stage and microbatch."""
    problems = []
    for rank, order in enumerate(orders):
        seen = set()
        for token in order:
            for stage, kind, microbatch in parts(token):
                first = {"B": "F", "I": "F", "W": "B"}.get(kind)
                if first and (stage, first, microbatch) not in seen:
                    problems.append(f"rank {rank}: {token} stands before what it needs")
            seen.update(result_key(*action) for action in parts(token))
    return problems

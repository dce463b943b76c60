"""Execution orders of pipeline schedules, written from published rules alone.

Source of every rule: a survey of the literature; the docstrings name its section.
A function returns one list of tokens per rank. A token is `<stage><kind><microbatch>`, with kind F
(forward), B (full backward), I (input gradient) or W (weight gradient). `(3F2;1B0)` is an overlapped
pair: forward of microbatch 2 on stage 3 together with the backward of microbatch 0 on stage 1.
A request that the rules call illegal raises ValueError with the rule.

Interface: `build(name, pp, chunks, group, microbatches)` for every schedule by name, or the functions
`gpipe`, `looped_bfs`, `one_f_one_b`, `one_f_one_b_pairs`, `interleaved`, `zb_h1`, `interleaved_zb`, `zb_h2`, `zb_v`,
`dualpipe`, `dualpipe_v`, `v_half`, `v_min`; `legal(...)`, `why_illegal(...)` and `placement(...)`.
"""

import re
from typing import NamedTuple

from squeeze import squeezed_pattern
from writer import RankWriter


class Placement(NamedTuple):
    """Where the stages live and which stages feed which (section 1).

    rank_of_stage: stage -> rank. chains: the stages in forward order, one list per direction.
    microbatches: for each chain, the microbatches that go down it.
    """

    rank_of_stage: dict
    chains: list
    microbatches: list


# ---- legality ---------------------------------------------------------------------------------

AHEAD = {f"1f1b(ahead = {ahead})": ahead for ahead in (1, 2)}
LOOP_ONE_CHUNK = ("gpipe", "1f1b", "1f1b_pairs", "zb_h1", "zb_h2", *AHEAD)
LOOP_MANY_CHUNKS = ("looped_bfs", "interleaved", "interleaved_zb")
V_SHAPED = ("zb_v", "dualpipe_v", "v_half", "v_min")
NAMES = LOOP_ONE_CHUNK + LOOP_MANY_CHUNKS + V_SHAPED + ("dualpipe",)


def torch_group(pp, microbatches):
    """Group size that torch derives (section 3.3), or None where torch rejects the request."""
    rounds = max(1, microbatches // pp)
    return None if microbatches % rounds else microbatches // rounds


def group_rules(pp, group, microbatches):
    """The frameworks of section 3.3 that accept this group size, by name."""
    accepted = []
    rest = microbatches % group
    if pp <= group <= microbatches and (rest == 0 or rest >= pp):
        accepted.append("megatron")
    if group == torch_group(pp, microbatches):
        accepted.append("torch")
    if group == pp and (microbatches % pp == 0 or microbatches == 1):
        accepted.append("sail-sg")
    return accepted


def why_illegal(name, pp, chunks, group, microbatches):
    """The rule that the request breaks, as text, or None for a legal request (sections 2, 3.3).

    chunks=None and group=None stand for the schedule's default (one or two chunks; group = pp).
    """
    if name not in NAMES:
        return f"unknown schedule {name!r}"
    if pp < 1 or microbatches < 1 or (chunks is not None and chunks < 1):
        return "pp, chunks and microbatches must be at least 1"
    if name in LOOP_ONE_CHUNK and chunks not in (None, 1):
        return f"{name} places one chunk per rank"
    if (name in V_SHAPED or name == "dualpipe") and chunks not in (None, 2):
        return f"{name} places exactly two chunks per rank"
    if name in ("interleaved", "interleaved_zb"):
        size = pp if group is None else group
        if size < 1 or not group_rules(pp, size, microbatches):
            return ("interleaving needs pp <= group <= microbatches and microbatches mod group 0 or >= pp "
                    "(Megatron), or group = microbatches / max(1, microbatches // pp) exact (torch)")
    elif group is not None:
        return f"{name} has no group size"
    if name == "dualpipe" and (pp % 2 or microbatches % 2):
        return "dualpipe needs an even pp and an even number of microbatches"
    if name in ("dualpipe", "dualpipe_v") and microbatches < 2 * pp:
        return f"{name} needs microbatches >= 2 * pp"
    return None


def legal(name, pp, chunks=None, group=None, microbatches=1):
    """True when the rules allow the request."""
    return why_illegal(name, pp, chunks, group, microbatches) is None


def _require_legal(name, pp, chunks, group, microbatches):
    problem = why_illegal(name, pp, chunks, group, microbatches)
    if problem:
        raise ValueError(f"{problem}; got pp={pp} chunks={chunks} group={group} microbatches={microbatches}")


# ---- placement --------------------------------------------------------------------------------

def v_stages(pp, rank):
    """Stages of a rank in the V map, chunk 0 then chunk 1 (section 1)."""
    return [rank, 2 * pp - 1 - rank]


def placement(name, pp, chunks, microbatches):
    """Placement of a schedule by name (section 1: loop, V, dual).

    dual: stage s < p is the forward copy of model stage s on rank s; stage p + s is the reverse copy of
    model stage s, on rank p - 1 - s. The first half of the microbatches goes down the forward copy.
    """
    everything = list(range(microbatches))
    if name == "dualpipe" or name in V_SHAPED:
        ranks = {stage: rank for rank in range(pp) for stage in v_stages(pp, rank)}
        if name != "dualpipe":
            return Placement(ranks, [list(range(2 * pp))], [everything])
        half = microbatches // 2
        return Placement(ranks, [list(range(pp)), list(range(pp, 2 * pp))],
                         [everything[:half], everything[half:]])
    stages = pp * (chunks or 1)
    return Placement({s: s % pp for s in range(stages)}, [list(range(stages))], [everything])


# ---- loop placement, sections 3.1 to 3.5 ------------------------------------------------------

def gpipe(pp, microbatches):
    """All forwards, then all backwards, both ascending (section 3.1)."""
    _require_legal("gpipe", pp, 1, None, microbatches)
    return [[f"{rank}{kind}{j}" for kind in "FB" for j in range(microbatches)] for rank in range(pp)]


def looped_bfs(pp, chunks, microbatches):
    """Breadth first over the local stages; backwards descend in stage and microbatch (section 3.1)."""
    _require_legal("looped_bfs", pp, chunks, None, microbatches)
    orders = []
    for rank in range(pp):
        stages = [chunk * pp + rank for chunk in range(chunks)]
        orders.append([f"{s}F{j}" for s in stages for j in range(microbatches)]
                      + [f"{s}B{j}" for s in reversed(stages) for j in reversed(range(microbatches))])
    return orders


def virtual_order(chunks, group, microbatches):
    """The chunk that each successive forward runs: T of section 3.3, chunk component only.

    The microbatch component follows by counting, because each chunk meets its microbatches in order.
    """
    order = []
    for start in range(0, microbatches, group):
        members = min(group, microbatches - start)
        for chunk in range(chunks):
            order += [chunk] * members
    return order


def interleaved(pp, chunks, group, microbatches):
    """Interleaved 1F1B; group=None means group = pp (section 3.3)."""
    _require_legal("interleaved", pp, chunks, group, microbatches)
    group = pp if group is None else group
    order = virtual_order(chunks, group, microbatches)
    orders = []
    for rank in range(pp):
        writer = RankWriter([chunk * pp + rank for chunk in range(chunks)])
        warmup = min(2 * (pp - 1 - rank) + (chunks - 1) * group, len(order))
        _one_forward_one_backward(writer, order, chunks, warmup)
        orders.append(writer.tokens)
    return orders


def _one_forward_one_backward(writer, order, chunks, warmup):
    """Warm-up forwards, then alternating forward and backward, then the backwards that are left."""
    for chunk in order[:warmup]:
        writer.forward(chunk)
    for k, chunk in enumerate(order):
        if warmup + k < len(order):
            writer.forward(order[warmup + k])
        writer.backward(chunks - 1 - chunk)


def one_f_one_b(pp, microbatches, ahead=0):
    """1F1B with any number of microbatches, as Megatron (section 3.2). `ahead`: the difference between the warm-ups of neighbours is
    larger by so many, so that messages have the time of as many microbatches."""
    _require_legal("1f1b", pp, 1, None, microbatches)
    orders = []
    for rank in range(pp):
        writer = RankWriter([rank])
        _one_forward_one_backward(writer, [0] * microbatches, 1, min((1 + ahead) * (pp - 1 - rank), microbatches))
        orders.append(writer.tokens)
    return orders


def one_f_one_b_pairs(pp, microbatches):
    """1F1B whose F and B are one action, of unlike microbatches on every rank: each rank's warm-up is two longer than its
    successor's, because what both ends of a pair need has a whole pair's time to come (section 3.3, Megatron's combined 1F1B)."""
    orders = []
    for rank in range(pp):
        writer = RankWriter([rank])
        warmup = min(2 * (pp - rank) - 1, microbatches)
        for _ in range(warmup):
            writer.forward(0)
        for _ in range(microbatches - warmup):
            writer.pair(0, 0)
        for _ in range(warmup):
            writer.backward(0)
        orders.append(writer.tokens)
    return orders


def interleaved_zb(pp, chunks, group, microbatches):
    """Interleaved ZB1P without the no-op slots of torch, which carry no timing (section 3.4)."""
    _require_legal("interleaved_zb", pp, chunks, group, microbatches)
    group = pp if group is None else group
    return _zero_bubble_1(pp, chunks, group, virtual_order(chunks, group, microbatches))


def zb_h1(pp, microbatches):
    """ZB-H1: the weight gradients lag rank places after the input gradients (section 3.4)."""
    _require_legal("zb_h1", pp, 1, None, microbatches)
    return _zero_bubble_1(pp, 1, pp, [0] * microbatches)


def _zero_bubble_1(pp, chunks, group, order):
    orders = []
    for rank in range(pp):
        writer = RankWriter([chunk * pp + rank for chunk in range(chunks)])
        warmup = min((pp - 1 - rank) + (chunks - 1) * group, len(order))
        for chunk in order[:warmup]:
            writer.forward(chunk)
        for k, chunk in enumerate(order):
            if warmup + k < len(order):
                writer.forward(order[warmup + k])
            writer.input_grad(chunks - 1 - chunk)
            if k >= rank:
                writer.weight()
        writer.all_weights()
        orders.append(writer.tokens)
    return orders


def zb_h2(pp, microbatches, forward_before_weight=False):
    """ZB-H2 by hand, the derived order of section 3.5.

    forward_before_weight swaps F and W in the steady part: the variant whose peak is 2p, not 2p-1.
    """
    _require_legal("zb_h2", pp, 1, None, microbatches)
    orders = []
    for rank in range(pp):
        writer = RankWriter([rank])
        warmup = min(2 * (pp - 1 - rank) + 1, microbatches)
        for _ in range(warmup):
            writer.forward(0)
        for k in range(microbatches):
            writer.input_grad(0)
            forwards_left = warmup + k < microbatches
            if forward_before_weight and forwards_left:
                writer.forward(0)
            if k >= 2 * rank:
                writer.weight()
            if forwards_left and not forward_before_weight:
                writer.forward(0)
        writer.all_weights()
        orders.append(writer.tokens)
    return orders


# ---- V placement, sections 3.6 and 3.7 --------------------------------------------------------

def zb_v(pp, microbatches):
    """ZBV: written for max(m, 2p-1) microbatches, then cut down to m (section 3.6)."""
    _require_legal("zb_v", pp, 2, None, microbatches)
    written = max(microbatches, 2 * pp - 1)
    orders = []
    for rank in range(pp):
        tokens = _zb_v_rank(pp, rank, written)
        orders.append([token for token in tokens if int(re.split("[FIW]", token)[1]) < microbatches])
    return orders


def _zb_v_rank(pp, rank, written):
    writer = RankWriter(v_stages(pp, rank))

    def backward_and_weight(chunk):
        writer.input_grad(chunk)
        writer.weight_of(chunk)

    for _ in range(2 * (pp - rank) - 1):
        writer.forward(0)
    for _ in range(rank):
        writer.forward(1)
        writer.forward(0)
    for _ in range(pp - rank):
        writer.forward(1)
        backward_and_weight(1)
    while writer.done("F", 1) < writer.done("F", 0) or writer.done("F", 0) < written:
        if writer.done("F", 0) < written:
            writer.forward(0)
        backward_and_weight(0)
        writer.forward(1)
        backward_and_weight(1)
    for _ in range(rank):
        writer.input_grad(0)
        writer.input_grad(1)
    for _ in range(pp - rank):
        backward_and_weight(0)
    for chunk in (1, 0):
        while writer.done("W", chunk) < writer.done("I", chunk):
            writer.weight_of(chunk)
    return writer.tokens


def v_min(pp, microbatches):
    """V-Min: the period-6 pattern with the smallest offsets, squeezed (section 3.7)."""
    _require_legal("v_min", pp, 2, None, microbatches)
    gap = 2 if pp % 3 == 0 else 0
    starts = [(r, 2 * pp - r - 1, 2 * pp + gap + r, 4 * pp + gap - r - 1) for r in range(pp)]
    return _from_pattern(pp, starts, microbatches)


def v_half(pp, microbatches):
    """V-Half: forwards of chunk 0 are two slots apart between ranks, then squeezed (section 3.7)."""
    _require_legal("v_half", pp, 2, None, microbatches)
    gap = 3 if pp % 2 == 0 else 0
    starts = [(2 * r, 3 * pp - r - 2, 3 * pp + gap + 2 * r - 1, 6 * pp + gap - r - 2) for r in range(pp)]
    return _from_pattern(pp, starts, microbatches)


def _from_pattern(pp, starts, microbatches):
    """Squeeze a pattern and write it down; the weight gradients come from one FIFO per rank."""
    orders = []
    for rank, kinds in enumerate(squeezed_pattern(starts, microbatches)):
        writer = RankWriter(v_stages(pp, rank))
        write = {"F0": lambda: writer.forward(0), "F1": lambda: writer.forward(1),
                 "I1": lambda: writer.input_grad(1), "I0": lambda: writer.input_grad(0), "W": writer.weight}
        for kind in kinds:
            write[kind]()
        orders.append(writer.tokens)
    return orders


# ---- bidirectional schedules, sections 3.8 and 3.9 --------------------------------------------

def dualpipe(pp, microbatches):
    """DualPipe: two copies of the model, half of the microbatches down each (section 3.8)."""
    _require_legal("dualpipe", pp, 2, None, microbatches)
    half = microbatches // 2
    orders = []
    for rank in range(pp):
        stages, first = v_stages(pp, rank), [0, half]
        if rank >= pp // 2:
            # The second half of the ranks sees the reverse direction as its chunk 0.
            stages, first = stages[::-1], first[::-1]
        writer = RankWriter(stages, first)
        orders.append(_bidirectional(writer, pp // 2, min(rank, pp - 1 - rank), half))
    return orders


def dualpipe_v(pp, microbatches):
    """DualPipeV: the same steps on one chain that is folded into a V (section 3.9)."""
    _require_legal("dualpipe_v", pp, 2, None, microbatches)
    return [_bidirectional(RankWriter(v_stages(pp, rank)), pp, rank, microbatches) for rank in range(pp)]


def _bidirectional(writer, half, depth, microbatches):
    """The eight steps of section 3.8.

    half: ranks on one arm (h there). depth: distance from the outer end (q there). microbatches: those
    of one chunk (n there).
    """
    outside = half - 1 - depth
    for _ in range(2 * outside):                            # step 1
        writer.forward(0)
    for _ in range(depth + 1):                              # step 2
        writer.forward(0)
        writer.forward(1)
    for _ in range(outside):                                # step 3
        writer.input_grad(1)
        writer.weight()
        writer.forward(1)
    for i in range(microbatches - 2 * half + depth + 1):    # step 4
        if i == 0 and outside == 0:
            # The innermost rank runs its first forward and backward one after the other.
            writer.forward(0)
            writer.backward(1)
        else:
            writer.pair(0, 1)
        writer.pair(1, 0)
    for _ in range(outside):                                # step 5
        writer.backward(1)
        writer.pair(1, 0)
    for i in range(2 * (depth + 1)):                        # step 6: the second half is split
        write = writer.backward if i <= depth else writer.input_grad
        write(1 - i % 2)
    for _ in range(outside):                                # step 7
        writer.weight()
        writer.input_grad(0)
    writer.all_weights()                                    # step 8
    return writer.tokens


def build(name, pp, chunks, group, microbatches):
    """Orders of a schedule by name; raises ValueError for an illegal request."""
    _require_legal(name, pp, chunks, group, microbatches)
    if name == "looped_bfs":
        return looped_bfs(pp, chunks or 1, microbatches)
    if name in ("interleaved", "interleaved_zb"):
        return globals()[name](pp, chunks or 1, group, microbatches)
    if name in AHEAD:
        return one_f_one_b(pp, microbatches, AHEAD[name])
    return {"gpipe": gpipe, "1f1b": one_f_one_b, "1f1b_pairs": one_f_one_b_pairs, "zb_h1": zb_h1, "zb_h2": zb_h2, "zb_v": zb_v, "v_half": v_half,
            "v_min": v_min, "dualpipe": dualpipe, "dualpipe_v": dualpipe_v}[name](pp, microbatches)

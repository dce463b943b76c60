"""Squeeze of the V-Half and V-Min patterns (section 3.7 of the survey).

One slot is the time of one action on one chunk; the pattern repeats every 6 slots. A rank is a dict
from (kind, index) to slot, with kinds F0, F1, I1, I0 (index = microbatch) and W (index = place in the
rank's weight queue, oldest I first). The literature leaves the details of the squeeze open and asks to
compare numbers only, so this search is judged by its makespan and peak, not by its order.
"""

PERIOD = 6
CHAIN = ("F0", "F1", "I1", "I0")


def squeezed_pattern(starts, microbatches):
    """Kinds per rank in program order after two squeeze passes.

    starts: for each rank the first slots of F0, F1, I1 and I0. The first pass moves the weight gradients
    too; the second leaves them out and puts each into the first free slot after its I.
    """
    ranks = [{(kind, j): start + PERIOD * j for kind, start in zip(CHAIN, row) for j in range(microbatches)}
             for row in starts]
    ranks = _close_gaps(_squeeze([_with_weights(rank) for rank in ranks], moves_weights=True))
    ranks = [{action: slot for action, slot in rank.items() if action[0] != "W"} for rank in ranks]
    ranks = [_with_weights(rank) for rank in _squeeze(ranks, moves_weights=False)]
    return [[kind for kind, _ in sorted(rank, key=rank.get)] for rank in ranks]


def _with_weights(rank):
    """A copy with every W in the first free slot after its I."""
    placed = dict(rank)
    taken = {slot: action for action, slot in rank.items()}
    slot, waiting, written = 0, 0, 0
    while waiting or slot <= max(taken):
        kind = taken.get(slot, (None,))[0]
        if kind in ("I0", "I1"):
            waiting += 1
        elif kind is None and waiting:
            placed[("W", written)] = slot
            waiting, written = waiting - 1, written + 1
        slot += 1
    return placed


def peak_of(rank):
    """Most activations held at once, in chunks: one from each forward until a weight gradient."""
    live = peak = 0
    for kind, _ in sorted(rank, key=rank.get):
        live += {"F0": 1, "F1": 1, "W": -1}.get(kind, 0)
        peak = max(peak, live)
    return peak


def _inputs(last_rank, rank, kind, j):
    """Actions as (rank, (kind, index)) that must be over before this one (section 1, V map)."""
    needed = [(rank, (kind, j - 1))] if j else []
    ahead = -1 if kind in ("F0", "I1") else 1
    if 0 <= rank + ahead <= last_rank:
        needed.append((rank + ahead, (kind, j)))
    if kind != "F0":
        needed.append((rank, (CHAIN[CHAIN.index(kind) - 1], j)))
    return needed


def _ready_slot(ranks, rank, action):
    """First slot at which the inputs of the action are there, with messages that take no time."""
    kind, index = action
    if kind == "W":
        own_inputs = sorted(slot for (k, _), slot in ranks[rank].items() if k in ("I0", "I1"))
        previous = ranks[rank][("W", index - 1)] if index else -1
        return max(own_inputs[index], previous) + 1
    needed = _inputs(len(ranks) - 1, rank, kind, index)
    return 1 + max((ranks[r][a] for r, a in needed), default=-1)


def _in_slot_order(ranks):
    return sorted(((rank, action) for rank, slots in enumerate(ranks) for action in slots),
                  key=lambda item: (ranks[item[0]][item[1]], item[0]))


def _squeeze(ranks, moves_weights):
    """Move each action, in slot order, to the first free slot that does not raise the peak memory.

    The limit is the largest peak over the ranks before the pass.
    """
    def peak(rank):
        return peak_of(rank if moves_weights else _with_weights(rank))

    limit = max(map(peak, ranks))
    ranks = [dict(rank) for rank in ranks]
    for rank, action in _in_slot_order(ranks):
        own = ranks[rank]
        home = own[action]
        taken = set(own.values())
        for slot in range(_ready_slot(ranks, rank, action), home):
            if slot not in taken:
                own[action] = slot
                if peak(own) <= limit:
                    break
                own[action] = home
    return ranks


def _close_gaps(ranks):
    """Run every rank's order as early as its inputs allow, in slots."""
    closed = [{} for _ in ranks]
    free_from = [0] * len(ranks)
    for rank, action in _in_slot_order(ranks):
        kind, index = action
        needed = [] if kind == "W" else _inputs(len(ranks) - 1, rank, kind, index)
        start = max([free_from[rank]] + [closed[r][a] + 1 for r, a in needed])
        closed[rank][action] = start
        free_from[rank] = start + 1
    return closed

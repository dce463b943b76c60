"""Token files of the table over ranks: some sequences, ranks and microbatches have no token that counts.

That they do is checked by training: of each sequence in a step alone, the losses and metrics say what it holds.
"""
import array

import features
from training import STEPS, TOKENS, Wrong, left, make, place, start

SEQUENCES = STEPS * features.BATCH


def masked_data(folder):
    """Tokens of which few windows have one that counts."""
    path = folder / "masked.u16"
    if not path.exists():
        tokens = array.array("H", TOKENS.read_bytes())
        path.write_bytes(array.array("H", (t if i % 85 > 67 else t % 29 for i, t in enumerate(tokens))))
    return f"u16:{path}"


def padded_data(folder):
    """Tokens of which four of five are padding, in runs that leave some windows without a target."""
    path = folder / "padded.i32"
    if not path.exists():
        tokens = array.array("H", TOKENS.read_bytes())
        below = (-1, -2, -2**31)  # whatever is below zero is padding
        ids = (below[i % 3] if i % 97 < 72 or i * i % 7 < 2 else t for i, t in enumerate(2 * tokens))
        path.write_bytes(array.array("i", ids).tobytes())
    return f"i32:{path}"


def odd_data(folder):
    """Tokens over all of a vocabulary of 514, to its last, and some below zero."""
    path = folder / "odd.i32"
    if not path.exists():
        tokens = array.array("H", TOKENS.read_bytes())
        ids = (-1 if i % 23 == 7 else 513 if i % 31 == 0 else (t + 61 * (i % 9)) % 514 for i, t in enumerate(2 * tokens))
        path.write_bytes(array.array("i", ids).tobytes())
    return f"i32:{path}"


def blend_files(folder):
    """The files that the recipe of `blend` names, where it names them."""
    tokens = array.array("H", TOKENS.read_bytes())
    files = {"blend.u16": tokens[:len(tokens) // 2], "blend-1.i32": tokens[len(tokens) // 2:], "blend-2.i32": tokens[::3]}
    for name, part in files.items():
        if not (folder / name).exists():
            (folder / name).write_bytes(array.array("H" if name.endswith("16") else "i", part).tobytes())


MAKE = {"masked": masked_data, "padded": padded_data, "odd": odd_data}


def data_of(row, folder):
    """What `start` takes where a program has data of its own."""
    if row.program == "blend":
        blend_files(folder)
        return {"data": None, "cwd": folder}
    return {"data": make_data(folder) for name, make_data in MAKE.items() if row.program.startswith(name)}


def one_by_one(program, folder, data, **settings):
    """What a training leaves whose steps have a sequence each: those of ten steps of the table."""
    at = place(folder, "sequences")
    make(program, {"precision": "f64", "microbatch": "1 sequence", "recipe.batch": "1 sequence",
                   "recipe.length": f"{SEQUENCES} steps", "recipe.lr": "flat 0", **settings}, at / "train")
    start(at / "train", at, "--steps", str(SEQUENCES), "--save-every", "0", data=data)
    return left(at, SEQUENCES)


def check_masks(folder):
    """The data of `masked` leave sequences without any token that counts, of each two alone and together."""
    some, none = (one_by_one("masked", folder, masked_data(folder), **{"model.first": first}).losses for first in (29, 1000))
    valid = [a != b for a, b in zip(some, none)]
    steps = [valid[i:i + features.BATCH] for i in range(0, SEQUENCES, features.BATCH)]
    ranks_without = sum(any(step) and not any(step[i:i + 2]) for step in steps for i in range(0, features.BATCH, 2))
    if len(valid) != SEQUENCES or not 8 < sum(valid) < 40 or ranks_without < 5:
        return f"{sum(valid)} sequences of {SEQUENCES} have a token that counts, {ranks_without} pairs have none"
    return None


#===-- Padding ------------------------------------------------------------===#

LOSSES = {"main": "targets", "second": "second_targets"}  # of `padded`, and the metric that counts their targets


def targets(program, folder):
    """The number of targets in each sequence, for each loss."""
    found = one_by_one(program, folder, padded_data(folder))
    steps = found.metrics
    for step in steps:
        for loss, count in LOSSES.items():
            if (step[loss] == 0) != (step[count] == 0):
                raise Wrong(f"a sequence has {step[count]} targets and the loss {step[loss]}")
    if not any(len({step[count] for count in LOSSES.values()}) > 1 for step in steps):
        raise Wrong("the losses have equal counts")
    return {loss: [step[count] for step in steps] for loss, count in LOSSES.items()}


def lacks_padding(row, counts):
    """What a row's ranks and microbatches should meet and do not; counts are of the targets of each sequence."""
    parts, size = features.parts(row), features.microbatch(row)
    unequal = empty_rank = empty_microbatch = False
    for begin in range(0, SEQUENCES, features.BATCH):
        pieces = [sum(counts[i:i + size]) for i in range(begin, begin + features.BATCH, size)]
        ranks = [sum(pieces[rank::parts]) for rank in range(parts)]
        microbatches = [sum(pieces[i:i + parts]) for i in range(0, len(pieces), parts)]
        unequal |= len(set(ranks)) > 1
        empty_rank |= any(ranks) and not all(ranks)
        empty_microbatch |= any(microbatches) and not all(microbatches)
    if parts > 1 and not (unequal and empty_rank):
        return "each rank has a target in each step, or all have as many"
    if features.microbatches(row) > 1 and not empty_microbatch:
        return "each microbatch has a target"
    return None


def check_padding(rows, folder):
    """In each row of `padded` the ranks have unequal numbers of targets of either loss, and in some step one has none
    while others have some; so has a microbatch of all ranks."""
    rows = [row for row in rows if row.program.startswith("padded")]
    counts = {even: targets("padded_even" if even else "padded", folder) for even in {"_even" in row.program for row in rows}}
    for row in rows:
        for loss, of_sequences in counts["_even" in row.program].items():
            if lack := lacks_padding(row, of_sequences):
                return f"{row.program} {row.settings}, {loss}: {lack}"
    return None

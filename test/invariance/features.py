"""Features of a plan over ranks, so that test/invariance/ranks sees which pairs no row has.

A feature is a question about a row; those of one kind exclude each other.
"""
import itertools
import math
import re


def shards(settings, dim):
    """Axes over which a dimension is cut."""
    for item in settings.get("shard", "").split(";"):
        dims, _, axes = item.partition(" over ")
        if dim in [d.strip() for d in dims.split(",")]:
            return [a.strip() for a in axes.split(",")]
    layout = re.match(r"megatron\((\w+)\)", settings.get("layout", ""))
    return [layout[1]] if layout and dim in ("H", "G", "F", "V") else []


def sizes(settings):
    return {name: int(size) for name, size in re.findall(r"(\w+) *= *(\d+)", settings.get("mesh", ""))}


def by_name(row):
    """Whether a layout cuts what its program has not: `routed` has no heads and no F."""
    return row.program.startswith("routed") and "layout" in row.settings


BATCH = 8  # sequences, of every program but the deep ones


def batch(row):
    """Sequences of a step."""
    return 2 * BATCH if "_deep" in row.program else BATCH


def parts(row):
    """Into how many parts ranks cut the batch."""
    return math.prod(sizes(row.settings)[axis] for axis in shards(row.settings, "B"))


def microbatch(row):
    """Sequences of one, on a rank."""
    return int(row.settings.get("microbatch", "2").split()[0])


def microbatches(row):
    return batch(row) // parts(row) // microbatch(row)


def by_sgd(program):
    return "_sgd" in program or (program.startswith("masked") and "_adamw" not in program)


def starts(key, prefix):
    return lambda row: row.settings.get(key, "").startswith(prefix)


def program(prefix):
    return lambda row: row.program.startswith(prefix)


SCHEDULES = ("gpipe", "gpipe_split", "1f1b", "1f1b_pairs", "looped_bfs", "interleaved", "zb_h1", "zb_h2", "interleaved_zb", "zb_v", "v_half", "v_min",
             "dualpipe", "dualpipe_v", "auto")


def schedule(name):
    return lambda row: row.settings.get("pipeline", "").partition("(")[0] == name


# Kind, feature, whether a row has it.
FEATURES = [
    ("batch", "B over an axis", lambda r: len(shards(r.settings, "B")) == 1),
    ("batch", "B over two axes", lambda r: len(shards(r.settings, "B")) == 2),
    ("heads", "heads over ranks", lambda r: bool(shards(r.settings, "H")) and not by_name(r)),
    ("hidden", "F over ranks", lambda r: bool(shards(r.settings, "F")) and not by_name(r)),
    ("vocabulary", "V over ranks", lambda r: bool(shards(r.settings, "V"))),
    ("residual", "S of residual", lambda r: bool(shards(r.settings, "S of residual"))),
    ("zero", "zero 1", starts("zero", "1")),
    ("zero", "zero 2 accumulate local", lambda r: re.match(r"2.*local", r.settings.get("zero", "")) is not None),
    ("zero", "zero 2", lambda r: re.match(r"2(?!.*local)", r.settings.get("zero", "")) is not None),
    ("zero", "zero 3", starts("zero", "3")),
    ("group", "within node", lambda r: "within node" in r.settings.get("zero", "")),
    ("accumulation", "several microbatches", lambda r: microbatches(r) > 1),
    *(("pipeline", name, schedule(name)) for name in SCHEDULES),
    ("stages", "stages", lambda r: "stages" in r.settings),
    ("pp", "stages on ranks", lambda r: sizes(r.settings).get("pp", 1) > 1),
    ("recompute", "recompute full", starts("recompute", "full")),
    ("recompute", "recompute of some layers", starts("recompute", "none;")),
    ("fuse", "fuse off", starts("fuse", "off")),
    ("read", "read first", starts("read", "first")),
    *(("precision", word, lambda r, word=word: r.settings.get("precision", "") == word) for word in ("f32", "bf16", "f16")),
    ("precision", "of parts", lambda r: " for " in r.settings.get("precision", "")),
    ("precision", "fp8", lambda r: "fp8(" in r.settings.get("precision", "")),
    ("model", "llama", program("llama")),
    ("model", "gpt2: tied, dropout, biases", program("gpt2")),
    ("model", "tied, dropout", program("tied")),
    ("model", "routed: states, metrics, two losses", program("routed")),
    ("model", "masked: few valid tokens", program("masked")),
    ("model", "padded: ids below zero, two counts", program("padded")),
    ("model", "odd: rows of no multiple of 16 bytes", program("odd")),
    ("optimizer", "sgd", lambda r: by_sgd(r.program)),
    ("optimizer", "adamw", lambda r: not by_sgd(r.program)),
]


def of(row):
    return [(kind, name) for kind, name, has in FEATURES if has(row)]


def pairs_of(row):
    """A row of a low precision, where an error may hide in roundings, counts for pairs with that precision only."""
    all_pairs = itertools.combinations(of(row), 2)
    low = "precision" in row.settings
    return {(a[1], b[1]) for a, b in all_pairs if not low or "precision" in (a[0], b[0])}


def missing(rows):
    """Pairs of features that none of the rows has."""
    seen = set().union(*map(pairs_of, rows))
    pairs = [(a, b) for (ka, a, _), (kb, b, _) in itertools.combinations(FEATURES, 2) if ka != kb]
    return [pair for pair in pairs if pair not in seen]

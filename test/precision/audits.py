"""What programs compiled with --audit-scales record, put together from the files of all ranks."""
import collections
import itertools


class Unlike(Exception):
    """Two records of one number differ."""


# What is recorded of a value of a layer in a step: bits by logical position; or, for codes, a number for each part by where it begins, and their sum.
Record = collections.namedtuple("Record", "bits parts")


def read(pattern):
    """Records of files `PATTERN.RANK` by (what, layer, step)."""
    records = {}
    for file in sorted(pattern.parent.glob(f"{pattern.name}.*")):
        for line in file.read_text().splitlines():
            what, layer, step, places, values = line.split("\t")
            record = records.setdefault((what, int(layer), int(step)), Record({}, {}))
            ranges = [tuple(map(int, place.split("+"))) for place in places.split()]
            if values.startswith("#"):
                note(record.parts, tuple(first for first, _ in ranges), int(values[1:], 16), what)
                continue
            positions = itertools.product(*(range(first, first + size) for first, size in ranges))
            for at, bits in itertools.zip_longest(positions, values.split()):
                note(record.bits, at, bits, what)
    return records


def note(known, at, value, what):
    if known.setdefault(at, value) != value:
        raise Unlike(f"{what} at {at} is {known[at]} and {value}")


def same(one, other):
    """Whether two records are of the same numbers."""
    return one.bits == other.bits and sum(one.parts.values()) % 2**64 == sum(other.parts.values()) % 2**64

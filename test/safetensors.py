"""Safetensors files for tests, which need no package: what a file holds, and how far that is from another's."""
import array
import json
import math
import struct

CODES = {"F64": "d", "F32": "f"}


def raw(path):
    """Name -> element type and bytes."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    begin = lambda entry, i: 8 + length + entry["data_offsets"][i]
    return {name: (entry["dtype"], data[begin(entry, 0):begin(entry, 1)]) for name, entry in header.items()}


def values(tensor):
    dtype, data = tensor
    if dtype == "BF16":  # the upper halves of f32
        dtype, data = "F32", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    return array.array(CODES[dtype], data)


def gradients(path):
    """Name of a weight -> values of its gradient."""
    return {name.removesuffix(".grad"): values(tensor) for name, tensor in raw(path).items()}


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def distance(a, b, least=0.0):
    """Norm of a - b, in norms of b or of `least`; what is no number is infinite, so that comparisons do not lose it."""
    scale = max(norm(b), least)
    if len(a) != len(b) or scale == 0:
        return math.inf
    ratio = norm([x - y for x, y in zip(a, b)]) / scale
    return ratio if math.isfinite(ratio) else math.inf

"""Makes Inputs/f8.txt, by which f8-test.cpp sees that conversions are those of ml_dtypes.

Run by hand, never by a test:  python make_f8.py  (needs ml_dtypes, numpy).
A line has the SHA-256 of the codes that some inputs are rounded to: all of bf16, all of f16, and ten million f32; or of the f32 that
all codes are widened to. ml_dtypes makes infinity, or NaN, of what is too large; here such values are the largest number (the rule of
`cvt.rn.satfinite`), so it is given them clamped. Every NaN is the code 0x7F, and as f32 0x7FC00000.
"""
import hashlib
import pathlib

import ml_dtypes
import numpy as np

LARGEST = {"e4m3": (ml_dtypes.float8_e4m3fn, 448), "e5m2": (ml_dtypes.float8_e5m2, 57344)}


def random_f32(n=10_000_000):
    """Any bits, and by turns exponents around those of the formats."""
    with np.errstate(over="ignore"):
        z = (np.arange(n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = ((z ^ (z >> np.uint64(31))) >> np.uint64(32)).astype(np.uint32)
    near = (bits & np.uint32(0x807FFFFF)) | ((np.uint32(108) + (bits >> np.uint32(23)) % np.uint32(38)) << np.uint32(23))
    return np.where(np.arange(n) % 2 == 1, near, bits).view(np.float32)


def main():
    all16 = np.arange(1 << 16, dtype=np.uint16)
    inputs = {"bf16": (all16.astype(np.uint32) << 16).view(np.float32),
              "f16": all16.view(np.float16).astype(np.float32), "f32": random_f32()}
    lines = []
    for name, (dtype, largest) in LARGEST.items():
        wide = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
        wide = np.where(np.isnan(wide), np.uint32(0x7FC00000), wide.view(np.uint32))
        lines.append(f"{name} codes {hashlib.sha256(wide.tobytes()).hexdigest()}")
        for kind, x in inputs.items():
            clamped = np.clip(x, -largest, largest)  # NaN stays
            codes = np.where(np.isnan(x), np.uint8(0x7F), clamped.astype(dtype).view(np.uint8))
            lines.append(f"{name} {kind} {hashlib.sha256(codes.tobytes()).hexdigest()}")
    (pathlib.Path(__file__).parent / "Inputs/f8.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

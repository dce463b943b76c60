#!/usr/bin/env python3
"""Coefficients of lib/Lower/TranscendentalsTable.h: minimax polynomials by Remez exchange.

Needs mpmath. Each entry states a function, an interval and a degree; printed is a C++ array from the constant
term on, rounded to the type, and the largest relative error of the polynomial as rounded.
Source of the algorithm: Remez 1934; as in Muller, "Elementary Functions", 3rd ed., section 3.4.
"""
import struct
import sys
from mpmath import mp, mpf, matrix, lu_solve, exp, log, sin, cos, erf, erfc, sqrt, pi, expm1

mp.dps = 60


def rounded(x, f32):
    """x as the nearest number of the type, exactly."""
    if f32:
        return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])
    return mpf(float(x))


def remez(f, weight, lo, hi, degree, steps=40):
    """Coefficients with the least maximum of weight * |p - f| on [lo, hi]."""
    n = degree + 2
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(pi * i / (n - 1)) for i in range(n)]
    for _ in range(steps):
        a, b = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(xs):
            for j in range(degree + 1):
                a[i, j] = x**j
            a[i, degree + 1] = (-1) ** i / weight(x)
            b[i] = f(x)
        c = lu_solve(a, b)
        coefficients = [c[i] for i in range(degree + 1)]
        err = lambda x: weight(x) * (mp.polyval(coefficients[::-1], x) - f(x))
        # New extrema: the largest error between sign changes, on a fine grid.
        m = 24 * n
        grid = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(pi * i / m) for i in range(m + 1)]
        values = [err(x) for x in grid]
        runs, best = [], 0
        for i in range(1, m + 1):
            if values[i] * values[best] <= 0:
                runs.append(best)
                best = i
            elif abs(values[i]) > abs(values[best]):
                best = i
        runs.append(best)
        if len(runs) < n:
            break
        while len(runs) > n:
            runs.pop(0 if abs(values[runs[0]]) < abs(values[runs[-1]]) else -1)
        new = [grid[i] for i in runs]
        # A few golden steps sharpen each extremum inside its cell.
        step = [(grid[min(i + 1, m)] - grid[max(i - 1, 0)]) / 2 for i in runs]
        for k, x in enumerate(new):
            h = step[k]
            for _ in range(12):
                h /= 2
                for y in (x - h, x + h):
                    if lo <= y <= hi and abs(err(y)) > abs(err(x)):
                        x = y
            new[k] = x
        done = max(abs(x - y) for x, y in zip(xs, new)) < mpf(10) ** -12 * (hi - lo)
        xs = new
        if done:
            break
    return coefficients


def near(f, value_at_zero):
    """f with its limit at 0, where the quotient is 0 / 0."""
    return lambda x: f(x) if abs(x) > mpf(10) ** -25 else value_at_zero


half_ln2 = log(2) / 2 * mpf("1.0005")
q = (mpf(1) / 4) * pi * mpf("1.0001")
s_max = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2
one = lambda x: mpf(1)


def erf_tail(lo, hi):
    """erfcx in t = (x - 2) / (x + 2)."""
    return lambda t: exp((2 * (1 + t) / (1 - t)) ** 2) * erfc(2 * (1 + t) / (1 - t))


TABLE = [
    # e^r on +- ln2
    ("Exp", exp, lambda r: exp(-r), -2 * half_ln2, 2 * half_ln2, 7, 14),
    # e^r - 1 = r + r^2 p(r), to relative accuracy of e^r - 1
    ("Expm1", near(lambda r: (expm1(r) - r) / r**2, mpf(1) / 2),
     near(lambda r: abs(r**2 / expm1(r)) + mpf(10) ** -30, mpf(10) ** -30), -half_ln2, half_ln2, 5, 11),
    # log(1 + f) with s = f / (2 + f), z = s^2: 2 s + s z p(z)
    ("Log", near(lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) / sqrt(z) - 2) / z, mpf(2) / 3),
     lambda z: z + mpf(10) ** -30, mpf(0), s_max, 3, 7),
    # sin r = r + r z p(z), cos r = 1 - z/2 + z^2 p(z), z = r^2
    ("Sin", near(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6), lambda z: z + mpf(10) ** -30,
     mpf(0), q**2, 2, 6),
    ("Cos", near(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24), lambda z: z**2 + mpf(10) ** -30,
     mpf(0), q**2, 2, 6),
    # erf x = x + x p(z), z = x^2 on [0, 1]
    ("Erf", near(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1), one, mpf(0), mpf(1), 6, 13),
    # erfc x = e^(-x^2) p(t), t = (x - 2) / (x + 2), x in [1, limit]
    ("ErfTail", erf_tail(1, 6), one, -mpf(1) / 3 - mpf("1e-3"), mpf(1) / 2, 8, 21),
]


def main():
    for name, f, weight, lo, hi, d32, d64 in TABLE:
        for f32, degree in ((True, d32), (False, d64)):
            limit = hi
            if name == "ErfTail" and f32:
                limit = mpf("0.335")  # x = 4
            c = [rounded(x, f32) for x in remez(f, weight, lo, limit, degree)]
            grid = [lo + (limit - lo) * i / 4001 for i in range(4002)]
            worst = max(abs(weight(x) * (mp.polyval(c[::-1], x) - f(x))) for x in grid)
            type_name = "float" if f32 else "double"
            print(f"// relative error 2^{float(mp.log(worst, 2)):.1f}")
            body = ", ".join((float(x)).hex() + ("f" if f32 else "") for x in c)
            print(f"constexpr {type_name} k{name}{'32' if f32 else '64'}[] = {{{body}}};\n")
            sys.stdout.flush()


main()

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes testdata/vectors/pairs.csv: what two tensors have to do with each
other, in exact arithmetic (fractions, roots to 60 digits), and checks numpy's
corrcoef and the cosine in binary64 against it. Needs numpy:

    python3 tests/make_pair_vectors.py > testdata/vectors/pairs.csv

The elements are those of tests/unit/stats/test_pair.c, which makes them in the
same way: xorshift numbers u, v in [-1, 1), two a pair.
"""
import decimal
import fractions
import math
import struct

import numpy

N = 3001
SEED = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def numbers():
    state = SEED
    while True:
        state ^= state << 13 & MASK
        state ^= state >> 7
        state ^= state << 17 & MASK
        signed = state - (1 << 64) if state >> 63 else state
        yield math.ldexp(float(signed), -63)


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bf16(value):
    """Cut off, not rounded: the upper half of a binary32."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0] & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def nonfinite(i, u, v):
    x = math.nan if i % 7 == 0 else u
    y = math.inf if i % 11 == 0 else u + v * 2.0 ** -6
    return (-math.inf if i % 13 == 0 else x), y


CASES = {
    "independent": lambda i, u, v: (u, v),
    "alike": lambda i, u, v: (u, u + v * 2.0 ** -20),
    "nearly": lambda i, u, v: (u, u + v * 2.0 ** -40),
    "equal": lambda i, u, v: (u, u),
    "opposite": lambda i, u, v: (u, -u),
    "constant": lambda i, u, v: (0.1, v),
    "zero": lambda i, u, v: (u, 0.0),
    "tiny": lambda i, u, v: (u * 2.0 ** -700, (u + v) * 2.0 ** -702),
    "huge": lambda i, u, v: (u * 2.0 ** 700, (u + v) * 2.0 ** 690),
    "apart": lambda i, u, v: (u * 2.0 ** -600, (u + v) * 2.0 ** 500),
    "offset": lambda i, u, v: (1e6 + u, 1e6 + (u + v / 2)),
    "nonfinite": nonfinite,
    "mixed": lambda i, u, v: (f32(u), bf16(u + v * 2.0 ** -6)),
}


def root(value):
    value = decimal.Decimal(value.numerator) / decimal.Decimal(
        value.denominator)
    return value.sqrt()


def exact(value):
    return decimal.Decimal(value.numerator) / decimal.Decimal(
        value.denominator)


def angle(x, y, xy):
    if not x or not y:
        return math.nan, math.nan
    cosine = exact(xy) / root(x) / root(y)
    rest = 1 - cosine  # 10^-60 is what the roots leave
    return float(cosine), float(rest) if abs(rest) > 1e-50 else 0.0


def numbers_of(xs, ys):
    pairs = [(fractions.Fraction(x), fractions.Fraction(y), i)
             for i, (x, y) in enumerate(zip(xs, ys))
             if math.isfinite(x) and math.isfinite(y)]
    n = len(pairs)
    mean_x = sum(x for x, _, _ in pairs) / n
    mean_y = sum(y for _, y, _ in pairs) / n
    central = [sum((x - mean_x) ** 2 for x, _, _ in pairs),
               sum((y - mean_y) ** 2 for _, y, _ in pairs),
               sum((x - mean_x) * (y - mean_y) for x, y, _ in pairs)]
    raw = [sum(x * x for x, _, _ in pairs), sum(y * y for _, y, _ in pairs),
           sum(x * y for x, y, _ in pairs)]
    r, rest = angle(*central)
    cosine, cosine_rest = angle(*raw)
    slope = central[2] / central[0] if not math.isnan(r) else None
    # as binary64 has them, so that the first of several largest is the same
    apart = [abs(float(x) - float(y)) for x, y, _ in pairs]
    share = [d / max(abs(float(x)), abs(float(y))) if d else 0.0
             for d, (x, y, _) in zip(apart, pairs)]
    at, share_at = apart.index(max(apart)), share.index(max(share))
    return {
        "finite": n,
        "nan": sum(math.isnan(x) or math.isnan(y) for x, y in zip(xs, ys)),
        "inf": sum((math.isinf(x) or math.isinf(y)) and
                   not (math.isnan(x) or math.isnan(y))
                   for x, y in zip(xs, ys)),
        "equal": sum(x == y for x, y, _ in pairs),
        "pearson_r": r, "one_minus_r": rest,
        "slope": float(exact(slope)) if slope is not None else math.nan,
        "intercept": float(exact(mean_y - slope * mean_x))
        if slope is not None else math.nan,
        "cosine": cosine, "one_minus_cosine": cosine_rest,
        "mse": float(exact(sum((x - y) ** 2 for x, y, _ in pairs) / n)),
        "mean_abs_diff": float(exact(sum(abs(x - y)
                                         for x, y, _ in pairs) / n)),
        "max_abs_diff": max(apart),
        "max_abs_diff_at": pairs[at][2] if max(apart) else -1,
        "max_rel_diff": max(share),
        "max_rel_diff_at": pairs[share_at][2] if max(share) else -1,
    }


def check(name, xs, ys, row):
    """numpy agrees where binary64 can."""
    x, y = numpy.array(xs), numpy.array(ys)
    kept = numpy.isfinite(x) & numpy.isfinite(y)
    x, y = x[kept], y[kept]
    x, y = x / numpy.abs(x).max(), y / max(numpy.abs(y).max(), 1e-300)
    if not math.isnan(row["pearson_r"]):
        assert abs(numpy.corrcoef(x, y)[0, 1] - row["pearson_r"]) < 1e-12, name
    if not math.isnan(row["cosine"]):
        cosine = x @ y / numpy.linalg.norm(x) / numpy.linalg.norm(y)
        assert abs(cosine - row["cosine"]) < 1e-12, name


def main():
    decimal.getcontext().prec = 60
    decimal.getcontext().Emax = decimal.MAX_EMAX
    decimal.getcontext().Emin = decimal.MIN_EMIN
    heads = None
    for name, make in CASES.items():
        source = numbers()
        pairs = [make(i, next(source), next(source)) for i in range(N)]
        xs, ys = [p[0] for p in pairs], [p[1] for p in pairs]
        row = numbers_of(xs, ys)
        check(name, xs, ys, row)
        if not heads:
            heads = list(row)
            print(",".join(["case"] + heads))
        print(",".join([name] + [repr(row[head]) for head in heads]))


if __name__ == "__main__":
    main()

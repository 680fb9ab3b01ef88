#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints tests/unit/support/golden_stats.h: statistics of deterministic
tensors by numpy (two passes in extended precision) and by number_formats.py.
Needs numpy and ml_dtypes.

    python3 tests/oracle/golden_stats.py > tests/unit/support/golden_stats.h

The tensors are made of codes, so that the test can make the same ones:
code(i) of element i follows from h = mix(i + 1), see `mix` and `codes`.
"""
import ml_dtypes
import numpy as np

import number_formats
from check_summary import LEVELS, moments

# torch name: numpy type of the code, fraction bits, how it is viewed
DTYPES = {
    "float64": (np.uint64, 52, np.float64),
    "float32": (np.uint32, 23, np.float32),
    "float16": (np.uint16, 10, np.float16),
    "bfloat16": (np.uint16, 7, ml_dtypes.bfloat16),
    "float8_e4m3fn": (np.uint8, 3, ml_dtypes.float8_e4m3fn),
    "float8_e5m2": (np.uint8, 2, ml_dtypes.float8_e5m2),
    "float8_e4m3fnuz": (np.uint8, 3, ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2fnuz": (np.uint8, 2, ml_dtypes.float8_e5m2fnuz),
    "int64": (np.uint64, 0, np.int64),
    "int32": (np.uint32, 0, np.int32),
    "int16": (np.uint16, 0, np.int16),
    "int8": (np.uint8, 0, np.int8),
    "uint8": (np.uint8, 0, np.uint8),
    "uint16": (np.uint16, 0, np.uint16),
    "uint32": (np.uint32, 0, np.uint32),
    "uint64": (np.uint64, 0, np.uint64),
    "complex64": (np.uint32, 23, np.float32),
    "complex128": (np.uint64, 52, np.float64),
}

# dtype, recipe, low, high, rows, columns, target, scale rule
CASES = [
    ("bfloat16", "every", 0, 0, 256, 256, "hif8", ""),
    ("bfloat16", "every", 0, 0, 256, 256, "e4m3", ""),
    ("float16", "every", 0, 0, 256, 256, "fp16", ""),
    ("float16", "every", 0, 0, 256, 256, "e5m2", ""),
    ("float8_e4m3fn", "every", 0, 0, 16, 16, "e4m3", ""),
    ("float8_e5m2", "every", 0, 0, 16, 16, "e5m2", ""),
    ("float8_e4m3fnuz", "every", 0, 0, 16, 16, "e4m3fnuz", ""),
    ("float8_e5m2fnuz", "every", 0, 0, 16, 16, "e2m1", ""),
    ("bfloat16", "binades", 104, 131, 1, 1, "hif8", ""),
    ("bfloat16", "binades", 104, 131, 1, 2, "hif8", ""),
    ("bfloat16", "binades", 104, 131, 31, 1, "e4m3", ""),
    ("bfloat16", "binades", 120, 131, 10, 100, "mxfp8_e4m3", "floor"),
    ("bfloat16", "binades", 110, 131, 337, 97, "mxfp8_e4m3", "floor"),
    ("bfloat16", "binades", 110, 131, 337, 97, "mxfp8_e5m2", "ceil"),
    ("bfloat16", "binades", 122, 129, 337, 97, "mxfp4", "even"),
    ("bfloat16", "binades", 122, 129, 337, 97, "mxfp6_e2m3", "rceil"),
    ("bfloat16", "binades", 122, 129, 337, 97, "mxfp6_e3m2", "floor"),
    ("float16", "binades", 3, 25, 100, 33, "mxfp8_e4m3", "rceil"),
    ("float32", "binades", 117, 131, 100, 65, "mxfp8_e4m3", "floor"),
    ("bfloat16", "binades", 118, 128, 181, 181, "hif8", ""),
    ("bfloat16", "binades", 118, 128, 128, 256, "hif8", ""),
    ("bfloat16", "binades", 100, 145, 617, 977, "hif8", ""),
    ("float16", "binades", 1, 31, 617, 977, "e4m3", ""),
    ("float32", "binades", 100, 140, 1, 1, "", ""),
    ("float32", "binades", 100, 140, 1000, 33, "fp16", ""),
    ("float32", "binades", 1, 200, 100, 100, "bf16", ""),
    ("float32", "binades", 120, 129, 617, 977, "hif8", ""),
    ("float32", "bits", 0, 0, 2000, 3, "hif8", ""),
    ("float64", "binades", 1000, 1040, 1000, 33, "hif8", ""),
    ("float64", "binades", 1018, 1026, 700, 411, "", ""),
    ("int64", "bits", 0, 0, 1000, 7, "", ""),
    ("uint64", "bits", 0, 0, 1000, 7, "", ""),
    ("int32", "bits", 0, 0, 1000, 301, "", ""),
    ("uint32", "bits", 0, 0, 1000, 7, "", ""),
    ("int16", "every", 0, 0, 256, 256, "", ""),
    ("uint16", "bits", 0, 0, 1000, 7, "", ""),
    ("int8", "bits", 0, 0, 1000, 7, "", ""),
    ("uint8", "every", 0, 0, 16, 16, "", ""),
    ("complex64", "binades", 120, 129, 500, 42, "", ""),
    ("complex128", "binades", 1018, 1026, 50, 42, "", ""),
    ("bfloat16", "constant", 0x3dcd, 0, 1000, 70, "hif8", ""),
    ("float32", "constant", 0x3dcccccd, 0, 1000, 70, "", ""),
    ("bfloat16", "constant", 0x7fc0, 0, 10, 10, "hif8", ""),
    ("bfloat16", "constant", 0x8000, 0, 10, 10, "mxfp8_e4m3", "floor"),
    ("bfloat16", "constant", 0xff80, 0, 10, 10, "mxfp8_e4m3", "floor"),
]


def mix(i):
    """64 well mixed bits of each i."""
    h = i.astype(np.uint64) * np.uint64(0x9e3779b97f4a7c15)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xd1342543de82ef95)
    return h ^ h >> np.uint64(32)


def codes(dtype, recipe, low, high, count):
    code_type, fraction, _ = DTYPES[dtype]
    width = 8 * np.dtype(code_type).itemsize
    i = np.arange(count, dtype=np.uint64)
    h = mix(i + np.uint64(1))
    if recipe == "every":     # each code once, shuffled: an odd factor
        h = i * np.uint64(0x9e3779b1)
    elif recipe == "bits":
        h = h >> np.uint64(64 - width)
    elif recipe == "constant":
        h = np.full(count, low, dtype=np.uint64)
    else:                     # sign, exponent in [low, high), fraction
        exponent = np.uint64(low) + (h >> np.uint64(32)) % np.uint64(high - low)
        h = (h >> np.uint64(63)) << np.uint64(width - 1) \
            | exponent << np.uint64(fraction) \
            | h & np.uint64((1 << fraction) - 1)
    return (h & np.uint64((1 << width) - 1)).astype(code_type)


def number(x):
    x = float(x)
    if np.isnan(x):
        return "NAN"
    return "INFINITY" if x == np.inf else x.hex()


def case_of(dtype, recipe, low, high, rows, columns, target, rule):
    parts = 2 if dtype.startswith("complex") else 1
    raw = codes(dtype, recipe, low, high, rows * columns * parts)
    with np.errstate(all="ignore"):
        x = raw.view(DTYPES[dtype][2]).astype(np.float64)
    v = x[np.isfinite(x)]
    some = np.abs(v[v != 0])
    with np.errstate(all="ignore"):
        mean, std, skewness, kurtosis, l1, l2 = moments(v)
    counts = [rows * columns, np.isnan(x).sum(), (x == np.inf).sum(),
              (x == -np.inf).sum(), (x == 0).sum(), (v < 0).sum()]
    judged = number_formats.judge(x.reshape(rows, -1), target, rule) \
        if target else (0, 0, 0, 0)
    if len(v):
        extrema = [v.min(), v.max(), np.abs(v).max()]
        quantiles = np.quantile(v, LEVELS)
    else:
        extrema, quantiles = [np.nan] * 3, [np.nan] * len(LEVELS)
        l1 = l2 = np.nan
    numbers = [*extrema, some.min() if len(some) else np.nan, mean, std,
               skewness, kurtosis, l1, l2]
    print('    {"%s", "%s", "%s", "%s", %d, %d, %d, %d,' % (
        dtype, recipe, target, rule, low, high, rows, columns))
    print("     {%s},\n     {%s}," % (", ".join(map(str, counts)),
                                      ", ".join(map(str, judged))))
    for values, end in ((numbers, ","), (quantiles, "},")):
        texts = [number(value) for value in values]
        lines = ["      " + ", ".join(texts[i:i + 3])
                 for i in range(0, len(texts), 3)]
        print("     {" + ",\n".join(lines).lstrip() + "}" + end)


def main():
    print("""/* SPDX-License-Identifier: MIT */
/* Made by tests/oracle/golden_stats.py with numpy %s; do not edit. */
#ifndef TP_TESTS_GOLDEN_STATS_H
#define TP_TESTS_GOLDEN_STATS_H

#include <math.h>
#include <stdint.h>

/* A tensor [rows, columns] made of codes, and what is true of it. */
struct golden {
    const char *dtype, *recipe, *target, *rule;
    uint64_t low, high;
    int64_t rows, columns;
    uint64_t counts[6]; /* numel nan pos_inf neg_inf zero negative        */
    uint64_t judged[4]; /* upper_overflow lower_overflow underflow
                           subnormal                                      */
    double numbers[10]; /* min max abs_max abs_min_nonzero mean std
                           skewness kurtosis l1_norm l2_norm              */
    double quantiles[7];
};

static const struct golden goldens[] = {""" % np.__version__)
    for case in CASES:
        case_of(*case)
    print("};\n\n#endif")


if __name__ == "__main__":
    main()

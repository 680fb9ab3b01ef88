#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Casts to low-precision formats in numpy, by search in the table of all
values of a format, and nothing else: no thresholds, no bit tricks.

    python3 tests/oracle/number_formats.py DIRECTORY_WITH_VECTORS

checks every cast against the vectors and prints a line per file.
"""
import csv
import os
import sys

import numpy as np


def ieee_values(exponent_bits, mantissa_bits, bias, codes):
    """The first `codes` non-negative values of a binary format."""
    code = np.arange(codes)
    exponent, mantissa = code >> mantissa_bits, code & (1 << mantissa_bits) - 1
    hidden = (exponent > 0).astype(np.int64)
    return np.ldexp((mantissa + (hidden << mantissa_bits)).astype(np.float64),
                    np.maximum(exponent, 1) - bias - mantissa_bits)


def hif8_values():
    """Zero, denormals 2^-22..2^-16, then 3, 2 or 1 fraction bits."""
    values = [0.0] + [2.0 ** e for e in range(-22, -15)]
    for e in range(-15, 16):
        bits = 3 if abs(e) <= 3 else 2 if abs(e) <= 7 else 1
        values += [2.0 ** e * (1 + m / 2 ** bits) for m in range(2 ** bits)]
    return np.array(values[:-1])  # the last code is infinity


class Format:
    """An element format. `next` is the value its grid would continue with."""

    def __init__(self, values, min_normal, following, ties_away=False):
        self.values, self.min_normal = values, min_normal
        self.max, self.next = values[-1], following
        self.ties_away = ties_away
        grid = np.append(values, following)
        # Exact: neighbours differ by a power of two at most 2^-p apart.
        self.middle = grid[:-1] + (grid[1:] - grid[:-1]) / 2

    def round(self, x):
        """Nearest value of |x|; what belongs to `next` gives infinity."""
        a = np.abs(x)
        lower = np.searchsorted(self.middle, a, side="left")
        upper = np.searchsorted(self.middle, a, side="right")
        # lower < upper: a tie between values lower and upper.
        even = np.where(lower % 2 == 0, lower, upper)
        index = np.where(lower == upper, lower,
                         upper if self.ties_away else even)
        grid = np.append(self.values, np.inf)
        q = np.copysign(grid[np.minimum(index, len(self.values))], x)
        return np.where(np.isnan(x), np.nan, q)


FORMATS = {
    "fp16": Format(ieee_values(5, 10, 15, 0x7c00), 2.0 ** -14, 65536.0),
    "bf16": Format(ieee_values(8, 7, 127, 0x7f80), 2.0 ** -126, 2.0 ** 128),
    "e4m3": Format(ieee_values(4, 3, 7, 0x7f), 2.0 ** -6, 480.0),
    "e5m2": Format(ieee_values(5, 2, 15, 0x7c), 2.0 ** -14, 65536.0),
    "e4m3fnuz": Format(ieee_values(4, 3, 8, 0x80), 2.0 ** -7, 256.0),
    "e5m2fnuz": Format(ieee_values(5, 2, 16, 0x80), 2.0 ** -15, 65536.0),
    "hif8": Format(hif8_values(), 2.0 ** -15, 49152.0, ties_away=True),
    "e3m2": Format(ieee_values(3, 2, 3, 0x20), 0.25, 32.0),
    "e2m3": Format(ieee_values(2, 3, 1, 0x20), 1.0, 8.0),
    "e2m1": Format(ieee_values(2, 1, 1, 0x08), 1.0, 8.0),
}

MX = {"mxfp8_e4m3": "e4m3", "mxfp8_e5m2": "e5m2", "mxfp6_e3m2": "e3m2",
      "mxfp6_e2m3": "e2m3", "mxfp4": "e2m1"}

QUANT_TYPES = {"hifp8": "hif8", "mxfp8": "mxfp8_e4m3",
               "mxfp8e4m3": "mxfp8_e4m3", "mxfp8e5m2": "mxfp8_e5m2",
               "fp8_e4m3": "e4m3", "fp8_e5m2": "e5m2", "fp4_e2m1": "e2m1"}
QUANT_TYPES.update({name: name for name in (*FORMATS, *MX, "nvfp4")})


def mx_exponents(amax, element, rule="floor"):
    """Shared exponents of blocks with these largest magnitudes (float64)."""
    emax = int(np.floor(np.log2(element.max)))  # of a constant: exact enough
    fraction, exponent = np.frexp(amax)         # amax = fraction * 2^exponent
    e, m = exponent - 1, fraction * 2
    if rule == "floor":
        shared = e - emax
    elif rule == "ceil":
        shared = e + (m != 1) - emax
    elif rule == "even":
        # One unit in the last place of the element's top binade.
        bits = {448.0: 3, 57344.0: 2, 28.0: 2, 7.5: 3, 6.0: 1}[element.max]
        shared = e + (m >= 2 - 2.0 ** -(bits + 1)) - emax
    else:
        shared = e - emax + (m > element.max / 2.0 ** emax)
    shared = np.clip(shared, -127, 127)
    return np.where(amax == 0, -127, shared)


def mx_blocks(x):
    """Rows of 32 along the last axis, padded with zeros; and what is real."""
    x = np.asarray(x, dtype=np.float64)
    x = x.reshape(1, 1) if x.ndim == 0 else x.reshape(-1, x.shape[-1])
    pad = -x.shape[1] % 32
    real = np.pad(np.ones(x.shape, bool), ((0, 0), (0, pad)))
    x = np.pad(x, ((0, 0), (0, pad)))
    return x.reshape(-1, 32), real.reshape(-1, 32)


def mx_shared(blocks, element, rule, policy):
    """The shared exponent of each row."""
    finite = np.where(np.isfinite(blocks), np.abs(blocks), 0)
    shared = mx_exponents(finite.max(axis=1, initial=0), element, rule)
    if policy == "torchao":
        of_infinity = 127 if rule.startswith("rceil") else \
            128 - int(np.floor(np.log2(element.max)))
        shared[np.isinf(blocks).any(axis=1)] = of_infinity
    return shared


def judge(x, target, rule="floor", policy="block"):
    """Counts (upper, lower, underflow, subnormal) of an array of float64."""
    if target in MX:
        element = FORMATS[MX[target]]
        x, real = mx_blocks(x)
        exponents = mx_shared(x, element, rule, policy)
        x = np.ldexp(x, -exponents[:, None])[real]
        upper, lower = x > element.max, x < -element.max
    else:
        element = FORMATS[target]
        x = np.asarray(x, dtype=np.float64).ravel()
        upper, lower = element.round(x) == np.inf, element.round(x) == -np.inf
    q = np.abs(element.round(x))
    some = (x != 0) & np.isfinite(x)
    return (int(upper.sum()), int(lower.sum()),
            int((some & (q == 0)).sum()),
            int((some & (q < element.min_normal)).sum()))


# --- validation --------------------------------------------------------------

def words(text):
    return np.array([int(word, 16) for word in text.split()],
                    dtype=np.uint32).view(np.float32).astype(np.float64)


def rows(directory, name):
    with open(os.path.join(directory, name)) as file:
        return list(csv.DictReader(file))


def code_table(directory, name):
    """code -> value, from the published tables."""
    wanted = {"e4m3": "e4m3fn"}.get(name, name)
    if name == "hif8":
        return {r["code"]: float.fromhex(r["value_hex"])
                for r in rows(directory, "hif8_codes.csv")
                if r["class"] not in ("nan", "inf", "NaN", "Inf")}
    return {r["code"]: float.fromhex(r["value_hex"])
            for r in rows(directory, "small_codes.csv")
            if r["format"] == wanted and "nan" not in r["value_hex"]
            and "inf" not in r["value_hex"]}


def check_cast(directory, file, name, column):
    table = code_table(directory, name)
    bad = checked = 0
    for row in rows(directory, file):
        x = words(row["f32"])
        if not np.isfinite(x[0]):
            continue
        q = float(FORMATS[name].round(x)[0])
        if np.isinf(q) and column == "sat":
            q = float(np.copysign(FORMATS[name].max, q))
        value = table.get(row[column])
        if value is None:  # NaN or infinity: overflow
            bad += not np.isinf(q)
        else:
            bad += q != value
        checked += 1
    return checked, bad


def check_mx(directory, file, name):
    element = FORMATS[MX[name]]
    table = code_table(directory, MX[name])
    bad = checked = 0
    for row in rows(directory, file):
        if row["nonfinite_policy"] != "any":
            continue
        x = words(row["x"])
        exponent = mx_exponents(np.abs(x).max(keepdims=True), element,
                                row["scale_rule"])[0]
        q = np.clip(element.round(np.ldexp(x, -exponent)), -element.max,
                    element.max)
        codes = [row["elements"][i:i + 2] for i in range(0, 64, 2)]
        bad += int(row["e8m0"], 16) != exponent + 127
        bad += sum(table[c] != v for c, v in zip(codes, q))
        checked += 33
    return checked, bad


def main():
    directory = sys.argv[1]
    total = 0
    for file, name, column in (
            ("hif8_round.csv", "hif8", "ta"),
            ("fp8_e4m3fn.csv", "e4m3", "nosat"),
            ("fp8_e5m2.csv", "e5m2", "nosat"),
            ("fp8_e4m3fnuz.csv", "e4m3fnuz", "nosat"),
            ("fp8_e5m2fnuz.csv", "e5m2fnuz", "nosat"),
            ("cast_e2m3.csv", "e2m3", "sat"), ("cast_e3m2.csv", "e3m2", "sat"),
            ("cast_e2m1.csv", "e2m1", "sat")):
        checked, bad = check_cast(directory, file, name, column)
        print("%-24s %6d casts, %d wrong" % (file, checked, bad))
        total += bad
    for file, name in (("mxfp8_e4m3.csv", "mxfp8_e4m3"),
                       ("mxfp8_e4m3_rceil.csv", "mxfp8_e4m3"),
                       ("mxfp8_e5m2.csv", "mxfp8_e5m2"),
                       ("mxfp8_e5m2_rceil.csv", "mxfp8_e5m2"),
                       ("mxfp6_e2m3.csv", "mxfp6_e2m3"),
                       ("mxfp6_e3m2.csv", "mxfp6_e3m2"),
                       ("mxfp4_e2m1.csv", "mxfp4")):
        checked, bad = check_mx(directory, file, name)
        print("%-24s %6d codes, %d wrong" % (file, checked, bad))
        total += bad
    wrong = 0
    modes = rows(directory, "mx_scale_modes.csv")
    for row in modes:
        amax = words(row["amax"])
        if not np.isfinite(amax[0]):
            continue
        for rule in ("floor", "ceil", "even", "rceil"):
            column = "rceil_exact" if rule == "rceil" else rule
            wrong += int(row[column], 16) != 127 + mx_exponents(
                amax, FORMATS[MX[row["format"].replace("mxfp4_e2m1", "mxfp4")]],
                rule)[0]
    print("%-24s %6d scales, %d wrong" % ("mx_scale_modes.csv",
                                          4 * len(modes), wrong))
    for name in ("bf16", "fp16"):
        bad = 0
        table = rows(directory, name + ".csv")
        for row in table:
            x = words(row["f32"])
            if not np.isfinite(x[0]):
                continue
            code = np.array([int(row["rne"], 16)])
            value = code.astype(np.uint16).view(np.float16) if name == "fp16" \
                else (code << 16).astype(np.uint32).view(np.float32)
            bad += FORMATS[name].round(x)[0] != float(value[0])
        print("%-24s %6d casts, %d wrong" % (name + ".csv", len(table), bad))
        total += bad
    sys.exit(1 if total or wrong else 0)


if __name__ == "__main__":
    main()

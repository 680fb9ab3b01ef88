#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recomputes /quantization of summary.h5 from the files it was made of.

    python3 tests/oracle/check_quantization.py OUTPUT_DIR [--limit N]
        [--block_axis N] [--mx_nonfinite elem|torchao]

Every row (or of every N-th tensor so that about N remain): casts by search in
the table of all values (number_formats.py), sums in extended precision. The
options in the second line must be those that the summary was made with.
Prints the worst difference of each column per format. Exits 1 when a ratio
differs at all, or another number by more than 1e-12 of itself (of 1 dB).
"""
import collections
import sys

import h5py
import numpy as np
import torch

import check_summary
import number_formats

RATIOS = ("overflow_ratio", "underflow_ratio", "subnormal_ratio",
          "saturated_block_ratio")
REALS = ("sqnr_db", "mse", "max_abs_error", "mean_rel_error", "cosine")
TOLERANCE = 1e-12

# Element formats that have neither an infinity nor a NaN to overflow into.
SATURATING = ("e3m2", "e2m3", "e2m1")


def option(name, default):
    """The word after --name on the command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def block_axis_last(x, axis):
    """The axis of the blocks, counted from the last one, becomes the last."""
    return np.moveaxis(x, -1 - min(axis, x.ndim - 1), -1) if x.ndim else x


def cast_blocks(x, element, rule):
    """Values of MX blocks with their padding, and which elements are real."""
    blocks, real = number_formats.mx_blocks(x)
    policy = option("--mx_nonfinite", "block")
    shared = number_formats.mx_shared(blocks, element, rule, policy)[:, None]
    scaled = np.ldexp(blocks, -shared)
    with np.errstate(all="ignore"):
        q = np.clip(element.round(scaled), -element.max, element.max)
    q = np.ldexp(q, shared)
    if policy == "torchao":
        q[np.isnan(blocks).any(axis=1)] = np.nan
    elif policy == "block":
        q[~np.isfinite(blocks).all(axis=1)] = np.nan
    else:
        q[~np.isfinite(blocks)] = np.nan
    saturated = (np.abs(scaled) > element.max).any(axis=1)
    return blocks[real], q[real], saturated


def expected(x, name, rule):
    """All columns of a row, from float64 values in their shape."""
    if x.size == 0:
        return dict.fromkeys(RATIOS + REALS, np.nan)
    upper, lower, underflow, subnormal = number_formats.judge(
        x, name, rule, option("--mx_nonfinite", "block"))
    saturated = np.nan
    n = x.size
    if name in number_formats.MX:
        element = number_formats.FORMATS[number_formats.MX[name]]
        flat, q, blocks = cast_blocks(x, element, rule)
        saturated = blocks.sum() / len(blocks) if len(blocks) else np.nan
    else:
        flat = x.ravel()
        with np.errstate(all="ignore"):
            q = number_formats.FORMATS[name].round(flat)
        if name in SATURATING:
            most = number_formats.FORMATS[name].max
            q = np.clip(q, -most, most)
    good = np.isfinite(flat) & np.isfinite(q)
    v, q = flat[good].astype(np.longdouble), q[good].astype(np.longdouble)
    d = v - q
    some = v != 0
    with np.errstate(all="ignore"):
        xx, dd, xq, qq = (s.sum() for s in (v * v, d * d, v * q, q * q))
        row = {"overflow_ratio": np.float64(upper + lower) / n,
               "underflow_ratio": np.float64(underflow) / n,
               "subnormal_ratio": np.float64(subnormal) / n,
               "saturated_block_ratio": saturated,
               "sqnr_db": 10 * np.log10(xx / dd) if xx > 0 else np.nan,
               "mse": dd / len(v) if len(v) else np.nan,
               "max_abs_error": np.abs(d).max() if len(v) else np.nan,
               "mean_rel_error": (np.abs(d[some]) / np.abs(v[some])).mean()
               if some.any() else np.nan,
               "cosine": xq / np.sqrt(xx * qq) if xx * qq > 0 else np.nan}
    return row


def load(file, cache):
    if cache.get("file") != file:
        payload = torch.load(file, map_location="cpu", weights_only=False)
        cache.update(file=file,
                     tensors=dict(check_summary.tensors_of(payload)))
    return cache["tensors"]


def difference(column, got, want):
    """Relative; for decibels below 1, whose zero means nothing, absolute."""
    want = float(want)
    if np.isnan(got) and np.isnan(want) or got == want:
        return 0.0
    if not (np.isfinite(got) and np.isfinite(want)):
        return np.inf
    least = 1 if column == "sqnr_db" else 1e-300
    return abs(got - want) / max(abs(want), least)


def main():
    limit = int(option("--limit", 0))
    axis = int(option("--block_axis", 0))
    with h5py.File(sys.argv[1] + "/summary.h5") as summary:
        tensors = summary["tensors"][()]
        rows = summary["quantization"][()]
    step = max(1, len(tensors) // limit) if limit else 1
    worst = collections.defaultdict(float)
    seen, bad, cache = 0, 0, {}
    for row in rows:
        tensor = tensors[row["tensor"]]
        name = row["format"].decode()
        if row["tensor"] % step or row["rounding"] not in (b"ta", b"rne") or \
                name == "nvfp4":  # its binary32 steps have vectors instead
            continue
        value = load(tensor["file"].decode(), cache)[tensor["path"].decode()]
        values = block_axis_last(check_summary.values_of(value), axis)
        want = expected(values, name, row["scale_rule"].decode())
        seen += 1
        for column in RATIOS + REALS:
            off = difference(column, row[column], want[column])
            worst[name, column] = max(worst[name, column], off)
            if off > (0 if column in RATIOS else TOLERANCE):
                bad += 1
                if bad <= 20:
                    print("%s %s %s: %r, expected %r" % (
                        tensor["file"].decode(), name, column, row[column],
                        float(want[column])))
    for name in sorted({name for name, _ in worst}):
        print("%-12s" % name, " ".join(
            "%s %.1e" % (column, worst[name, column])
            for column in RATIOS + REALS if worst[name, column]) or "equal")
    print("%d rows of %d compared, %d differ" % (seen, len(rows), bad))
    return bad > 0 or seen == 0


if __name__ == "__main__":
    sys.exit(main())

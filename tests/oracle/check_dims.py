#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recomputes /dims of summary.h5 from the files it was made of.

    python3 tests/oracle/check_dims.py OUTPUT_DIR [--all]

Every row: slices are taken by numpy and their moments in extended precision.
Which indices are there is checked, too: the largest, the smallest that are
not zero, and dead ones; with --all (the summary was made with --dims all),
of every axis, else of those of which something is to be said. Prints the
worst difference of each column. Exits 1 when a count, an extremum, an index,
a ratio or a risk differs, a mean by more than 1e-13 of the slice's largest
magnitude, a std or l2_norm by more than 1e-9 of itself.
"""
import collections
import sys

import h5py
import numpy as np
import torch

import check_summary

SIGNIFICAND = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8,
               "float8_e4m3fn": 4, "float8_e5m2": 3, "float8_e4m3fnuz": 4,
               "float8_e5m2fnuz": 3, "float8_e8m0fnu": 1, "complex32": 11,
               "complex64": 24, "complex128": 53}
TOLERANCE = {"mean": 1e-13, "std": 1e-9, "l2_norm": 1e-9}


def values_of(tensor):
    """float64 of the tensor's shape; complex: one more axis of the parts."""
    t = tensor.detach().resolve_conj().resolve_neg()
    if t.is_complex():
        t = torch.view_as_real(t.to(torch.complex128))
    return t.to(torch.float64).numpy()


def slices_of(x, axis):
    """[length, elements], in extended precision where it is cheap."""
    return np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)


def numbers(x):
    """Columns of one slice."""
    v = x[np.isfinite(x)]
    row = {"count": v.size}
    if v.size == 0:
        return dict(row, min=np.nan, max=np.nan, mean=np.nan, std=np.nan,
                    abs_max=np.nan, l2_norm=np.nan)
    w = v.astype(np.longdouble)
    mean = w.mean()
    std = np.sqrt(((w - mean) ** 2).sum() / (v.size - 1)) if v.size > 1 \
        else np.nan
    return dict(row, min=v.min(), max=v.max(), mean=mean, std=std,
                abs_max=np.abs(v).max(), l2_norm=np.sqrt((w * w).sum()))


def bins_of(heights):
    """Of magnitudes: eight to a binade, of their value cut to binary32."""
    with np.errstate(over="ignore"):
        near = heights.astype(np.float32)
    bits = near.view(np.uint32).astype(np.int64)
    return (bits - (near.astype(np.float64) > heights)) >> 20


def outlier_bin(live):
    """The first bin of outliers, or None when there can be none."""
    if live.size < 8:
        return None
    bins = np.sort(bins_of(live))
    middle = bins[live.size // 2]
    spread = np.sort(np.abs(bins - middle))[live.size // 2]
    first = middle + int(np.ceil(max(24, 5 * 1.4826 * spread))) + 1
    return first if first < 2048 else None


def axis_of(x, axis, dtype):
    """What is said of an axis, and the abs_max of its indices."""
    s = slices_of(x, axis)
    finite = np.where(np.isfinite(s), np.abs(s), -1)
    heights = finite.max(axis=1)
    live = heights[heights > 0]
    with np.errstate(over="ignore"):
        ratio = live.max() / live.min() if live.size else np.nan
    p = SIGNIFICAND.get(dtype)
    risk = "LOW"
    if p and ratio > 2.0 ** (p - 2):
        risk = "HIGH" if ratio > 2.0 ** (p + 1) else "MEDIUM"
    first = outlier_bin(live)
    outliers = 0 if first is None else int((bins_of(live) >= first).sum())
    return {"dim_ratio": ratio, "risk": risk, "outliers": outliers,
            "dead": int((s == 0).all(axis=1).sum())}, heights, s, first


def wanted_indices(heights, dead, kept):
    """The indices a choice of `kept` holds, worst first."""
    order = sorted(range(len(heights)), key=lambda i: (-heights[i], i))
    if len(heights) <= kept:
        return order
    chosen = order[:(kept + 1) // 2]
    low = sorted((i for i in range(len(heights)) if heights[i] > 0),
                 key=lambda i: (heights[i], i))
    room = kept - min(len(dead), (kept + 7) // 8)
    for source, most in ((low[:64], room), (dead[:64], kept),
                         (order[:64], kept)):
        for i in source:
            if i not in chosen and len(chosen) < most:
                chosen.append(i)
    return sorted(chosen, key=lambda i: (-heights[i], i))


class Differences:
    def __init__(self):
        self.worst = collections.Counter()
        self.failed = 0

    def compare(self, where, column, got, want, scale=None):
        if isinstance(want, (str, int)):
            off = 0 if got == want else 1
        elif np.isnan(got) and np.isnan(float(want)) or got == want:
            off = 0
        elif np.isnan(got) or np.isnan(float(want)):
            off = np.inf
        else:
            off = float(abs(got - want) / (scale or abs(want)))
        self.worst[column] = max(self.worst[column], off)
        if not off <= TOLERANCE.get(column, 0):
            self.failed += 1
            if self.failed <= 20:
                print(f"{where}: {column} is {got}, not {want}")


def check_axis(rows, x, dtype, where, every, result):
    """Rows of one axis: index -1 and what follows."""
    head, rows = rows[0], rows[1:]
    said, heights, slices, first = axis_of(x, int(head["axis"]), dtype)
    for name, value in said.items():
        got = head[name].decode() if name == "risk" else head[name]
        result.compare(where, name, int(got) if isinstance(value, int)
                       else got, value)
    notable = said["risk"] != "LOW" or said["outliers"] or said["dead"]
    if not every and not notable:
        result.compare(where, "indices", len(rows), 0)
        return
    dead = list(np.flatnonzero((slices == 0).all(axis=1)))
    want = wanted_indices(heights, dead, max(len(rows), min(4, len(heights))))
    result.compare(where, "indices", list(map(int, rows["index"])) == want, 1)
    for row in rows:
        check_index(row, slices[int(row["index"])], heights, first,
                    f"{where} index {row['index']}", result)


def check_index(row, values, heights, first, where, result):
    want = numbers(values)
    for name, value in want.items():
        scale = want["abs_max"] if name == "mean" else None
        got = row[name]
        result.compare(where, name, int(got) if isinstance(value, int)
                       else got, value, scale)
    height = heights[int(row["index"])]
    outlier = height > 0 and first is not None and \
        bins_of(np.array([height]))[0] >= first
    result.compare(where, "outliers", int(row["outliers"]), int(outlier))
    result.compare(where, "dead", int(row["dead"]), int((values == 0).all()))


def main():
    summary = h5py.File(sys.argv[1] + "/summary.h5")
    tensors, dims = summary["tensors"][:], summary["dims"][:]
    result, cache, axes = Differences(), {}, 0
    starts = np.append(np.flatnonzero(dims["index"] == -1), len(dims))
    found = set()
    for begin, end in zip(starts[:-1], starts[1:]):
        tensor = tensors[dims["tensor"][begin]]
        file, path = tensor["file"].decode(), tensor["path"].decode()
        if cache.get("file") != file:
            payload = torch.load(file, map_location="cpu", weights_only=False)
            cache = {"file": file,
                     "tensors": dict(check_summary.tensors_of(payload))}
        x = values_of(cache["tensors"][path])
        axis = int(dims["axis"][begin])
        found.add((int(dims["tensor"][begin]), axis))
        check_axis(dims[begin:end], x, tensor["dtype"].decode(),
                   f"{file} [{path}] axis {axis}", "--all" in sys.argv, result)
        axes += 1
    for i, tensor in enumerate(tensors):
        shape = [int(n) for n in tensor["shape"].decode()[1:-1].split(",")
                 if n]
        numel = int(np.prod(shape, dtype=object)) if shape else 1
        for axis, length in enumerate(shape):
            there = length > 1 and numel // length > 1
            result.compare(f"tensor {i} axis {axis}", "axes",
                           int((i, axis) in found), int(there))
    print(f"{axes} axes, {len(dims) - axes} indices of {len(tensors)} tensors")
    for column, off in sorted(result.worst.items()):
        print(f"  {column:10} {off:.3g}")
    print(f"{result.failed} differences beyond the tolerance")
    sys.exit(result.failed > 0)


main()

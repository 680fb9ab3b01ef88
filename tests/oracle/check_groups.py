#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recomputes /groups of summary.h5 from all elements of the files.

    python3 tests/oracle/check_groups.py OUTPUT_DIR

Members of a group are found by the labels in /tensors (which
check_summary.py checks), their elements pooled, and every number but the
quantiles must agree as there. Quantiles of groups come from a histogram with
eight bins to a binade: they must lie within a bin's width of the exact ones.
"""
import collections
import os
import sys

import h5py
import numpy as np

import check_summary as one


def key_of(row, names):
    """The group's key as the table has it; None when a label is no column."""
    parts = []
    for name in names:
        if name not in row.dtype.names:
            return None
        value = row[name]
        if isinstance(value, bytes):
            parts.append(value.decode() or "-")
        else:
            parts.append("-" if value < 0 else str(int(value)))
    return "/".join(parts)


def values_of_rows(table):
    """One array of float64 per row; complex parts interleaved."""
    cache = (None, None)
    for row in table:
        file = one.text(row["file"])
        if cache[0] != file:
            cache = (file, dict(one.tensors_of(one.load(file))))
        yield one.values_of(cache[1][one.text(row["path"])]).ravel()


def pooled(rows, arrays):
    flat = np.concatenate(arrays)
    v = flat[np.isfinite(flat)]
    some = np.abs(v[v != 0])
    with np.errstate(all="ignore"):
        mean, std, skewness, kurtosis, l1, l2 = one.moments(v)
    want = {name: sum(int(row[name]) for row in rows) for name in one.COUNTS}
    want.update(mean=mean, std=std, skewness=skewness, kurtosis=kurtosis,
                l1_norm=l1, l2_norm=l2,
                abs_min_nonzero=some.min() if len(some) else np.nan)
    if len(v):
        want.update(min=v.min(), max=v.max(), abs_max=np.abs(v).max())
    else:
        want.update(l1_norm=np.nan, l2_norm=np.nan)
    # Tensors without a target format (integers) were not judged.
    judged = [(row, len(array)) for row, array in zip(rows, arrays)
              if not np.isnan(row["underflow_ratio"])]
    for name in one.RATIOS:
        want[name] = sum(row[name] * n for row, n in judged) \
            / sum(n for _, n in judged) if judged else np.nan
    return want, v


def check_quantiles(report, row, v, where):
    for name, level in zip(one.QUANTILES, one.LEVELS):
        got, want = float(row[name]), float(np.quantile(v, level))
        # Order statistics on both sides, each within its bin; between two
        # bins the interpolation may be anywhere.
        near = np.quantile(v, [level], method="lower")[0], \
            np.quantile(v, [level], method="higher")[0]
        low, high = min(near), max(near)
        slack = np.abs([low, high]).max() / 8 + 1e-300
        inside = low - slack <= got <= high + slack
        report.equal(name, bool(inside), True,
                     "%s: %r against %r" % (where, got, want))


def main():
    with h5py.File(os.path.join(sys.argv[1], "summary.h5")) as file:
        table, groups = file["tensors"][:], file["groups"][:]
    arrays = list(values_of_rows(table))
    report = one.Report()
    members = collections.defaultdict(list)
    kinds = sorted({one.text(row["group_by"]) for row in groups})
    unknown = set()
    for kind in kinds:
        names = [] if kind == "all" else kind.split("/")
        for i, row in enumerate(table):
            key = key_of(row, names)
            if key is None:
                unknown.add(kind)
                break
            members[kind, key].append(i)
    got = {(one.text(r["group_by"]), one.text(r["key"])): r for r in groups}
    for where in set(members) - set(got):
        report.line("group missing: %s" % (where,))
    checked = 0
    for where, row in got.items():
        if where[0] in unknown:
            continue
        chosen = members.get(where)
        if not chosen:
            report.line("group of nothing: %s" % (where,))
            continue
        rows = [table[i] for i in chosen]
        report.equal("tensors", int(row["tensors"]), len(rows), str(where))
        want, v = pooled(rows, [arrays[i] for i in chosen])
        for name, value in want.items():
            report.number(name, row[name], value, want, str(where))
        if len(v):
            check_quantiles(report, row, v, str(where))
        checked += 1
    print("%d groups checked; not checked, for their label is no column: %s"
          % (checked, ", ".join(sorted(unknown)) or "none"))
    report.print()
    sys.exit(1 if any(report.bad.values()) else 0)


if __name__ == "__main__":
    one.TOLERANCES.update(dict.fromkeys(one.RATIOS, 1e-12))
    main()

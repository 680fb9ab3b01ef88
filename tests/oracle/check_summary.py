#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recomputes summary.h5 from the files it was made of, with torch and numpy.

    python3 tests/oracle/check_summary.py OUTPUT_DIR [--limit N]
        [--mx_scale floor|ceil|even|rceil]

Every row of /tensors: labels from the payload's metadata and a pattern of the
name, numbers in float64 or wider, casts from number_formats.py. Prints the
worst difference of every column and every row that is missing, extra or out
of order. Exits 1 when a column exceeds its tolerance.
"""
import collections
import os
import re
import sys

import h5py
import numpy as np
import torch

import number_formats

TEXTS = ("layer_type", "operation", "phase", "component", "quant_type",
         "tensor_name")
INTEGERS = ("layer_idx", "rank", "sample_idx", "group_idx", "iteration")
COUNTS = ("numel", "nan", "pos_inf", "neg_inf", "zero", "negative")
RATIOS = ("upper_overflow_ratio", "lower_overflow_ratio",
          "total_overflow_ratio", "underflow_ratio", "subnormal_ratio")
LEVELS = (.01, .05, .25, .5, .75, .95, .99)
QUANTILES = tuple("q%02d" % round(100 * level) for level in LEVELS)

# Largest difference allowed, each in the measure of `difference`.
TOLERANCES = collections.defaultdict(lambda: 0.0, {
    "mean": 1e-14, "std": 1e-13, "l1_norm": 1e-13, "l2_norm": 1e-13,
    "skewness": 1e-10, "kurtosis": 1e-10})
TOLERANCES.update({name: 1e-15 for name in QUANTILES + RATIOS})

NAME = re.compile(
    r"(?P<timestamp>\d{8}_\d{6})_(?:(?P<counter>\d+)_)?"
    r"(?:iter(?P<iteration>\d+)_)?(?P<layer_type>attention|linear)"
    r"(?:_L(?P<layer_idx>\d+))?_(?P<operation>forward|backward)"
    r"(?:_(?P<phase>pre|post|unknown)"
    r"_(?P<component>FA|linear|attention|unknown))?"
    r"_(?P<quant_type>%s)"
    r"(?:_rank(?P<rank>\d+))?(?:_sample(?P<sample_idx>\d+))?"
    r"(?:_group(?P<group_idx>\d+))?_(?P<tensor_name>.+)\.(?:pt|pkl)"
    % "|".join(sorted(number_formats.QUANT_TYPES, key=len, reverse=True)))

RULE = sys.argv[sys.argv.index("--mx_scale") + 1] \
    if "--mx_scale" in sys.argv else "floor"

DTYPE_FORMATS = {"float16": "fp16", "bfloat16": "bf16",
                 "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
                 "float8_e4m3fnuz": "e4m3fnuz",
                 "float8_e5m2fnuz": "e5m2fnuz"}


# --- the payload -------------------------------------------------------------

def tensors_of(value, path=""):
    """(path, tensor) in payload order; each place once, cycles cut."""
    stack, open_ids = [(path, value)], set()
    while stack:
        path, value = stack.pop()
        if isinstance(value, torch.Tensor):
            yield path, value
            continue
        if isinstance(value, dict):
            items = [((path + "." if path else "") + str(key), item)
                     for key, item in value.items()]
        elif isinstance(value, (list, tuple)):
            items = [("%s[%d]" % (path, i), item)
                     for i, item in enumerate(value)]
        else:
            continue
        if id(value) in open_ids:
            continue
        open_ids.add(id(value))
        stack.extend(reversed(items))


def expected_label(file, payload):
    label = {name: "" for name in TEXTS}
    label.update({name: -1 for name in INTEGERS + ("counter",)})
    label["timestamp"] = ""
    match = NAME.fullmatch(os.path.basename(file))
    if not match:
        label["tensor_name"] = re.sub(r"\.(pt|pth|pkl|bin)$", "",
                                      os.path.basename(file))
    if match:
        for name, value in match.groupdict().items():
            if value is not None:
                label[name] = int(value) if label[name] == -1 else value
    metadata = payload.get("metadata", {}) if isinstance(payload, dict) else {}
    for name in TEXTS + INTEGERS:
        if isinstance(metadata, dict) and metadata.get(name) is not None:
            label[name] = metadata[name]
    for name in ("phase", "component"):
        if label[name] == "unknown":
            label[name] = ""
    return label, bool(match or metadata)


def expected_target(label, dtype):
    if not (dtype.startswith("float") or dtype == "bfloat16"):
        return dtype, None
    target = number_formats.QUANT_TYPES.get(label["quant_type"]) \
        or DTYPE_FORMATS.get(dtype)
    return (target, target) if target else (dtype, None)


WIDE = (torch.float32, torch.float64)


# --- the numbers -------------------------------------------------------------

def values_of(tensor):
    """float64 values, shape kept; complex gets a last axis of two parts."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj().to(
            torch.complex128).resolve_neg())
    return tensor.to(torch.float64).numpy()


def moments(v):
    """mean, std, skewness, kurtosis, l1, l2 of finite values."""
    v = v.astype(np.longdouble)
    n = len(v)
    mean = v.mean() if n else np.nan
    d = v - mean
    m2, m3, m4 = ((d ** k).sum() for k in (2, 3, 4))
    with np.errstate(all="ignore"):
        std = np.sqrt(m2 / (n - 1)) if n > 1 else np.nan
        skewness = m3 / n / (m2 / n) ** np.longdouble(1.5) if n > 1 else np.nan
        kurtosis = m4 / n / (m2 / n) ** 2 - 3 if n > 1 else np.nan
    return mean, std, skewness, kurtosis, np.abs(v).sum(), \
        np.sqrt((v * v).sum())


def expected_numbers(tensor, target, rule):
    x = values_of(tensor)
    flat = x.ravel()
    v = flat[np.isfinite(flat)]
    some = np.abs(v[v != 0])
    with np.errstate(all="ignore"):
        mean, std, skewness, kurtosis, l1, l2 = moments(v)
    row = dict(numel=tensor.numel(), nan=int(np.isnan(flat).sum()),
               pos_inf=int((flat == np.inf).sum()),
               neg_inf=int((flat == -np.inf).sum()),
               zero=int((flat == 0).sum()), negative=int((v < 0).sum()),
               min=v.min(initial=np.inf), max=v.max(initial=-np.inf),
               abs_max=np.abs(v).max(initial=0),
               abs_min_nonzero=some.min() if len(some) else np.nan,
               mean=mean, std=std, skewness=skewness, kurtosis=kurtosis,
               l1_norm=l1, l2_norm=l2)
    if not len(v):
        row.update(min=np.nan, max=np.nan, abs_max=np.nan, l1_norm=np.nan,
                   l2_norm=np.nan)
    quantiles = np.quantile(v, LEVELS) if len(v) else [np.nan] * len(LEVELS)
    row.update(zip(QUANTILES, quantiles))
    row.update({name: np.nan for name in RATIOS})
    counts = None
    if target and flat.size:
        counts = number_formats.judge(x, target, rule)
    elif tensor.dtype in WIDE and flat.size:
        # judged against itself: what is stored is what was rounded to
        tiny = torch.finfo(tensor.dtype).tiny
        counts = (row["pos_inf"], row["neg_inf"], 0, int((some < tiny).sum()))
    if counts:
        upper, lower, under, subnormal = counts
        n = flat.size
        row.update(zip(RATIOS, (upper / n, lower / n, (upper + lower) / n,
                                under / n, subnormal / n)))
    return row


def difference(name, got, want, row):
    """0 for equal; NaN on one side only is infinite. Means are measured
    against the mean magnitude, shapes of distributions against 1 + |x|,
    the rest relative."""
    got, want = float(got), float(want)
    if np.isnan(got) or np.isnan(want):
        return 0.0 if np.isnan(got) and np.isnan(want) else np.inf
    if got == want:
        return 0.0
    if name == "mean":
        scale = float(row["l1_norm"]) / max(1, row["numel"])
    elif name in ("skewness", "kurtosis"):
        scale = 1 + abs(want)
    elif name == "std":
        # A constant's spread is rounding of the mean.
        scale = max(abs(want), 1e-16 * float(row["abs_max"]))
    else:
        scale = abs(want)
    return abs(got - want) / scale if scale else np.inf


# --- the comparison ----------------------------------------------------------

class Report:
    def __init__(self):
        self.worst, self.where, self.bad = {}, {}, collections.Counter()
        self.lines = []

    def number(self, name, got, want, row, where):
        d = difference(name, got, want, row)
        if d > self.worst.get(name, -1):
            self.worst[name] = d
            self.where[name] = "%s: %r, expected %r" % (where, got, want)
        self.bad[name] += d > TOLERANCES[name]

    def equal(self, name, got, want, where):
        self.worst.setdefault(name, 0.0)
        if got != want:
            self.worst[name] = np.inf
            self.bad[name] += 1
            self.where.setdefault(name, "%s: %r, expected %r"
                                  % (where, got, want))

    def line(self, text):
        self.lines.append(text)
        self.bad["rows"] += 1

    def print(self):
        for name in self.worst:
            print("%-22s worst %-10.3g %s%s" % (
                name, self.worst[name],
                "BAD in %d rows; " % self.bad[name] if self.bad[name] else "",
                self.where.get(name, "") if self.bad[name] else ""))
        for text in self.lines[:40]:
            print(text)
        print("%s" % ("FAILED" if any(self.bad.values()) else "all equal"))


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def check_stored(report, row, info, where):
    """The saver's own min and max; mean and std, which it may have rounded
    to the tensor's dtype."""
    for name in ("min", "max"):
        if np.isfinite(info.get(name, np.nan)) and not row["pos_inf"] \
                and not row["neg_inf"]:
            report.equal("tensor_info " + name, float(row[name]), info[name],
                         where)
    for name, scale in (("mean", "std"), ("std", "std")):
        if np.isfinite(info.get(name, np.nan)) and np.isfinite(row[name]):
            off = abs(float(row[name]) - info[name])
            allowed = 2.0 ** -8 * abs(info[name]) + 1e-6 * float(row[scale])
            report.equal("tensor_info " + name, bool(off <= allowed), True,
                         where)


def check_row(report, row, tensor, label, labelled, info):
    where = "%s %s" % (os.path.basename(text(row["file"])), text(row["path"]))
    if labelled:
        for name in TEXTS:
            report.equal(name, text(row[name]), label[name], where)
        for name in INTEGERS:
            report.equal(name, int(row[name]), label[name], where)
    else:  # only what such a name cannot tell
        for name in ("operation", "phase", "component", "layer_type"):
            report.equal(name, text(row[name]), "", where)
    dtype = str(tensor.dtype).replace("torch.", "")
    report.equal("dtype", text(row["dtype"]), dtype, where)
    shape = "[%s]" % ",".join(map(str, tensor.shape))
    report.equal("shape", text(row["shape"]), shape, where)
    label = {"quant_type": text(row["quant_type"])}
    shown, target = expected_target(label, dtype)
    report.equal("target_format", text(row["target_format"]), shown, where)
    rule = text(row["scale_rule"])
    report.equal("scale_rule", rule,
                 RULE if target in number_formats.MX else "", where)
    want = expected_numbers(tensor, target, rule or "floor")
    if info:
        check_stored(report, row, info, where)
    for name, value in want.items():
        report.number(name, row[name], value, want, where)


def check_ordinals(report, table, keys):
    """Ordinals within equal labels, by counter, time stamp, file name."""
    groups = collections.defaultdict(list)
    for i, row in enumerate(table):
        label = tuple(text(row[n]) for n in TEXTS) \
            + tuple(int(row[n]) for n in INTEGERS)
        groups[label].append((keys[i], i))
    for members in groups.values():
        for ordinal, (_, i) in enumerate(sorted(members)):
            report.equal("ordinal", int(table[i]["ordinal"]), ordinal,
                         text(table[i]["file"]))


def load(file):
    return torch.load(file, map_location="cpu", weights_only=False)


def main():
    directory = sys.argv[1]
    limit = int(sys.argv[sys.argv.index("--limit") + 1]) \
        if "--limit" in sys.argv else None
    with h5py.File(os.path.join(directory, "summary.h5")) as file:
        table = file["tensors"][:]
        skipped = {(text(r["file"]), text(r["path"])): text(r["reason"])
                   for r in file["skipped"][:]} if "skipped" in file else {}
        units = [n for n in table.dtype.names
                 if n + ".unit" not in file["tensors"].attrs]
        missing = [n for n in ("schema_version", "tool_version",
                               "command_line", "input_files", "input_bytes")
                   if n not in file.attrs]
    print("%d rows, %d skipped" % (len(table), len(skipped)))
    report = Report()
    if units:
        print("columns without a unit attribute:", " ".join(units))
    if missing:
        report.line("root attributes missing: " + " ".join(missing))
    files = [r["file"] for r in table]
    if files != sorted(files):
        report.line("files are not in byte order")
    keys, rows = [], collections.defaultdict(list)
    for i, row in enumerate(table):
        match = NAME.fullmatch(os.path.basename(text(row["file"])))
        keys.append((int(match["counter"] or -1) if match else -1,
                     match["timestamp"] if match else "",
                     row["file"], i))
        rows[text(row["file"])].append(row)
    for count, (name, members) in enumerate(rows.items()):
        if limit is not None and count >= limit:
            break
        payload = load(name)
        label, labelled = expected_label(name, payload)
        found = list(tensors_of(payload))
        wanted = [path for path, _ in found if (name, path) not in skipped]
        got = [text(row["path"]) for row in members]
        if got != wanted:
            report.line("%s: paths %r, expected %r" % (name, got, wanted))
        by_path = dict(found)
        info = payload.get("tensor_info") if isinstance(payload, dict) else None
        for row in members:
            tensor = by_path.get(text(row["path"]))
            if tensor is not None:
                check_row(report, row, tensor, label, labelled,
                          info if isinstance(info, dict) else None)
    if limit is None:
        check_ordinals(report, table, keys)
    report.print()
    sys.exit(1 if any(report.bad.values()) else 0)


if __name__ == "__main__":
    main()

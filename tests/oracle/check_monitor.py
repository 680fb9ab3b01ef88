#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recomputes /series and, made with --baseline online or rolling, /baselines.

    python3 tests/oracle/check_monitor.py OUTPUT_DIR [--warmup_steps N]
        [--alert_window N] [--sigma S]

/series is compared with what pandas makes of /tensors and /quantization:
samples merged, gradients summed. /baselines is compared with a class that
follows the published AdaptiveThreshold (update, then is_anomaly) over the
values of /series. Prints the number of comparisons of each kind and the worst
relative difference; exits 1 when one exceeds 1e-9 or an alarm differs.
"""
import sys

import h5py
import numpy as np
import pandas as pd

PLACE = ["path", "layer_type", "layer_idx", "operation", "phase", "component",
         "quant_type", "tensor_name", "ordinal", "rank", "group_idx"]


def option(name, default):
    """The number after --name on the command line."""
    if name not in sys.argv:
        return default
    return float(sys.argv[sys.argv.index(name) + 1])


def read(file, name):
    """A table as a data frame with Python texts."""
    frame = pd.DataFrame(file[name][:])
    for column in frame:
        if frame[column].dtype == object:
            frame[column] = frame[column].str.decode("utf-8")
    return frame


class Threshold:
    """The published monitor; a metric that does not exist is not seen. Unless
    it is `literal`, the range is not asked of values that were negative, of
    which the double is less."""

    def __init__(self, warmup, sigma, literal):
        self.warmup, self.sigma, self.literal = warmup, sigma, literal
        self.history, self.base = [], None

    def update(self, value):
        self.history.append(value)
        if len(self.history) == self.warmup:
            h = np.array(self.history)
            self.base = h.mean(), h.std(), h.max(), h.min()

    def is_anomaly(self, value):
        """False of what is to be learnt, too."""
        if self.base is None:
            return False
        mean, std, most, least = self.base
        if abs(value - mean) > self.sigma * std * (1 + 1e-9):  # but for ties
            return True
        return ((self.literal or least >= 0) and
                (value > 2 * most or value < least / 2))


class Rolling(Threshold):
    """The same, of the last values that were no alarm."""

    def __init__(self, warmup, sigma, window):
        super().__init__(warmup, sigma, False)
        self.window, self.learnt, self.constant = window, 0, False

    def update(self, value):
        """Learns the warm-up; then is_anomaly does."""
        self.learnt += 1
        if self.learnt <= self.warmup:
            self.learn(value)

    def learn(self, value):
        self.history = (self.history + [value])[-self.window:]
        if self.learnt >= self.warmup:
            h = np.array(self.history)
            self.base = h.mean(), h.std(), h.max(), h.min()

    def is_anomaly(self, value):
        anomaly = super().is_anomaly(value)
        if self.base:  # ours has a least deviation then, which is not known
            self.constant |= self.base[1] <= 1e-12 * abs(self.base[0])
        if not anomaly and self.learnt > self.warmup:
            self.learn(value)
        return anomaly


class Worst:
    """Comparisons by kind."""

    def __init__(self):
        self.seen = {}

    def add(self, kind, ours, theirs):
        ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
        both = np.isnan(ours) & np.isnan(theirs) | (ours == theirs)
        scale = np.maximum(np.maximum(np.abs(ours), np.abs(theirs)), 1e-300)
        with np.errstate(invalid="ignore"):
            off = np.where(both, 0, np.abs(ours - theirs) / scale)
        off = np.nan_to_num(off, nan=np.inf)
        count, worst = self.seen.get(kind, (0, 0))
        self.seen[kind] = count + off.size, max(worst, off.max(initial=0))

    def report(self):
        for kind, (count, worst) in sorted(self.seen.items()):
            print(f"{kind:20} {count:9} compared, worst {worst:.2g}")
        return all(worst <= 1e-9 for _, worst in self.seen.values())


def merged(rows):
    """The numbers of one point from its rows of /tensors."""
    n = rows.numel - rows.nan - rows.pos_inf - rows.neg_inf
    total = n.sum()
    mean = (rows["mean"].fillna(0) * n).sum() / total if total else np.nan
    m2 = (rows["std"].fillna(0) ** 2 * (n - 1) +
          (rows["mean"].fillna(mean) - mean) ** 2 * n).sum()
    ratio = rows.numel / rows.numel.sum()
    return {"l2_norm": np.sqrt((rows.l2_norm ** 2).mean()),
            "abs_max": rows.abs_max.max(), "mean": mean,
            "std": np.sqrt(m2 / (total - 1)) if total > 1 else np.nan,
            "overflow_ratio": (rows.total_overflow_ratio * ratio).sum(),
            "underflow_ratio": (rows.underflow_ratio * ratio).sum(),
            "nan+inf": (rows.nan + rows.pos_inf + rows.neg_inf).sum(),
            "zero_ratio": rows.zero.sum() / rows.numel.sum()}


def check_tensors(tensors, series, worst):
    """Each metric of each tensor's point."""
    keys = PLACE + ["iteration"]
    wanted = {key: merged(rows)
              for key, rows in tensors.groupby(keys, sort=False)}
    for metric, rows in series.groupby("metric"):
        if metric not in next(iter(wanted.values())):
            continue
        theirs = [wanted[key][metric]
                  for key in rows[keys].itertuples(index=False, name=None)]
        scale = np.array([max(wanted[key]["abs_max"], 1e-300) for key in
                          rows[keys].itertuples(index=False, name=None)])
        if metric == "mean":  # a difference of large numbers
            worst.add(metric, rows.value / scale + 1,
                      np.array(theirs) / scale + 1)
        else:
            worst.add(metric, rows.value, theirs)


def check_distortion(tensors, quantization, series, worst):
    """Points of one row only: noise is not in the tables."""
    q = quantization.drop_duplicates(["tensor", "format"])
    q = q.merge(tensors, left_on=["tensor", "format"],
                right_on=["row", "target_format"])
    keys = PLACE + ["iteration"]
    q = q[~q.duplicated(keys, keep=False)]
    q = q.merge(series[series.metric == "distortion"], on=keys)
    worst.add("distortion", q.value, 10 ** (-q.sqnr_db / 10))


def check_gradients(tensors, series, worst):
    """Norms over layers and ranks; where all tensors are there."""
    g = tensors[(tensors.operation == "backward") & (tensors.phase == "pre") &
                (tensors.tensor_name == "input")]
    for metric, keys in (("grad_norm", ["quant_type", "rank"]),
                         ("layer_grad_norm",
                          ["quant_type", "rank", "layer_idx"])):
        ours = series[series.metric == metric]
        sums = (g.assign(square=g.l2_norm ** 2)
                .groupby(keys + ["iteration"]).square.sum().reset_index())
        both = ours.merge(sums, on=keys + ["iteration"])
        both = both[np.isfinite(both.value)]
        worst.add(metric, both.value, np.sqrt(both.square))


def first_alarm(monitor, rows):
    """The iteration of the first anomaly, or -1."""
    for at, value in zip(rows.iteration, rows.value):
        monitor.update(value)
        if monitor.is_anomaly(value):
            return at
    return -1


def check_live(series, baselines, worst):
    """Center, range, first alarm; returns how many of these differ."""
    steps, sigma = int(option("--warmup_steps", 100)), option("--sigma", 3)
    window = int(option("--alert_window", 50))
    different = alarmed = literally = 0
    keys = PLACE + ["metric"]
    groups = dict(list(series.groupby(keys, sort=False)))
    for base in baselines.itertuples():
        rows = groups[tuple(getattr(base, key) for key in keys)]
        rows = rows[~np.isnan(rows.value)]
        warmup = max(min(steps, len(rows) // 2), 1)
        rolling = base.method == b"rolling" or base.method == "rolling"
        monitor = (Rolling(warmup, sigma, window) if rolling
                   else Threshold(warmup, sigma, False))
        first = first_alarm(monitor, rows)
        literally += first != first_alarm(Threshold(warmup, sigma, True), rows)
        alarmed += first >= 0
        if rolling and monitor.constant:
            continue
        if first != base.first_bad:
            different += 1
            if different < 10:
                print("differs:", base, "wanted", first)
        if monitor.base and len(rows) > 1:
            scale = max(abs(monitor.base[2]), abs(monitor.base[3]), 1e-300)
            worst.add("center", [base.center / scale + 1],
                      [monitor.base[0] / scale + 1])
            worst.add("range", [base.max, base.min], monitor.base[2:])
    print(f"{len(baselines)} baselines, {alarmed} with an alarm, "
          f"{different} differ ({literally} from the letter)")
    return different


def main():
    worst = Worst()
    with h5py.File(sys.argv[1] + "/summary.h5") as file:
        tensors = read(file, "tensors")
        series, baselines = read(file, "series"), read(file, "baselines")
        quantization = read(file, "quantization")
    tensors["row"] = np.arange(len(tensors))
    tensors = tensors[tensors.iteration >= 0]
    check_tensors(tensors, series, worst)
    check_distortion(tensors, quantization, series, worst)
    check_gradients(tensors, series, worst)
    different = 0
    if (baselines.method != "retro").all():
        different = check_live(series, baselines, worst)
    return 0 if worst.report() and not different else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums over the traces of testdata/traces/own, by numpy and plain counting.

    python3 tests/oracle/trace_signals.py signals TRACES > signals.txt
    python3 tests/oracle/trace_signals.py idle TRACES > idle_attribution.txt
    python3 tests/oracle/trace_signals.py rows TRACES

signals: kernels, calls and memory events; idle: what the host does in every
microsecond in which the device does nothing, by one array with an element a
microsecond for each cause; rows: counts and sums that tests name one by one.
"""
import collections
import decimal
import gzip
import json
import pathlib
import sys

import numpy as np

LAUNCH = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync",
          "cudaMemsetAsync")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def read(path):
    with gzip.open(path, "rt") as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    return events


def of(events, *cats):
    return [e for e in events if e.get("cat") in cats]


def steps_of(events):
    return [e for e in of(events, "user_annotation")
            if e["name"].startswith("ProfilerStep")]


def signals(name, events):
    steps = len(steps_of(events))
    kernels = np.array([float(e["dur"]) for e in of(events, "kernel")])
    short = kernels < 10
    print(f"## ./{name}")
    print(f"  gpu_span 0 busy% 0 kernels {len(kernels)} "
          f"med_us {np.median(kernels):.2f} mean {kernels.mean():.2f} "
          f"<10us: {100 * short.mean():.1f}% cnt, "
          f"{100 * kernels[short].sum() / kernels.sum():.1f}% time")
    calls = collections.defaultdict(list)
    for event in of(events, "cuda_runtime"):
        calls[event["name"]].append(event["dur"])
    for call, times in sorted(calls.items()):
        print(f"      {call} {len(times)} us {float(sum(times)):.1f} "
              f"/step {len(times) / steps:.1f}")
    memory = [e["args"] for e in events if e["name"] == "[memory]"]
    gpu = [m for m in memory if m["Device Type"] == 1]
    made = [m["Bytes"] for m in gpu if m["Bytes"] > 0]
    print(f"  mem events {len(memory)} gpu allocs/step {len(made) / steps:.1f}"
          f" GB alloc/step {sum(made) / steps / 2**30:.9f}"
          f" peakAlloc MB {max(m['Total Allocated'] for m in gpu) / 2**20}"
          f" peakRes MB {max(m['Total Reserved'] for m in gpu) / 2**20}")


def mask(ranges, window):
    out = np.zeros(int(window[1] - window[0]), bool)
    for start, end in ranges:
        out[max(int(start - window[0]), 0):max(int(end - window[0]), 0)] = 1
    return out


def spans(events):
    return [(e["ts"], e["ts"] + e["dur"]) for e in events]


def blocking(events):
    reads = {e["args"]["correlation"] for e in of(events, "gpu_memcpy")
             if "DtoH" in e["name"] or "Pageable" in e["name"]}
    return [e for e in of(events, "cuda_runtime")
            if e["name"].endswith("Synchronize") or
            (e["name"] == "cudaMemcpyAsync" and
             e["args"]["correlation"] in reads)]


def idle(name, events):
    steps = steps_of(events)
    window = (min(e["ts"] for e in steps),
              max(e["ts"] + e["dur"] for e in steps))
    size = float(window[1] - window[0])
    busy = mask(spans(of(events, *DEVICE)), window)
    blocks = mask(spans(blocking(events)), window)
    causes = [
        ("alloc", []),
        ("dataloader", [e for e in of(events, "user_annotation")
                        if e["name"].startswith("enumerate(DataLoader)")]),
        ("blocking", blocking(events)),
        ("launch", [e for e in of(events, "cuda_runtime")
                    if e["name"] in LAUNCH]),
        ("cpu_op", of(events, "cpu_op")),
    ]
    left, text = ~busy, []
    for cause, listed in causes:
        here = left & mask(spans(listed), window)
        text.append(f"{cause} {100 * here.sum() / size:.1f}%")
        left &= ~here
    # From the end of the last blocking call in a gap to the gap's end.
    ends = {int(e["ts"] + e["dur"] - window[0]) for e in blocking(events)}
    refill, last = 0, None
    for i, works in enumerate(list(busy) + [True]):
        if i in ends and (last is not None or not works):
            last = i
        if works:
            refill += i - last if last is not None else 0
            last = None
    print(f"{name} W {size:.0f} busy {100 * busy.mean():.1f}% idle "
          f"{100 - 100 * busy.mean():.1f}% | of W: {' '.join(text)} none "
          f"{100 * left.sum() / size:.1f}% | blocked "
          f"{100 * blocks.mean():.1f}% (gpu busy meanwhile "
          f"{100 * (blocks & busy).sum() / size:.1f}%) refill-after-sync "
          f"{100 * refill / size:.1f}%")


def rows(name, events):
    """Copies by kind, categories, host ranges and collectives."""
    print(name, dict(collections.Counter(
        e["cat"] for e in events if e.get("ph") == "X")))
    memory = [e["args"] for e in events if e["name"] == "[memory]"]
    print("  memory", len(memory), *(
        sum(m[key] for m in memory) for key in
        ("Bytes", "Total Allocated", "Total Reserved", "Addr", "Device Type",
         "Device Id")), "copied",
        sum(e["args"]["bytes"] for e in of(events, "gpu_memcpy")))
    call = {e["args"]["correlation"]: e["dur"]
            for e in of(events, "cuda_runtime")}
    kinds = collections.defaultdict(lambda: [0, 0, 0, 0])
    for e in of(events, "gpu_memcpy", "gpu_memset"):
        for i, add in enumerate((1, e["args"]["bytes"], e["dur"],
                                 call[e["args"]["correlation"]])):
            kinds[e["name"]][i] += add
    for kind, sums in sorted(kinds.items(), key=lambda k: -k[1][2]):
        print("  copy", kind, *sums)
    start = {e["args"]["correlation"]: (e["ts"], e["tid"])
             for e in of(events, "cuda_runtime")}
    ranges = collections.defaultdict(list)
    for e in of(events, "user_annotation"):
        ranges[e["name"]].append(e)
    for text, listed in sorted(ranges.items()):
        inside = [
            d for d in of(events, *DEVICE) for e in listed
            if start[d["args"]["correlation"]][1] == e["tid"] and
            e["ts"] <= start[d["args"]["correlation"]][0] <
            e["ts"] + e["dur"]]
        print("  range", text, len(listed), sum(e["dur"] for e in listed),
              "device", len(inside), sum(d["dur"] for d in inside))
    comms = [e for e in of(events, "kernel") if "nccl" in e["name"]]
    if comms:
        others = mask(spans([e for e in of(events, "kernel")
                             if "nccl" not in e["name"]]),
                      (10**15, 10**15 + 10000))
        exposed = mask(spans(comms), (10**15, 10**15 + 10000)) & ~others
        print("  comms", len(comms), sum(e["dur"] for e in comms),
              max(e["dur"] for e in comms),
              sum(e["args"]["In msg nelems"] for e in comms),
              "exposed", exposed.sum())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[2])
    for path in sorted(root.glob("**/*.json.gz")):
        name = f"own/{path.relative_to(root)}"
        if sys.argv[1] == "idle" and "fractions" in name:
            continue  # a microsecond is an element
        {"signals": signals, "idle": idle, "rows": rows}[sys.argv[1]](
            name, read(path))


if __name__ == "__main__":
    main()

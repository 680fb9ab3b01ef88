#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/traces/cpu-memory, and prints what torch says of it.

    python3 tests/make_memory_traces.py FOLDER mlp
    python3 tests/make_memory_traces.py FOLDER conv

Three steps of a perceptron and of a small convolutional network, with Adam,
recorded from its first step on (so that the optimizer's state is made in the
trace). torch.profiler's own memory profile, which follows tensors through the
operators, says what is alive at its highest moment, by category; the numbers
stand in tests/unit/trace/test_trace_memory_peaks.c. It needs frames of Python,
which are then left out of the file: the rows do not ask for them.
"""
import collections
import gzip
import json
import pathlib
import sys
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.profiler._memory_profiler import Action

MODELS = {
    "mlp": (lambda: torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 512), torch.nn.GELU(),
        torch.nn.Linear(512, 64)), (512, 256)),
    "conv": (lambda: torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(16 * 28 * 28, 10)),
             (32, 3, 32, 32)),
}


def highest(memory):
    """What is alive at the highest moment, by category."""
    alive, best = {}, (0, {})
    for _, action, (key, version), size in memory.timeline:
        if action == Action.DESTROY:
            alive.pop(key, None)
        else:
            version += action == Action.INCREMENT_VERSION
            alive[key] = (memory._categories.get(key, version), size)
        total = sum(size for _, size in alive.values())
        if total > best[0]:
            sums = collections.Counter()
            for category, size in alive.values():
                sums[category.name if category else "NONE"] += size
            best = (total, dict(sums))
    return best


def record(make, shape):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = make()
    optimizer = torch.optim.Adam(model.parameters())
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True,
                 record_shapes=True, with_stack=True) as profiler:
        for step in range(3):
            with record_function(f"ProfilerStep#{step}"):
                loss = model(torch.randn(*shape)).pow(2).mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    return profiler


def strip(trace):
    kept = [event for event in trace["traceEvents"]
            if event.get("cat") in ("cpu_op", "user_annotation",
                                    "cpu_instant_event")]
    for event in kept:
        event["pid"] = event["tid"] = 1  # there is one thread
        event["args"].pop("Concrete Inputs", None)
    return {"schemaVersion": 1, "profile_memory": 1, "record_shapes": 1,
            "traceEvents": kept}


def main(folder, names):
    for name in names:
        make, shape = MODELS[name]
        profiler = record(make, shape)
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            profiler.export_chrome_trace(file.name)
            trace = strip(json.load(open(file.name)))
        path = pathlib.Path(folder) / f"{name}.json.gz"
        with gzip.GzipFile(path, "wb", mtime=0) as file:
            file.write(json.dumps(trace).encode())
        print(name, *highest(profiler._memory_profile()))


main(sys.argv[1], sys.argv[2:])

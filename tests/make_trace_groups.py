#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes testdata/traces/cpu-groups-torch*: a recording of torch.profiler with
shapes and stacks, and what torch's key_averages says of it by shape and by
stack. Usage: make_trace_groups.py FOLDER, with torch."""
import gzip
import json
import os
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.n = nn.LayerNorm(16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        y = self.n(torch.relu(self.a(x)))
        return self.b(torch.cat([y, x[:1] @ self.a.weight.t()]))


def main():
    folder = sys.argv[1]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(rows):
        y = model(torch.randn(rows, 8))
        target = torch.zeros(len(y), dtype=torch.long)
        nn.functional.cross_entropy(y, target).backward()
        optimizer.step()
        optimizer.zero_grad()

    step(4)
    verbose = torch._C._profiler._ExperimentalConfig(verbose=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 with_stack=True, experimental_config=verbose) as recording:
        for i in range(3):
            step(4 if i % 2 else 6)
            recording.step()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "groups.json")
    recording.export_chrome_trace(path)
    with open(path) as file:
        trace = json.load(file)
    os.remove(path)
    trace["traceName"] = "groups.json"
    for key in ("trace_id", "host_name"):
        trace.pop(key, None)
    with open(path + ".gz", "wb") as file:
        file.write(gzip.compress(json.dumps(trace).encode(), 9, mtime=0))
    for name, how in (("shape", {"group_by_input_shape": True}),
                      ("stack", {"group_by_stack_n": 5})):
        with open(os.path.join(folder, name + ".tsv"), "w") as file:
            for row in recording.key_averages(**how):
                group = (str(row.input_shapes) if name == "shape"
                         else "; ".join(row.stack))
                file.write(f"{row.key}\t{group}\t{row.count}\t"
                           f"{row.cpu_time_total:.3f}\t"
                           f"{row.self_cpu_time_total:.3f}\n")


main()

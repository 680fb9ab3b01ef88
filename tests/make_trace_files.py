#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the traces of testdata/traces with the real torch.profiler.

    python3 tests/make_trace_files.py OUT [--scenario NAME] [--device cuda|cpu]

A small training loop whose bottleneck is chosen: `dataloader` (slow data),
`sync` (.item() in every step), `tiny_ops` (a chain of small operators),
`memory_churn` (many temporary tensors) and `none`. Each scenario becomes one
trace, written by tensorboard_trace_handler and packed. With a GPU the traces
hold its kernels; without one they show what a CPU-only trace looks like.
Stacks are not recorded, so no path of the recording machine gets into them.
"""
import argparse
import gzip
import pathlib
import re
import shutil
import tempfile
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.profiler import tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

SCENARIOS = ("none", "dataloader", "sync", "tiny_ops", "memory_churn")


class SlowDataset(Dataset):
    """Random images; `work` operations and a pause before each of them."""

    def __init__(self, length, size, work, pause_s):
        self.length, self.size = length, size
        self.work, self.pause_s = work, pause_s

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        total = 0.0
        for i in range(self.work):
            total += (i * 31 + index) % 7
        time.sleep(self.pause_s)
        image = torch.full((3, self.size, self.size), total % 5)
        return image, index % 10


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))

    def forward(self, x):
        return self.body(x)


def disturb(scenario, x, loss):
    """What a step does beside training."""
    if scenario == "sync":
        for _ in range(20):
            (loss * 1.0).item()
    elif scenario == "tiny_ops":
        y = x[0, 0, 0]
        for _ in range(150 if x.is_cuda else 40):
            y = torch.sin(y) * 0.5 + 0.1
    elif scenario == "memory_churn":
        for i in range(100):
            torch.empty(1024 * (i + 1), device=x.device).fill_(1.0)


def record(scenario, device, out):
    cuda = device.type == "cuda"
    slow = scenario == "dataloader"
    batch, steps = (64, 6) if cuda else (4, 3)
    data = SlowDataset(batch * (steps + 12), 64 if cuda else 16,
                       4000 if slow else 20, 0.002 if slow else 0.0)
    loader = iter(DataLoader(data, batch_size=batch, drop_last=True,
                             pin_memory=cuda))
    model = Net(64 if cuda else 4).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    loss_of = nn.CrossEntropyLoss()

    def step():
        x, y = next(loader)
        x, y = x.to(device, non_blocking=True), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), y)
        disturb(scenario, x, loss)
        loss.backward()
        optimizer.step()

    for _ in range(8):
        step()
    activities = [ProfilerActivity.CPU]
    if cuda:
        activities.append(ProfilerActivity.CUDA)
    with tempfile.TemporaryDirectory() as folder:
        handler = tensorboard_trace_handler(folder, worker_name=scenario)
        with profile(activities=activities, on_trace_ready=handler,
                     schedule=schedule(wait=1, warmup=1, active=steps),
                     record_shapes=False, profile_memory=True) as profiler:
            for _ in range(steps + 2):
                step()
                profiler.step()
        path, = pathlib.Path(folder).glob("*.pt.trace.json")
        pack(path, out / f"{scenario}.1.pt.trace.json.gz")


def pack(source, target):
    """The trace, without what names the machine, as gzip without a date."""
    text = source.read_text()
    for key in ("trace_id", "traceName", "host_name"):
        text = re.sub(rf'"{key}": "[^"]*"', f'"{key}": ""', text)
    with open(target, "wb") as raw, \
            gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--scenario", choices=SCENARIOS)
    parser.add_argument("--device", default=None)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    device = torch.device(args.device or
                          ("cuda" if torch.cuda.is_available() else "cpu"))
    out = args.out / f"{device.type}-torch{torch.__version__.split('+')[0]}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for scenario in [args.scenario] if args.scenario else SCENARIOS:
        record(scenario, device, out)


if __name__ == "__main__":
    main()

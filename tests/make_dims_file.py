#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/dims/bbox_pred.pt and prints its numbers by index.

Run by hand with torch: tests/make_dims_file.py testdata/dims
"""
import sys

import torch

ROWS = 1000


def column(low, high, mean):
    """From low to high, denser at one end so that this is the mean."""
    power = (high - low) / (high - mean) - 1
    u = (torch.arange(ROWS, dtype=torch.float64) / (ROWS - 1))
    return high - (high - low) * u ** power


torch.manual_seed(2026)
columns = [column(-1000, 1200, 100), column(-1.5, 0.8, 0.1)]
pred = torch.stack([c[torch.randperm(ROWS)] for c in columns], 1).bfloat16()
torch.save({"bbox_pred": pred}, sys.argv[1] + "/bbox_pred.pt")
for i in range(2):
    x = pred[:, i].double()
    print(i, x.min().item(), x.max().item(), x.mean().item(), x.std().item(),
          x.abs().max().item(), x.norm().item())
amax = pred.double().abs().max(0).values
print("dim_ratio", (amax.max() / amax.min()).item())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of testdata/dims: one tensor in three dtypes.

Prints the numbers of each by index. Run by hand with torch:
tests/make_dims_file.py testdata/dims
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
exact = torch.stack([c[torch.randperm(ROWS)] for c in columns], 1)
for name, dtype in (("bbox_pred", torch.bfloat16),
                    ("bbox_pred.float16", torch.float16),
                    ("bbox_pred.float32", torch.float32)):
    pred = exact.to(dtype)
    torch.save({"bbox_pred": pred}, f"{sys.argv[1]}/{name}.pt")
    print(name)
    for i in range(2):
        x = pred[:, i].double()
        print(i, x.min().item(), x.max().item(), x.mean().item(),
              x.std().item(), x.abs().max().item(), x.norm().item())
    amax = pred.double().abs().max(0).values
    print("dim_ratio", (amax.max() / amax.min()).item())
    top = pred.double().max(0).values
    print("max_ratio", (top.max() / top[top > 0].min()).item())

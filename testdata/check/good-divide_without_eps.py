# SPDX-License-Identifier: MIT
import torch


def unit(x):
    first = x / (x.norm(dim=-1, keepdim=True) + 1e-6)
    return first + x / x.norm(dim=-1, keepdim=True).clamp(min=1e-6)

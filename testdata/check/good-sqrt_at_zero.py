# SPDX-License-Identifier: MIT
import torch


def distance_loss(a, b):
    first = torch.sqrt(((a - b) ** 2).sum(-1) + 1e-12)
    second = (a - b).square().sum(-1).clamp(min=1e-12) ** 0.5
    with torch.no_grad():
        third = ((a - b) ** 2).sum(-1).sqrt()
    return first + second + third + (a - b).norm(dim=-1)

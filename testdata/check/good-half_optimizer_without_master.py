# SPDX-License-Identifier: MIT
import torch
from torch import nn


def make(width):
    model = nn.Linear(width, width, dtype=torch.bfloat16)
    model.float()
    return torch.optim.AdamW([{"params": model.parameters()}], lr=1e-3)

# SPDX-License-Identifier: MIT
import torch
from torch import nn


def make(width):
    model = nn.Linear(width, width, dtype=torch.bfloat16)
    return torch.optim.AdamW(  # HERE
        [{"params": model.parameters()}], lr=1e-3)

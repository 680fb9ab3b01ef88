# SPDX-License-Identifier: MIT
import torch
from torch import nn


def make():
    model = nn.Linear(16, 16, dtype=torch.float16)
    return torch.optim.Adam(model.parameters(), lr=1e-3)  # HERE

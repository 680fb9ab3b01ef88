# SPDX-License-Identifier: MIT
import torch
from apex import amp


def make(model, optimizer):
    amp.initialize(model, optimizer, loss_scale=128.0)  # HERE
    return torch.amp.GradScaler(  # HERE
        "cuda", growth_interval=1_000_000_000)

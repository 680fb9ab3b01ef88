# SPDX-License-Identifier: MIT
import torch
from apex import amp


def make(model, optimizer):
    amp.initialize(model, optimizer, loss_scale="dynamic")
    return torch.amp.GradScaler("cuda", growth_interval=2000)

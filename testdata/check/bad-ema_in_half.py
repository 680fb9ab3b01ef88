# SPDX-License-Identifier: MIT
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


def average(x, decay):
    mean = torch.zeros(16, dtype=torch.bfloat16)
    mean.mul_(decay).add_(x, alpha=1 - decay)  # HERE
    mean.lerp_(x, 0.001)  # HERE
    model = nn.Linear(16, 16, dtype=torch.bfloat16)
    return mean, AveragedModel(model)  # HERE

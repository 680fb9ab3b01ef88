# SPDX-License-Identifier: MIT
import torch


def normalize(mean):
    x = torch.zeros(16, dtype=torch.float16)
    first = mean / (x + 1e-8)  # HERE
    return first + torch.clamp(x, min=1e-10)  # HERE

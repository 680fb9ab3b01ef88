# SPDX-License-Identifier: MIT
import torch


def normalize(mean):
    x = torch.zeros(16, dtype=torch.float16)
    y = torch.zeros(16, dtype=torch.bfloat16)
    first = mean / (x + 1e-6) + mean / (x.float() + 1e-8)
    return first + torch.clamp(x, min=1e-5) + mean / (y + 1e-8)

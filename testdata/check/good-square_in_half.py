# SPDX-License-Identifier: MIT
import torch


def power():
    x = torch.ones(16, dtype=torch.float16)
    y = torch.ones(16, dtype=torch.bfloat16)
    return x.float() ** 2 + x**3 + y**2

# SPDX-License-Identifier: MIT
import torch


def power():
    x = torch.ones(16, dtype=torch.float16)
    y = x**2  # HERE
    return y + x.square()  # HERE

# SPDX-License-Identifier: MIT
import torch


def safe_loss(x, y):
    first = torch.where(x > 0, torch.log(x), 0.0)  # HERE
    second = torch.where(x > 0, x.sqrt(), x)  # HERE
    return first + second + torch.where(x != 0, y / x, y)  # HERE

# SPDX-License-Identifier: MIT
import torch


def safe_loss(x, y):
    positive = torch.where(x > 0, x, 1.0)
    first = torch.where(x > 0, torch.log(positive), 0.0)
    second = torch.where(x != 0, y / 2, y)
    with torch.no_grad():
        third = torch.where(x > 0, torch.log(x), 0.0)
    return first + second + third + torch.where(y > 0, torch.log(positive), y)

# SPDX-License-Identifier: MIT
import torch


def distance_loss(a, b):
    first = torch.sqrt(((a - b) ** 2).sum(-1))  # HERE
    second = (a - b).square().sum(-1) ** 0.5  # HERE
    squares = torch.sum((a - b) * (a - b), -1)
    return first + second + squares.sqrt()  # HERE

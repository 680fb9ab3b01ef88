# SPDX-License-Identifier: MIT
import torch


def positions(length):
    first = torch.arange(2048, dtype=torch.float16)
    return first, torch.arange(0, length), torch.arange(length).float()

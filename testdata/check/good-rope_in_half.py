# SPDX-License-Identifier: MIT
import torch


def rotary(inverse, x):
    t = torch.arange(4096).float()
    angles = torch.outer(t, inverse.float())
    return angles.cos().to(x.dtype), torch.sin(angles).to(x.dtype)

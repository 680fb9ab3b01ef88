# SPDX-License-Identifier: MIT
import torch


def rotary(inverse):
    t = torch.ones(4096, dtype=torch.bfloat16)
    angles = t * 0.5
    cosine = angles.cos()  # HERE
    return cosine, torch.sin(angles)  # HERE

# SPDX-License-Identifier: MIT
import torch


def attend(mask):
    scores = torch.zeros(16, 16, dtype=torch.float16)
    return scores.masked_fill(mask, -1e9)  # HERE

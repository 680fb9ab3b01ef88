# SPDX-License-Identifier: MIT
import torch


def attend(scores, mask):
    scores = scores.float().masked_fill(mask, float("-inf"))
    return scores.softmax(-1, dtype=torch.float32)  # HERE

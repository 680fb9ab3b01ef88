# SPDX-License-Identifier: MIT
import torch


def attend(scores, mask):
    scores = scores.float().masked_fill(mask, torch.finfo(torch.float32).min)
    return scores.softmax(-1, dtype=torch.float32)

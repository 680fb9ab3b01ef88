# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F

from .layers import functional as local


def attend(scores, value, **how):
    first = F.softmax(scores, dim=-1, dtype=torch.float32)
    second = torch.softmax(scores, -1, torch.float32)
    third = F.softmax(scores.float(), dim=-1)
    fourth = local.softmax(scores, dim=-1)
    fifth = F.softmax(scores, **how)
    return (first + second + third + fourth + fifth) @ value

# SPDX-License-Identifier: MIT
import torch.nn.functional as F


def score(logits):
    return F.logsigmoid(logits)

# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F


def attend(query, key, weight):
    with torch.autocast("cuda"):
        scores = query.float() @ key.float().transpose(-1, -2)  # HERE
        scores = scores + torch.matmul(query.to(torch.float32), key)  # HERE
        return F.linear(scores.float(), weight)  # HERE

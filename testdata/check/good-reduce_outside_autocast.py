# SPDX-License-Identifier: MIT
import torch


def measure(model, batch, target):
    with torch.autocast("cuda"):
        output = model(batch)
        error = output.mean()
    small = torch.ones(70000, dtype=torch.float16)
    wide = output.float()
    return error + torch.sum(small, dtype=torch.float32) + wide.mean()

# SPDX-License-Identifier: MIT
import torch


def measure(model, batch, target):
    with torch.autocast("cuda"):
        output = model(batch)
    error = output.mean()  # HERE
    small = torch.ones(70000, dtype=torch.float16)
    return error + torch.sum(small)  # HERE

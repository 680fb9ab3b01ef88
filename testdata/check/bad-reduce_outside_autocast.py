# SPDX-License-Identifier: MIT
import torch


def measure(model, batch, target):
    with torch.autocast("cuda"):
        output = model(batch)
    error = output.mean()  # HERE
    small = (batch - target).to(torch.float16)
    return error + torch.sum(small)  # HERE

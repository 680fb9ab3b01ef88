# SPDX-License-Identifier: MIT
import torch


def step(model, batch, optimizer):
    with torch.autocast("cuda"):
        loss = model(batch)
    optimizer.step()
    return loss

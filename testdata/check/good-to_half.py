# SPDX-License-Identifier: MIT
import torch


def step(model, batch, device):
    batch = batch.to(device, non_blocking=True)
    with torch.autocast("cuda"):
        loss = model(batch)
    return loss.to(torch.float32)

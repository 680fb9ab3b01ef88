# SPDX-License-Identifier: MIT
import torch


def step(model, batch, optimizer, scaler):
    with torch.autocast("cuda"):
        loss = model(batch)
        optimizer.step()  # HERE
    return loss

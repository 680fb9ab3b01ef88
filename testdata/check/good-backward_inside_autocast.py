# SPDX-License-Identifier: MIT
import torch


def step(model, batch):
    with torch.autocast("cuda"):
        loss = model(batch).square().mean()
        with torch.autocast("cuda", enabled=False):
            model.penalty().backward()
    loss.backward()

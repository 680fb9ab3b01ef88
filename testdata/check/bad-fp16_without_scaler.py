# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F


def train_step(model, x, y, optimizer):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()  # HERE
    optimizer.step()

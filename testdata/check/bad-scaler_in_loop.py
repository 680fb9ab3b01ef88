# SPDX-License-Identifier: MIT
import torch


def train(model, batches, optimizer):
    for batch in batches:
        scaler = torch.amp.GradScaler("cuda")  # HERE
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()

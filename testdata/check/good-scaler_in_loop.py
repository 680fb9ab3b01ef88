# SPDX-License-Identifier: MIT
import torch


def train(models, batches, optimizer):
    for model in models:
        scaler = torch.amp.GradScaler("cuda")
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()

# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F

scaler = torch.amp.GradScaler("cuda", enabled=False)


def train_step(model, x, y, optimizer, dtype):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F


def attend(scores, value):
    first = F.softmax(scores, dim=-1)  # HERE
    second = torch.softmax(scores, -1)  # HERE
    return (first + second + scores.softmax(-1)) @ value  # HERE


def step(model, batch, scaler, optimizer):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

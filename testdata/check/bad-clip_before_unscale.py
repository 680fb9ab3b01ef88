# SPDX-License-Identifier: MIT
import torch


def step(scaler, loss, model, optimizer):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # HERE
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()

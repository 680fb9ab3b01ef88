# SPDX-License-Identifier: MIT
import torch


def step(scaler, loss, model, optimizer, amp):
    if amp:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    if not amp:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if amp:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

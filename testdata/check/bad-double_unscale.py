# SPDX-License-Identifier: MIT
import torch
from torch.nn.utils import clip_grad_norm_

scaler = torch.amp.GradScaler("cuda")


def train_step(loss, model, optimizer):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.encoder.parameters(), 1.0)
    scaler.unscale_(optimizer)  # HERE
    clip_grad_norm_(model.decoder.parameters(), 0.5)
    scaler.step(optimizer)
    scaler.update()

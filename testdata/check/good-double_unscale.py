# SPDX-License-Identifier: MIT
import torch
from torch.nn.utils import clip_grad_norm_

scaler = torch.amp.GradScaler("cuda")


def train_step(loss, model, first, second):
    scaler.scale(loss).backward()
    scaler.unscale_(first)
    clip_grad_norm_(model.encoder.parameters(), 1.0)
    scaler.unscale_(second)
    clip_grad_norm_(model.decoder.parameters(), 0.5)
    scaler.step(first)
    scaler.step(second)
    scaler.update()

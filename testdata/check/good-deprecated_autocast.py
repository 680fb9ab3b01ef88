# SPDX-License-Identifier: MIT
import torch
from torch.amp import GradScaler


def step(model, batch):
    scaler = GradScaler("cuda")
    with torch.autocast("cuda"):
        return scaler, model(batch)

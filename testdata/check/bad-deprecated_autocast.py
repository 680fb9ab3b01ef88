# SPDX-License-Identifier: MIT
import torch
from torch.cuda.amp import GradScaler


def step(model, batch):
    scaler = GradScaler()  # HERE
    with torch.cuda.amp.autocast():  # HERE
        return scaler, model(batch)

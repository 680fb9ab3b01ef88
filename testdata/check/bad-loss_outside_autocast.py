# SPDX-License-Identifier: MIT
import torch
from torch import nn

criterion = nn.CrossEntropyLoss()


def step(model, batch, labels):
    with torch.autocast("cuda", dtype=torch.float16):
        logits = model(batch)
    loss = criterion(logits, labels)  # HERE
    loss.backward()

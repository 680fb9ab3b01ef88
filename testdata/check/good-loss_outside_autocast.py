# SPDX-License-Identifier: MIT
import torch
from torch import nn

criterion = nn.CrossEntropyLoss()


def step(model, batch, labels):
    with torch.autocast("cuda", dtype=torch.float16):
        logits = model(batch)
        loss = criterion(logits, labels)
    loss.backward()


def step_wide(model, batch, labels):
    with torch.autocast("cuda"):
        logits = model(batch)
    logits = logits.float()
    criterion(logits, labels).backward()


def step_fp32(model, batch, labels):
    with torch.autocast("cuda", enabled=False):
        logits = model(batch)
    criterion(logits, labels).backward()

# SPDX-License-Identifier: MIT
import torch


def forward(model, batch):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(batch)

# SPDX-License-Identifier: MIT
import torch

torch.autograd.set_detect_anomaly(False)


def train_step(model, batch, debug):
    if debug:
        torch.autograd.set_detect_anomaly(True)
    with torch.autograd.set_detect_anomaly(debug):
        model(batch).backward()

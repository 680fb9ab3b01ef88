# SPDX-License-Identifier: MIT
import torch


def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        model(batch).backward()
        optimizer.step()  # HERE

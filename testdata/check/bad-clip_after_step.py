# SPDX-License-Identifier: MIT
from torch.nn.utils import clip_grad_norm_


def train(model, batches, optimizer):
    for batch in batches:
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
        clip_grad_norm_(model.parameters(), 1.0)  # HERE

# SPDX-License-Identifier: MIT
import torch
from torch import nn

criterion = nn.BCEWithLogitsLoss()


def loss_of(logits, labels):
    return criterion(logits.sigmoid(), labels)  # HERE

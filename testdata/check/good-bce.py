# SPDX-License-Identifier: MIT
import torch.nn as nn
import torch.nn.functional as F

from keras import losses

criterion = nn.BCEWithLogitsLoss()


def loss_of(logits, labels):
    losses.binary_cross_entropy(logits, labels)
    return F.binary_cross_entropy_with_logits(logits, labels)

# SPDX-License-Identifier: MIT
from torch.utils.data import DataLoader


def batches(data, device):
    for x, y in DataLoader(data, batch_size=8, pin_memory=True):
        yield x.to(device, non_blocking=True), y

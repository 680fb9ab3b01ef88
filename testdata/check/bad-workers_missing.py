# SPDX-License-Identifier: MIT
from torch.utils.data import DataLoader


def load(data):
    first = DataLoader(data, batch_size=8, prefetch_factor=4)  # HERE
    second = DataLoader(  # HERE
        data, batch_size=8, num_workers=0, persistent_workers=True)
    return first, second

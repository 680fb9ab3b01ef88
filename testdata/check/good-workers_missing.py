# SPDX-License-Identifier: MIT
from torch.utils.data import DataLoader


def load(data, workers):
    first = DataLoader(data, 8, num_workers=4, prefetch_factor=4)
    second = DataLoader(
        data, 8, num_workers=workers, persistent_workers=workers > 0)
    third = DataLoader(data, 8, num_workers=0, prefetch_factor=None)
    return first, second, third

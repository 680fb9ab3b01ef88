# SPDX-License-Identifier: MIT
import time

import torch


def measure(model, x):
    model = model.cuda()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(100):
        model(x.cuda())
    torch.cuda.synchronize()
    return time.perf_counter() - begin

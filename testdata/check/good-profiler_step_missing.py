# SPDX-License-Identifier: MIT
import torch


def run(batches, step):
    with torch.profiler.profile(
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=3),
            record_shapes=True) as prof:
        for batch in batches:
            step(batch)
            prof.step()
    print(prof.key_averages())

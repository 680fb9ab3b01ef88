# SPDX-License-Identifier: MIT
from torch.profiler import profile, schedule


def run(step):
    with profile(schedule=schedule(wait=1, warmup=1, active=5)) as prof:
        for _ in range(5):  # HERE
            step()
            prof.step()

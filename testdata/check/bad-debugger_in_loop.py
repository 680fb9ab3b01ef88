# SPDX-License-Identifier: MIT
from msprobe.pytorch import PrecisionDebugger


def train(model, batches):
    for batch in batches:
        debugger = PrecisionDebugger("./config.json")  # HERE
        debugger.start()
        model(batch).backward()
        debugger.stop()
        debugger.step()

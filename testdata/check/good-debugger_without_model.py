# SPDX-License-Identifier: MIT
from msprobe.pytorch import PrecisionDebugger


def train(model, batches):
    debugger = PrecisionDebugger("./config.json", level="mix")
    for batch in batches:
        debugger.start(model=model)
        model(batch).backward()
        debugger.stop()
        debugger.step()

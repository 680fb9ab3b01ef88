# SPDX-License-Identifier: MIT
from msprobe.pytorch import PrecisionDebugger


def train(model, batches):
    debugger = PrecisionDebugger("./config.json")
    for batch in batches:
        debugger.start()
        model(batch).backward()
        debugger.stop()
        debugger.step()

# SPDX-License-Identifier: MIT
from msprobe.pytorch import PrecisionDebugger


def train(model, batches):
    debugger = PrecisionDebugger("./config.json")
    for batch in batches:
        debugger.start()  # HERE
        model(batch).backward()
        debugger.stop()

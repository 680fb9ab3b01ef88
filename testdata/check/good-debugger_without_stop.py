# SPDX-License-Identifier: MIT
from msprobe.pytorch import PrecisionDebugger


def once(model, batch):
    debugger = PrecisionDebugger("./config.json")
    debugger.start()
    model(batch).backward()
    debugger.stop()

# SPDX-License-Identifier: MIT
from msprobe.pytorch import PrecisionDebugger

debugger = PrecisionDebugger("./config.json")


def train(model, batches):
    for batch in batches:
        debugger.start()
        loss = model(batch)
        loss.backward()
        debugger.forward_backward_dump_end()  # HERE
        debugger.stop()
        debugger.step()

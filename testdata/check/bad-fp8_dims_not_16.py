# SPDX-License-Identifier: MIT
import transformer_engine.pytorch as te


def forward(x):
    layer = te.Linear(768, 1000)  # HERE
    with te.fp8_autocast(enabled=True):
        return layer(x)

# SPDX-License-Identifier: MIT
def step(scaler, loss, optimizer):
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # HERE

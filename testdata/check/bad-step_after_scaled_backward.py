# SPDX-License-Identifier: MIT
def step(scaler, loss, optimizer):
    scaler.scale(loss).backward()
    optimizer.step()  # HERE
    scaler.update()

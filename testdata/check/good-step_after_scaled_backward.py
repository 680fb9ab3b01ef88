# SPDX-License-Identifier: MIT
def step(scaler, loss, optimizer):
    if scaler is None:
        loss.backward()
        optimizer.step()
        return
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

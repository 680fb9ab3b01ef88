# SPDX-License-Identifier: MIT
def train(model, batches, optimizer, accumulate):
    for i, batch in enumerate(batches):
        loss = model(batch) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()

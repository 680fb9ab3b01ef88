# SPDX-License-Identifier: MIT
def train(model, batches, optimizer):
    total = 0.0
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
        total += loss  # HERE
    return total

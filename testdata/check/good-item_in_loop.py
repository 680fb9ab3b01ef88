# SPDX-License-Identifier: MIT
def train(model, batches, optimizer):
    total = 0.0
    for i, batch in enumerate(batches):
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if i % 100 == 0:
            print(total.item())
    return total

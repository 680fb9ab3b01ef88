# SPDX-License-Identifier: MIT
import torch

scaler = torch.amp.GradScaler("cuda")


def train_step(model, x, optimizer):
    loss = model(x)
    grads = torch.autograd.grad(
        scaler.scale(loss), model.parameters(), create_graph=True)
    grads = [grad * (1 / scaler.get_scale()) for grad in grads]
    penalty = torch.stack([grad.pow(2).sum() for grad in grads]).sum()
    scaler.scale(loss + penalty).backward()
    scaler.step(optimizer)
    scaler.update()

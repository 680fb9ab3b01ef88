# SPDX-License-Identifier: MIT
import torch

scaler = torch.amp.GradScaler("cuda")


def train_step(model, x, optimizer):
    loss = model(x)
    grads = torch.autograd.grad(  # HERE
        scaler.scale(loss), model.parameters(), create_graph=True)
    penalty = torch.stack([grad.pow(2).sum() for grad in grads]).sum()
    scaler.scale(loss + penalty).backward()
    scaler.step(optimizer)
    scaler.update()

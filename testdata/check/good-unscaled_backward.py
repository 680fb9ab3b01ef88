# SPDX-License-Identifier: MIT
import torch

scaler = torch.amp.GradScaler("cuda")


def train_step(generator, critic, x, optimizer_g, optimizer_d, amp):
    error_d = critic(x)
    scaler.scale(error_d).backward()
    scaler.step(optimizer_d)
    error_g = generator(x)
    if amp:
        scaler.scale(error_g).backward()
        scaler.step(optimizer_g)
        scaler.update()
    else:
        error_g.backward()
        optimizer_g.step()

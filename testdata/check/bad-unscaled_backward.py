# SPDX-License-Identifier: MIT
import torch

scaler = torch.amp.GradScaler("cuda")


def train_step(generator, critic, x, optimizer_g, optimizer_d):
    error_d = critic(x)
    scaler.scale(error_d).backward()
    scaler.step(optimizer_d)
    error_g = generator(x)
    error_g.backward()  # HERE
    scaler.step(optimizer_g)
    scaler.update()

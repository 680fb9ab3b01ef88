# SPDX-License-Identifier: MIT
import torch

scaler = torch.amp.GradScaler("cuda")


def train_step(first_loss, second_loss, first, second):
    scaler.scale(first_loss).backward(retain_graph=True)
    scaler.scale(second_loss).backward()
    scaler.step(first)
    scaler.update()  # HERE
    scaler.step(second)
    scaler.update()

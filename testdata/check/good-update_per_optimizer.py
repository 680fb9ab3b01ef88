# SPDX-License-Identifier: MIT
import torch

scaler = torch.amp.GradScaler("cuda")


def train_step(critic, generator, first, second):
    scaler.scale(critic()).backward()
    scaler.step(first)
    scaler.update()
    scaler.scale(generator()).backward()
    scaler.step(second)
    scaler.update()

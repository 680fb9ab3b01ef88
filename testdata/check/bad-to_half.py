# SPDX-License-Identifier: MIT
import torch


def step(model, batch, device):
    batch = batch.to(device, dtype=torch.float16)  # HERE
    model.type(torch.cuda.HalfTensor)  # HERE
    loss = model(batch).to(torch.bfloat16)  # HERE
    loss.backward()

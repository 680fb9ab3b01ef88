# SPDX-License-Identifier: MIT
import torch


class Center(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(4, 4)
        self.up.weight.data.normal_()

    def forward(self, x):
        y = self.up(x)
        return y - y.mean().detach(), y.data.clone()

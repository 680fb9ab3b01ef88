# SPDX-License-Identifier: MIT
import torch


class Center(torch.nn.Module):
    def forward(self, x):
        y = self.up(x)
        y.data.sub_(y.data.mean())  # HERE
        y.data[0] = 0  # HERE
        return y

# SPDX-License-Identifier: MIT
import torch


class Scale(torch.autograd.Function):  # HERE
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

# SPDX-License-Identifier: MIT
import torch
import transformer_engine.pytorch as te
from torchao.float8 import convert_to_float8_training


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lm_head = te.Linear(1024, 32000)  # HERE

    def forward(self, x):
        with te.fp8_autocast(enabled=True):
            return self.lm_head(x)


model = convert_to_float8_training(Model())  # HERE

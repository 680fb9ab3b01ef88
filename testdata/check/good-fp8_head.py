# SPDX-License-Identifier: MIT
import torch
import transformer_engine.pytorch as te
from torchao.float8 import convert_to_float8_training


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = te.Linear(1024, 4096)
        self.lm_head = torch.nn.Linear(1024, 32000)

    def forward(self, x):
        with te.fp8_autocast(enabled=True):
            return self.lm_head(self.up(x))


model = convert_to_float8_training(
    Model(), module_filter_fn=lambda module, name: "lm_head" not in name)

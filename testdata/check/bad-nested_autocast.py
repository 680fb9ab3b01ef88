# SPDX-License-Identifier: MIT
import torch


def forward(model, head, batch):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        hidden = model(batch)
        with torch.autocast("cuda", dtype=torch.float16):  # HERE
            return head(hidden)

# SPDX-License-Identifier: MIT
import torch


def forward(model, head, batch):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        hidden = model(batch)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            hidden = head(hidden)
        with torch.autocast("cuda", dtype=torch.float16, enabled=False):
            return hidden.float().exp()

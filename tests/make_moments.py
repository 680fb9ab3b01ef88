#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes testdata/moments: three checkpoints with an optimizer, by torch.save.

quiet/step_N.pt is {"model": state_dict, "optimizer": AdamW's state_dict} after
10, 20 and 30 steps of a model of an embedding, two layers and a norm; of 32
tokens only 8 occur, so that no gradient reaches the others. changed/step_30.pt
is the last one with the matrix of layer 0 and the first moment of layer 1
multiplied by 16.

Needs torch. Usage: make_moments.py FOLDER
"""
import pathlib
import sys

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(32, 8)
        self.layers = nn.ModuleList(
            nn.ModuleDict({"mlp": nn.ModuleDict(
                {"up_proj": nn.Linear(8, 8, bias=False)})}) for _ in range(2))
        self.norm = nn.RMSNorm(8)

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = x + layer["mlp"]["up_proj"](x)
        return self.norm(x) @ self.embed_tokens.weight.detach().T


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(30)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for kind in ("quiet", "changed"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for step in range(1, 31):
        tokens = torch.randint(0, 8, (64,))
        loss = nn.functional.cross_entropy(model(tokens), (tokens + 1) % 8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            torch.save({"model": model.state_dict(),
                        "optimizer": optimizer.state_dict()},
                       folder / "quiet" / f"step_{step}.pt")
    up = [layer["mlp"]["up_proj"].weight for layer in model.layers]
    with torch.no_grad():
        up[0] *= 16
        optimizer.state[up[1]]["exp_avg"] *= 16
    torch.save({"model": model.state_dict(),
                "optimizer": optimizer.state_dict()},
               folder / "changed" / "step_30.pt")


if __name__ == "__main__":
    main()

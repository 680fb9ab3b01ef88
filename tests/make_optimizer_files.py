#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes testdata/optimizer: checkpoints whose states have numbers, and whose
they are.

names.txt has a line "FILE NUMBER NAME" for each parameter with a state; the
name comes from the parameter itself; "-" where a file cannot tell it: there
the states fit the model in more than one way, or not at all.

Needs torch (2.6 or later). Usage: make_optimizer_files.py FOLDER
"""
import pathlib
import sys

import torch


class Model(torch.nn.Module):
    def __init__(self, tied=False, buffer=False):
        super().__init__()
        self.emb = torch.nn.Embedding(6, 4)
        self.layers = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
            for _ in range(2))
        self.head = torch.nn.Linear(4, 6, bias=False)
        if tied:
            self.head.weight = self.emb.weight
        if buffer:
            self.register_buffer("running_mean", torch.zeros(4))

    def forward(self, x):
        x = self.emb(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def trained(model, groups, cls=torch.optim.AdamW, **options):
    optimizer = cls(groups, lr=0.01, **options)
    model(torch.arange(6)).square().sum().backward()
    optimizer.step()
    return optimizer


def by_dimensions(model):
    """Decay for matrices only: the usual two groups."""
    params = list(model.parameters())
    return [{"params": [p for p in params if p.dim() >= 2]},
            {"params": [p for p in params if p.dim() < 2],
             "weight_decay": 0.0}]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines = []

    def write(file, model, optimizer, payload, known=True):
        torch.save(payload, folder / file)
        name_of = {id(p): name for name, p in model.named_parameters()}
        number = 0
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = name_of[id(parameter)] if known else "-"
                lines.append(f"{file} {number} {name}")
                number += 1

    def pair(model, optimizer, first="model", second="optimizer"):
        return {first: model.state_dict(), second: optimizer.state_dict()}

    torch.manual_seed(3)
    model = Model()
    optimizer = trained(model, model.named_parameters())
    write("named.pt", model, optimizer, optimizer.state_dict())
    model = Model()
    optimizer = trained(model, model.parameters())
    write("numbers.pt", model, optimizer, optimizer.state_dict(), False)
    write("ordered.pt", model, optimizer, pair(model, optimizer))
    model = Model(buffer=True)
    optimizer = trained(model, model.parameters(), torch.optim.SGD,
                        momentum=0.9)
    write("buffer.pt", model, optimizer,
          pair(model, optimizer, "model_state_dict", "optimizer_state_dict"))
    model = Model(tied=True)
    optimizer = trained(model, by_dimensions(model))
    write("decay.pt", model, optimizer, pair(model, optimizer))
    model = Model()
    lists = list(model.parameters())
    optimizer = trained(model, [{"params": lists[::2]},
                                {"params": lists[1::2]}])
    write("ambiguous.pt", model, optimizer, pair(model, optimizer), False)
    model = Model()
    optimizer = trained(model, list(model.parameters())[::-1])
    write("reversed.pt", model, optimizer, pair(model, optimizer), False)
    model = Model()
    model.emb.weight.requires_grad_(False)
    optimizer = trained(model, [p for p in model.parameters()
                                if p.requires_grad])
    write("frozen.pt", model, optimizer, pair(model, optimizer), False)
    (folder / "names.txt").write_text("\n".join(lines) + "\n",
                                      encoding="ascii")


if __name__ == "__main__":
    main()

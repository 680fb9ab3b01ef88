#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes testdata/steps: checkpoints of 16 steps, 200 to 3200, by torch.save.

plain/STEP.pt is {"model": state_dict}, with no word of its step;
payload/STEP.pt has its step, as "iteration", too, and a name that tells
nothing. A model of one matrix and one norm trains quietly: its weights drift
and take a random step each time. From step 2000 on changed/ has the matrix
multiplied by 8, as after a bad restart.

Needs torch. Usage: make_steps.py FOLDER
"""
import pathlib
import sys

import torch


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(17)
    matrix = torch.randn(16, 16) * 0.05
    norm = torch.ones(16)
    for kind in ("plain", "payload"):
        for name in (kind, kind + "-changed"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    for number, step in enumerate(range(200, 3400, 200)):
        matrix = matrix + torch.randn(16, 16) * 0.001
        norm = norm + torch.randn(16) * 0.001
        for changed in (False, True):
            if changed and step < 2000:
                continue
            model = {"layers.0.mlp.up_proj.weight":
                     (matrix * (8 if changed else 1)).clone(),
                     "norm.weight": norm.clone()}
            end = "-changed" if changed else ""
            torch.save({"model": model}, folder / f"plain{end}" /
                       f"{step}.pt")
            torch.save({"model": model, "iteration": step},
                       folder / f"payload{end}" / f"{number:02}.pt")


if __name__ == "__main__":
    main()

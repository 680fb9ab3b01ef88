#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/msprobe: what msprobe itself dumps of a tiny model.

Usage: make_msprobe_dump.py FOLDER (which must not exist), with torch and
mindstudio-probe installed. One block of a layer norm, a linear layer and a
masked softmax, two steps; in step 1 the logarithm of a negative number is
taken, which is where the first NaN comes from: the -inf of the mask is none.
Where the program and its libraries lay is cut out of the json files, and the
process gets the number 4711.
"""

import json
import os
import re
import sys
import tempfile

import torch
from msprobe.pytorch import PrecisionDebugger, seed_all


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, mask):
        y = self.linear(self.norm(x))
        return torch.softmax(y.masked_fill(mask, float("-inf")), dim=-1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block()])

    def forward(self, x, mask, shift):
        for block in self.blocks:
            x = block(x, mask)
        return torch.log(torch.add(x, shift)).sum()


def forget_places(folder):
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            if not name.endswith(".json"):
                continue
            with open(os.path.join(path, name)) as file:
                text = file.read()
            text = re.sub(r"File /[^ ]*/(site-packages|tests)/", "File ", text)
            text = text.replace(folder + "/", "")
            text = re.sub(r"proc\d+", "proc4711", text)
            with open(os.path.join(path, name), "w") as file:
                file.write(text)
        if os.path.basename(path).startswith("proc"):
            os.rename(path, os.path.join(os.path.dirname(path), "proc4711"))


def main():
    folder = os.path.abspath(sys.argv[1])
    config = {
        "task": "tensor", "dump_path": folder, "rank": [], "step": [],
        "level": "mix", "risk_level": "ALL",
        "tensor": {"scope": [], "list": [], "data_mode": ["all"],
                   "summary_mode": "statistics"},
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        seed_all(1234)
        net = Net().to(torch.bfloat16)
        debugger = PrecisionDebugger(config_path=file.name)
        mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
        for step in range(2):
            x = torch.randn(4, 4).to(torch.bfloat16)
            debugger.start(model=net)
            net(x, mask, 1.0 if step == 0 else -0.125).backward()
            debugger.stop()
            debugger.step()
    forget_places(folder)


if __name__ == "__main__":
    main()

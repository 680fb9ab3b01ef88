#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs whose names are markup, or many: names.py KIND SOURCE FOLDER

`tensors` copies tensor files of SOURCE into FOLDER under these names. `weights`
writes a model of safetensors whose tensors have them, each with a NaN. `dump`
copies a dump of msprobe and adds to it calls, modules and lines of programs of
these names. `many` writes a model of SOURCE tensors of four elements in 90
layers, of which only the last 40 lose something in any format. `scripts` writes
scripts that have the names and a line with each.
"""
import json
import os
import shutil
import struct
import sys

NAMES = [
    "<script>alert(1)</script>",
    "<script>alert(1)<script>",
    "\" onload=\"alert(1)",
    "' onmouseover='alert(1)",
    "\"onload=alert(1) x=\"",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</title><b>",
    "<style><svg onload=alert(1)>",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[x",
    "&lt;b&gt;",
    "&#60;b&#62;",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "\u202eturned\u2066",
    "\u200f\u061cmarks",
    "\x1b[31mred\x1b]8;;http://x\x07",
    "a\nb\rc\td",
    "a\u2028b\u2029c",
    "`$(touch made)`",
    "=cmd|' 'C'!A0",
]
assert len(NAMES) == 30


def tensors(source, folder):
    files = sorted(os.path.join(root, name)
                   for root, _, names in os.walk(source)
                   for name in names if name.endswith(".pt"))
    os.makedirs(folder)
    odd = [name.replace("/", "_").encode() for name in NAMES] + [b"\xff\xfe"]
    for number, path in enumerate(files):
        name = odd[number % len(odd)] + b"_%d.pt" % number
        shutil.copy(path, os.path.join(os.fsencode(folder), name))


def model(folder, header, data):
    """The format: length of the header, header, data."""
    text = json.dumps(header).encode()
    os.makedirs(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def many(count, folder):
    header, data = {}, b""
    for number in range(int(count)):
        header[f"layers.{number % 90}.mlp.{number // 90}.weight"] = {
            "dtype": "F32", "shape": [4],
            "data_offsets": [16 * number, 16 * number + 16]}
        values = [1, 0.5, -0.5, 0.25]
        if number >= int(count) - 40:
            values = [0.1, 0.7, -0.3, 1]
        data += struct.pack("<4f", *(x / 2**(number % 7) for x in values))
    model(folder, header, data)


def steps(_, folder):
    """Checkpoints of three iterations whose names have modules, no layers."""
    for step in (10, 20, 30):
        header, data = {}, b""
        for number, name in enumerate(("embed", "stem.conv", "head")):
            for part in ("weight", "bias"):
                header[f"{name}.{part}"] = {
                    "dtype": "F32", "shape": [4],
                    "data_offsets": [len(data), len(data) + 16]}
                data += struct.pack("<4f", 0.1, 0.7, -0.3, step + number)
        model(os.path.join(folder, f"iter_{step:07d}"), header, data)


def weights(_, folder):
    header, data = {}, b""
    for number, name in enumerate(NAMES):
        values = struct.pack("<8f", *range(number, number + 7), float("nan"))
        header[f"layers.{number % 3}.{name}.weight"] = {
            "dtype": "F32", "shape": [8],
            "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    model(folder, header, data)


def scripts(_, folder):
    os.makedirs(folder)
    for number, name in enumerate(NAMES):
        path = os.path.join(folder, f"{name.replace('/', '_')}_{number}.py")
        line = " ".join(name.split())
        with open(path, "w") as file:
            file.write("import torch\n"
                       f"net = torch.nn.Linear(2, 2).half()  # {line}\n")


def read(path):
    with open(path) as file:
        return json.load(file)


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def add_calls(folder):
    """A call of each name, of a module of that name, from such a line."""
    dump = read(os.path.join(folder, "dump.json"))
    stack = read(os.path.join(folder, "stack.json"))
    tree = read(os.path.join(folder, "construct.json"))
    like = dump["data"]["Torch.log.0.forward"]
    module = next(value for key, value in dump["data"].items()
                  if key.startswith("Module.") and key.endswith("forward.0"))
    for number, name in enumerate(NAMES):
        call = f"Torch.{name}.{number}.forward"
        owner = f"Module.{name}.Linear.forward.{number}"
        dump["data"][owner], dump["data"][call] = module, like
        tree[owner], tree[call] = None, owner
        stack[f"odd{number}"] = [[call, owner],
                                 [f"File {name}, line 1, in {name}, \n {name}"]]
    for name, value in (("dump", dump), ("stack", stack), ("construct", tree)):
        write(os.path.join(folder, f"{name}.json"), value)


def dump(source, folder):
    shutil.copytree(source, folder)
    for root, _, names in os.walk(folder):
        if "dump.json" in names:
            add_calls(root)


if __name__ == "__main__":
    kinds = {"tensors": tensors, "weights": weights, "many": many,
             "steps": steps,
             "scripts": scripts, "dump": dump}
    kinds[sys.argv[1]](*sys.argv[2:])

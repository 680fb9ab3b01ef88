#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes dumps of a small model that runs with one operator changed.

Usage: make_divergence_dumps.py FOLDER [--dtype bfloat16] [--layers N]
       [--hidden N] [--tokens N] [--level L1] [--scope CALL,CALL]
       [--only NAME,...] [--tp N]

With torch and mindstudio-probe installed. The model is a Llama in small: RMS
norm, rotary positions, masked attention, SwiGLU. Step 0 of the dump is the
reference, each further step the same run with one change, of one layer where
there are several. FOLDER/plants.json tells for each step what was changed, and
the call that is to be named first; null for changes that are no more than
rounding. Kernels are changed below msprobe: it records the same calls.
--tp N: instead, the model divided over N processes, in FOLDER/tpN. What
testdata/divergence has: --layers 1 --hidden 8 --tokens 4 --level L1 --scope
Torch.matmul.0.forward,Functional.silu.0.forward
--only softmax_fp16,softmax_fp64,mask_off_by_one.
"""

import argparse
import json
import math
import os
import sys
import tempfile

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

CHANGE = {"name": "", "seen": 0}


def is_on(name, number):
    """Whether this is call `number` of the kernel that is changed."""
    if CHANGE["name"] != name:
        return False
    CHANGE["seen"] += 1
    return CHANGE["seen"] == number + 1


def tf32(x):
    """Fractions of 10 bits, to nearest."""
    bits = x.float().view(torch.int32)
    return ((bits + 0x1000) & ~0x1fff).view(torch.float32).to(x.dtype)


def garbage(y):
    y = y.clone()
    y[..., -4:, -8:] = 0.25
    return y


def split(f, x, w):
    half = x.shape[-1] // 2
    low = f(x[..., :half].float(), w[..., :half].float())
    return (low + f(x[..., half:].float(), w[..., half:].float())).to(x.dtype)


# name: (owner, API, which of its calls is changed, what is done)
KERNELS = {
    "softmax_fp16": (F, "softmax", 0, lambda f, x, dim, dtype:
                     f(x.half(), dim=dim).to(dtype)),
    "matmul_tf32": (torch, "matmul", 2, lambda f, x, y: f(tf32(x), tf32(y))),
    "linear_bf16": (F, "linear", 7, lambda f, x, w:
                    f(x.bfloat16(), w.bfloat16()).to(x.dtype)),
    "linear_fp8": (F, "linear", 9, lambda f, x, w:
                   f(x.to(torch.float8_e4m3fn).to(x.dtype), w)),
    "linear_stale": (F, "linear", 8, lambda f, x, w: f(x.flip(-2), w)),
    "linear_tile": (F, "linear", 3, lambda f, x, w: garbage(f(x, w))),
    "linear_transposed": (F, "linear", 7, lambda f, x, w: f(x, w.t())),
    "rsqrt_fast": (torch, "rsqrt", 2, lambda f, x: f(x) * 1.05),
    "silu_quick": (F, "silu", 1, lambda f, x: x * torch.sigmoid(1.05 * x)),
    "unmasked_row": (F, "softmax", 0, lambda f, x, **k: f(
        torch.where(x == -math.inf, torch.full_like(x, -5), x), **k)),
    "loss_fp16": (F, "cross_entropy", 0, lambda f, x, t:
                  f((x * 1.02), t)),
}
ROUNDINGS = {
    "softmax_fp64": (F, "softmax", 0, lambda f, x, **k:
                     f(x.double(), dim=-1, dtype=torch.float64).to(
                         f(x, **k).dtype)),
    "linear_fp64": (F, "linear", 7, lambda f, x, w:
                    f(x.double(), w.double()).to(x.dtype)),
    "linear_split": (F, "linear", 9, lambda f, x, w: split(f, x, w)),
    "rsqrt_divided": (torch, "rsqrt", 2, lambda f, x:
                      (1 / x.float().sqrt()).to(x.dtype)),
    "silu_sigmoid": (F, "silu", 1, lambda f, x:
                     (x.float() * torch.sigmoid(x.float())).to(x.dtype)),
}
# Changes of what the model calls: the call of layer 1 that they show in.
ARGUMENTS = {
    "eps": "Tensor.__add__.6.forward",
    "mask_off_by_one": "Torch.triu.0.forward",
    "scale_one": "Tensor.__mul__.17.forward",
    "scale_dropped": "Tensor.__mul__.17.forward",
    "weights_swapped": "Functional.linear.7.forward",
    "other_input": "Functional.embedding.0.forward",
}


def change_kernels():
    """Puts kernels that may be changed below msprobe."""
    names = {}
    for name, row in {**KERNELS, **ROUNDINGS}.items():
        names.setdefault(row[:2], {})[name] = row[2:]
    for (owner, api), rows in names.items():
        def kernel(*args, f=getattr(owner, api), rows=rows, **kwargs):
            for name, (number, change) in rows.items():
                if is_on(name, number):
                    return change(f, *args, **kwargs)
            return f(*args, **kwargs)
        setattr(owner, api, kernel)


class Norm(torch.nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(hidden) + 0.5)
        self.eps = eps

    def forward(self, x):
        square = torch.mean(torch.pow(x, 2), -1, keepdim=True)
        return x * torch.rsqrt(square + self.eps) * self.weight


class Block(torch.nn.Module):
    def __init__(self, hidden, heads, parts):
        super().__init__()
        self.heads, self.size = heads // parts, hidden // heads
        self.parts, self.scale = parts, self.size ** -0.5
        self.norm1, self.norm2 = Norm(hidden, 1e-5), Norm(hidden, 1e-5)
        weights = torch.randn(7, hidden, hidden) / hidden ** 0.5
        first, last = self.part(hidden)
        own = [w[first:last] for w in weights[:5]]
        own += [w[:, first:last] for w in weights[5:]]
        self.weights = torch.nn.ParameterList(own)

    def part(self, hidden):
        size = hidden // self.parts
        rank = torch.distributed.get_rank() if self.parts > 1 else 0
        return rank * size, (rank + 1) * size

    def joined(self, x):
        if self.parts > 1:
            torch.distributed.all_reduce(x)
        return x

    def forward(self, x, mask, cos, sin):
        q, k, v, gate, up, out, down = self.weights
        y = self.norm1(x)
        q, k, v = (self.by_head(F.linear(y, w)) for w in (q, k, v))
        q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
        scores = torch.matmul(q, torch.transpose(k, -2, -1))
        if self.scale is not None:
            scores = scores * self.scale
        scores = scores.masked_fill(mask, -math.inf)
        p = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
        y = torch.matmul(p, v).transpose(1, 2).flatten(2)
        x = x + self.joined(F.linear(y, out))
        y = self.norm2(x)
        y = F.silu(F.linear(y, gate)) * F.linear(y, up)
        return x + self.joined(F.linear(y, down))

    def by_head(self, x):
        return torch.reshape(x, (*x.shape[:2], self.heads, -1)).transpose(1, 2)

    def rotated(self, x, cos, sin):
        a, b = torch.chunk(x, 2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin


class Net(torch.nn.Module):
    def __init__(self, layers, hidden, words, parts=1):
        super().__init__()
        self.words = torch.nn.Parameter(torch.randn(words, hidden))
        self.blocks = torch.nn.ModuleList(
            [Block(hidden, 4, parts) for _ in range(layers)])
        self.norm = Norm(hidden, 1e-5)

    def forward(self, ids, diagonal=1):
        x = F.embedding(ids, self.words)
        length, size = ids.shape[1], self.blocks[0].size
        angle = torch.arange(length).unsqueeze(1) * 0.5 ** torch.arange(
            size // 2)
        cos = torch.cat((angle, angle), -1).cos().to(x.dtype)
        sin = torch.cat((angle, angle), -1).sin().to(x.dtype)
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool),
                          diagonal)
        for block in self.blocks:
            x = block(x, mask, cos, sin)
        scores = F.linear(self.norm(x), self.words).float()
        return F.cross_entropy(scores.flatten(0, 1), ids.flatten())


def changed(net, ids, name):
    """The arguments of a run with one change."""
    block = net.blocks[min(1, len(net.blocks) - 1)]
    if name == "eps":
        block.norm1.eps = 1e-2
    if name == "scale_one":
        block.scale = 1.0
    if name == "scale_dropped":
        block.scale = None
    if name == "weights_swapped":
        w = block.weights
        w[0], w[1] = w[1], w[0]
    if name == "other_input":
        ids = ids.flip(0)
    return ids, 2 if name == "mask_off_by_one" else 1


def make(args, parts=1):
    torch.manual_seed(1234)
    net = Net(args.layers, args.hidden, 96, parts)
    ids = torch.randint(96, (2, args.tokens))
    return net.to(getattr(torch, args.dtype)), ids


def debugger_of(folder, level, scope=()):
    from msprobe.pytorch import PrecisionDebugger
    config = {"task": "tensor", "dump_path": folder, "rank": [], "step": [],
              "level": level, "risk_level": "ALL",
              "tensor": {"scope": list(scope), "list": [],
                         "data_mode": ["forward"],
                         "summary_mode": "statistics"}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        return PrecisionDebugger(config_path=file.name)


def run(debugger, net, ids, diagonal=1):
    debugger.start(model=net)
    net(ids, diagonal)
    debugger.stop()
    debugger.step()


def divide(rank, args, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    torch.distributed.init_process_group("gloo", rank=rank,
                                         world_size=args.tp)
    debugger = debugger_of(folder, args.level)
    run(debugger, *make(args, args.tp))
    torch.distributed.destroy_process_group()


def call_of(name):
    """The call that a plant is in."""
    owner, api, number = KERNELS[name][:3]
    return "%s.%s.%d.forward" % ("Functional" if owner is F else "Torch", api,
                                 number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--level", default="mix")
    parser.add_argument("--scope", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--tp", type=int, default=0)
    args = parser.parse_args()
    folder = os.path.abspath(args.folder)
    from make_msprobe_dump import forget_places
    if args.tp:
        torch.multiprocessing.spawn(
            divide, (args, os.path.join(folder, "tp%d" % args.tp)), args.tp)
        forget_places(folder)
        return
    change_kernels()
    expected = {**{name: call_of(name) for name in KERNELS}, **ARGUMENTS,
                **dict.fromkeys(ROUNDINGS)}
    if args.dtype != "float32":  # whose numbers these do not change
        expected.update(dict.fromkeys(("matmul_tf32", "linear_bf16")))
    names = args.only.split(",") if args.only else list(expected)
    debugger = debugger_of(folder, args.level,
                           args.scope.split(",") if args.scope else [])
    plants = []
    for name in ["reference"] + names:
        CHANGE.update(name=name, seen=0)
        net, ids = make(args)
        run(debugger, net, *changed(net, ids, name))
        plants.append({"step": len(plants), "change": name,
                       "call": expected.get(name)})
    with open(os.path.join(folder, "plants.json"), "w") as file:
        json.dump(plants, file, indent=1)
    forget_places(folder)


if __name__ == "__main__":
    main()

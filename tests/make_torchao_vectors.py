#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/vectors/mx_torchao.csv: what torchao makes of MX blocks that
hold an infinity or a NaN.

    python3 tests/make_torchao_vectors.py testdata/vectors/mx_torchao.csv

Needs torch and torchao (0.18.0 made the file). The values are bfloat16, so
that they are the same in binary32. The columns are those of mxfp8_e4m3.csv,
with the format in front, and at the end the values that come back, in
binary32.
"""
import sys

import torch
from torchao.prototype.mx_formats import mx_tensor
from torchao.prototype.mx_formats.kernels import unpack_uint4

FORMATS = {
    "mxfp8_e4m3": torch.float8_e4m3fn,
    "mxfp8_e5m2": torch.float8_e5m2,
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp6_e3m2": "fp6_e3m2",
    "mxfp4": torch.float4_e2m1fn_x2,
}
RULES = ("floor", "ceil", "even", "rceil")
INF, NAN = float("inf"), float("nan")


def ramp(low, high):
    """32 values of both signs, from 2^low to 2^high."""
    random = torch.Generator().manual_seed(low * 1000 + high)
    binades = torch.linspace(low, high, 32)
    signs = torch.where(torch.rand(32, generator=random) < 0.5, -1.0, 1.0)
    fractions = 1 + torch.rand(32, generator=random) * 0.99
    return (signs * fractions * 2.0 ** binades.floor()).bfloat16().float()


def blocks():
    """Names and values."""
    for name, base in (("small", ramp(-20, 10)), ("large", ramp(96, 127)),
                       ("all", ramp(-120, 127))):
        yield "finite_" + name, base
        for tag, at in (("inf", {7: INF}), ("minus_inf", {31: -INF}),
                        ("both", {0: -INF, 16: INF}), ("nan", {9: NAN}),
                        ("nan_and_inf", {9: NAN, 20: INF})):
            block = base.clone()
            for place, value in at.items():
                block[place] = value
            yield f"{tag}_{name}", block
    zeros = torch.zeros(32)
    zeros[5] = INF
    yield "inf_and_zeros", zeros
    yield "only_inf", torch.full((32,), -INF)


def words(values):
    return " ".join(f"{word & 0xffffffff:08x}"
                    for word in values.view(torch.int32).tolist())


def cast(block, kind, rule):
    """Scale byte, element bytes and values of a block."""
    scale, data = mx_tensor.to_mx(block.reshape(1, 32), kind, 32,
                                  mx_tensor.ScaleCalculationMode(rule))
    back = mx_tensor.to_dtype(data, scale, kind, 32, torch.float32)
    elements = data.view(torch.uint8)
    if kind == torch.float4_e2m1fn_x2:
        elements = unpack_uint4(elements)
    return (int(scale.view(torch.uint8)), bytes(elements.flatten().tolist()),
            back.flatten())


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("format,tag,scale_rule,nonfinite_policy,e8m0,x,elements,"
                  "values\n")
        for name, kind in FORMATS.items():
            for rule in RULES:
                for tag, block in blocks():
                    scale, elements, values = cast(block, kind, rule)
                    lost = scale == 255
                    out.write(f"{name},{tag},{rule},torchao,{scale:02x},"
                              f"{words(block)},"
                              f"{'' if lost else elements.hex()},"
                              f"{'' if lost else words(values)}\n")


main()

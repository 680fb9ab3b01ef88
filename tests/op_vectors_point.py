# SPDX-License-Identifier: MIT
"""Elementwise operators, under all names that they have."""

import torch

SHAPES = [(), (0,), (1,), (5,), (2, 3), (2, 0, 3), (1, 1, 4), (2, 1, 2, 2)]
PAIRS = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3)),
         ((2, 1), (1, 3)), ((), (2, 2)), ((2, 2), ()), ((0,), (1,)),
         ((2, 0), (0,)), ((1,), (4,)), ((2, 1, 3), (4, 1)),
         ((1, 1), (1, 1, 1))]
SCALARS = [0.5, -1.5, 2, 3, 0.1, -0.3]

# name: other spellings, domain of the numbers, extra numbers
WIDE, UNIT, POSITIVE = (-4.0, 4.0), (-0.875, 0.875), (0.125, 6.0)
ONE = {
    "neg": ("negative Tensor.__neg__", WIDE), "abs": ("absolute Tensor.__abs__",
                                                      WIDE),
    "sign": ("", WIDE), "square": ("", WIDE), "sqrt": ("", POSITIVE),
    "rsqrt": ("", POSITIVE), "exp": ("", WIDE), "exp2": ("", WIDE),
    "expm1": ("", WIDE), "log": ("", POSITIVE), "log2": ("", POSITIVE),
    "log10": ("", POSITIVE), "log1p": ("", POSITIVE), "sin": ("", WIDE),
    "cos": ("", WIDE), "tan": ("", UNIT), "tanh": ("", WIDE),
    "erf": ("", WIDE), "sigmoid": ("", WIDE), "relu": ("", WIDE),
    "reciprocal": ("", POSITIVE), "floor": ("", WIDE), "ceil": ("", WIDE),
    "trunc": ("fix", WIDE), "isnan": ("", WIDE), "isinf": ("", WIDE),
    "isfinite": ("", WIDE), "logical_not": ("", (-1.0, 1.0)),
}
NOT_IN_PLACE = {"isnan", "isinf", "isfinite", "logical_not"}


def one(v):
    for name, (others, (low, high)) in ONE.items():
        step = 1.0 if name == "logical_not" else 0.125
        for shape in SHAPES:
            v.call(f"Torch.{name}", v.real(*shape, low=low, high=high,
                                           step=step))
        for other in [f"Tensor.{name}"] + [
                o if "." in o else f"Torch.{o}" for o in others.split()]:
            v.call(other, v.real(2, 3, low=low, high=high))
        if name not in NOT_IN_PLACE:
            v.call(f"Tensor.{name}_", v.real(4, low=low, high=high))
        for _ in range(8):
            v.call(f"Torch.{name}", v.real(2, 2, low=low, high=high))
        v.call(f"Torch.{name}", v.special(1.0, -1.0, 0.5))
        v.call(f"Torch.{name}", v.special(300.0, -300.0, 1e-300, 1e300))
        v.call(f"Torch.{name}", v.real(3, grad=False, low=low, high=high))


def make(v):
    one(v)

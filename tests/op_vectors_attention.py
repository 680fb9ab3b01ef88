# SPDX-License-Identifier: MIT
"""scaled_dot_product_attention."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = ((3, 2), (2, 3, 2), (1, 2, 3, 4), (2, 2, 2, 2), (2, 1, 2, 3, 2))


def sides(v, shape, keys=None, depth=None):
    kv = shape[:-2] + (keys or shape[-2], shape[-1])
    return (v.real(*shape, low=-2, high=2), v.real(*kv, low=-2, high=2),
            v.real(*kv[:-1], depth or shape[-1], low=-2, high=2))


def make(v):
    name = "Functional.scaled_dot_product_attention"
    for shape in SHAPES:
        v.call(name, *sides(v, shape))
        v.call(name, *sides(v, shape), None, 0.0, True)
        v.call(name, *sides(v, shape), dropout_p=0.0, scale=None)
        v.call(name, *sides(v, shape, keys=5, depth=3), scale=0.5)
        v.call(name, *sides(v, shape), v.real(shape[-2], shape[-2],
                                              grad=False))
        mask = torch.tril(torch.ones(shape[-2], shape[-2])) > 0
        v.call(name, *sides(v, shape), attn_mask=mask)
        v.call(name, *sides(v, shape), attn_mask=v.real(
            *shape[:-2], shape[-2], shape[-2], grad=False))
    for heads, own in ((4, 2), (4, 1), (3, 3)):
        q = v.real(1, heads, 3, 2)
        k, u = v.real(1, own, 3, 2), v.real(1, own, 3, 2)
        v.call(name, q, k, u, enable_gqa=True)
    # A mask that is broadcast along the inner one of two axes in front.
    v.call(name, *sides(v, (2, 3, 2, 2, 2)),
           attn_mask=v.real(2, 1, 1, 2, 2, grad=False))
    # Of a row with NaN torch's fused kernel for CPUs makes 0.
    with sdpa_kernel(SDPBackend.MATH):
        v.call(name, v.special(1.0).reshape(1, 1, 3, 2), *sides(
            v, (1, 1, 3, 2))[1:], backward=False)
        for shape in SHAPES[1:]:
            v.call(name, *sides(v, shape))
    v.call(name, v.real(1, 2, 0, 4), *sides(v, (1, 2, 3, 4))[1:],
           backward=False)

# SPDX-License-Identifier: MIT
"""What tensor_saver saves: the gradient of a linear layer's input, from that of
its output and the weight, and Megatron's core attention. Whether that is causal
nobody saves, so it is no argument here."""

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from op_vectors import Layer


def linear_dgrad(given, weight):
    x = torch.zeros(*given.shape[:-1], weight.shape[1], requires_grad=True)
    functional.linear(x, weight).backward(given)
    return x.grad


def core_attention(query, key, value):
    """Of [s, b, heads, d]; the probabilities [b, heads, s, keys] are what the
    attention makes of a unit matrix."""
    q, k, u = (x.permute(1, 2, 0, 3) for x in (query, key, value))
    more = {"is_causal": Layer.causal, "enable_gqa": True}
    out = functional.scaled_dot_product_attention(q, k, u, **more)
    out = out.permute(2, 0, 1, 3).flatten(2)
    if not Layer.weights:
        return out
    unit = torch.eye(k.shape[2]).expand(*k.shape[:2], -1, -1)
    return functional.scaled_dot_product_attention(q, k, unit, **more), out


Layer.linear_dgrad = staticmethod(linear_dgrad)
Layer.core_attention = staticmethod(core_attention)


def gradients(v):
    name = "Layer.linear_dgrad"
    for shape in ((1, 1), (3, 4), (4, 2), (2, 1, 3), (3, 2, 2), (2, 2, 5),
                  (0, 3), (2, 0, 4), (8, 6)):
        for inner in (1, 4, 7):
            v.call(name, v.real(*shape, grad=False),
                   v.real(shape[-1], inner, grad=False))
    v.call(name, v.special(1.0, grad=False).reshape(2, 3),
           v.real(3, 2, grad=False))


def attentions(v):
    name = "Layer.core_attention"
    for causal in (False, True):
        for weights in (False, True):
            Layer.causal, Layer.weights = causal, weights
            for s, b, heads, own, d in ((2, 1, 1, 1, 2), (4, 2, 2, 2, 4),
                                        (5, 1, 4, 2, 2), (3, 3, 4, 1, 8),
                                        (8, 2, 2, 2, 3), (6, 1, 3, 3, 16)):
                v.call(name, v.real(s, b, heads, d, grad=False),
                       v.real(s, b, own, d, grad=False),
                       v.real(s, b, own, d, grad=False))
    Layer.causal = Layer.weights = False
    for keys, depth in ((7, 2), (3, 5)):
        v.call(name, v.real(4, 2, 2, 4, grad=False),
               v.real(keys, 2, 2, 4, grad=False),
               v.real(keys, 2, 2, depth, grad=False))
    bad = v.real(4, 4, 1, 2, grad=False)
    bad[0, 0, 0, 0] = float("nan")
    # Of a row with NaN torch's fused kernel for CPUs makes 0.
    with sdpa_kernel(SDPBackend.MATH):
        v.call(name, bad, v.real(4, 4, 1, 2, grad=False),
               v.real(4, 4, 1, 2, grad=False))


def make(v):
    gradients(v)
    attentions(v)

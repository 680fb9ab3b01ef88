# SPDX-License-Identifier: MIT
"""Reductions over all, one and several axes, and what sorts along one."""

import torch

SHAPES = [(), (1,), (5,), (2, 3), (2, 1, 3), (3, 2, 2)]


def ways(shape):
    """dim and keepdim as they may be given."""
    yield {}
    for axis in range(len(shape)):
        yield {"dim": axis}
        yield {"dim": axis - len(shape), "keepdim": True}
    if len(shape) > 1:
        yield {"dim": (0, 1)}
        yield {"dim": [0, -1], "keepdim": True}


def is_one(way):
    return not isinstance(way.get("dim", 0), (tuple, list))


def sums(v):
    for shape in SHAPES + [(0,), (2, 0)]:
        for way in ways(shape):
            v.call("Torch.sum", v.real(*shape), **way)
            v.call("Torch.mean", v.real(*shape), **way)
            v.call("Torch.norm", v.real(*shape), **way)
            v.call("Torch.norm", v.real(*shape), p=1, **way)
            v.call("Torch.norm", v.real(*shape), p=3, **way)
            if 0 not in shape:
                v.call("Torch.norm", v.real(*shape), p=float("inf"),
                       backward=False, **way)
            v.call("Torch.vector_norm", v.real(*shape), **way)
            if "dim" in way:
                v.call("Torch.vector_norm", v.real(*shape), 1, way["dim"])
                v.call("Torch.logsumexp", v.real(*shape), **way)
            if is_one(way) and len(way) != 1 or not way:
                v.call("Torch.prod", v.real(*shape, step=0.5), **way)
            v.call("Torch.var", v.real(*shape), **way)
            v.call("Torch.std", v.real(*shape), **way)
            v.call("Torch.var", v.real(*shape), unbiased=False, **way
                   ) if way else v.call("Torch.var", v.real(*shape), False)
            v.call("Torch.std", v.real(*shape), correction=0, **way)
        for order in (1, 2.0, 3):
            v.call("Torch._foreach_norm", [v.real(*shape), v.real(2)], order,
                   backward=False)
        v.call("Torch._foreach_norm", (v.real(*shape), v.real(3, 1)),
               backward=False)
    for order in (1, 2.0, 3, 0.5):
        v.call("Torch.vector_norm", v.real(2, 3, low=0.5), ord=order)
        v.call("Torch.vector_norm", v.special(1.0), order)
    v.call("Torch._foreach_norm", [v.special(), v.real()], backward=False)
    v.call("Torch.sum", v.special(1.0))
    v.call("Torch.mean", v.special(1.0))
    v.call("Torch.sum", v.whole(3, 4))
    v.call("Torch.sum", v.flags(3, 4), dim=0)
    v.call("Tensor.sum", v.real(2, 3), 1, True)
    v.call("Tensor.mean", v.real(2, 3), -1)
    v.call("Tensor.norm", v.real(2, 3), 2, 1)
    v.call("Tensor.norm", v.special(2.0))
    for i in range(12):
        v.call("Tensor.prod", v.real(4, low=0.5))
        v.call("Torch.prod", v.real(3, 4, low=0.5), i % 2)
        v.call("Torch.logsumexp", v.real(2, 3), [1, -1, 0][i % 3])
    v.call("Torch.logsumexp", v.special(1.0), 0, backward=False)
    for shape in SHAPES + [(0,), (2, 0), (4, 3)]:
        for axis in range(max(1, len(shape))):
            v.call("Torch.cumsum", v.real(*shape), axis)
            v.call("Torch.cumsum", v.real(*shape), dim=axis - max(
                1, len(shape)))


def extremes(v):
    for shape in SHAPES:
        for way in ways(shape):
            for name in ("amax", "amin"):
                v.call(f"Torch.{name}", v.real(*shape), **way)
            for name in ("max", "min", "argmax", "argmin", "all", "any"):
                if is_one(way):
                    x = v.flags(*shape) if name in ("all", "any") else v.real(
                        *shape)
                    v.call(f"Torch.{name}", x, **way)
    for name in ("max", "min"):
        for _ in range(4):
            v.call(f"Torch.{name}", v.real(2, 3), v.real(2, 3))
            v.call(f"Torch.{name}", v.whole(2, 3))
            v.call(f"Tensor.{name}", v.real(3, 2), 1)
        v.call(f"Torch.{name}", v.special(1.0))
        v.call(f"Torch.arg{name}", v.real(3, 5, step=0.0001))
        v.call(f"Torch.{name}", v.real(3, 5, step=1, low=-1, high=1))
    for _ in range(6):
        for name in ("all", "any", "argmax", "argmin"):
            v.call(f"Torch.{name}", v.real(5, grad=False))


def orders(v):
    for shape in SHAPES[1:] + [(4, 5)]:
        for axis in range(len(shape)):
            for flag in (False, True):
                v.call("Torch.sort", v.real(*shape, step=0.0001), axis, flag)
                v.call("Torch.topk", v.real(*shape, step=0.0001), 1, axis,
                       flag)
    for k in (1, 2, 3):
        v.call("Torch.topk", v.real(2, 4, step=0.0001), k)
        v.call("Tensor.topk", v.real(4, step=0.0001), k, sorted=True)
        v.call("Tensor.sort", v.real(4, step=0.0001), descending=True)


def middles(v):
    """One element by its rank; NaN is beyond all numbers, or left out."""
    nan = float("nan")
    for name in ("median", "nanmedian"):
        for shape in SHAPES + [(4, 5)]:
            v.call(f"Torch.{name}", v.real(*shape, step=0.0001))
            for axis in range(len(shape)):
                v.call(f"Torch.{name}", v.real(*shape, step=0.0001), axis)
                v.call(f"Tensor.{name}", v.real(*shape, step=0.0001),
                       dim=axis - len(shape), keepdim=True)
        v.call(f"Torch.{name}", v.real(6, step=1, low=-1, high=1))
        v.call(f"Torch.{name}", v.special(1.0, 2.0))
        v.call(f"Torch.{name}", v.special(1.0, 2.0), 0)
        v.call(f"Torch.{name}", v.special(nan).reshape(2, 3), 1)
        v.call(f"Torch.{name}", v.special(nan)[:1].detach())
        v.call(f"Torch.{name}", v.real(0))
        v.call(f"Torch.{name}", v.whole(5))
    for shape in SHAPES[1:] + [(4, 5)]:
        for axis in range(len(shape)):
            for k in {1, shape[axis]}:
                v.call("Torch.kthvalue", v.real(*shape, step=0.0001), k, axis)
                v.call("Tensor.kthvalue", v.real(*shape, step=0.0001), k=k,
                       dim=axis - len(shape), keepdim=True)
    v.call("Torch.kthvalue", v.special(1.0), 2)
    v.call("Torch.kthvalue", v.special(1.0), 6)
    v.call("Torch.kthvalue", v.real(2, 0, 3), 1)
    for flag in (False, True):
        v.call("Torch.sort", v.special(1.0, 2.0), 0, flag)
        v.call("Torch.topk", v.special(1.0, 2.0), 3, 0, flag)
    v.call("Torch.sort", v.real())
    v.call("Torch.sort", v.real(2, 0))


def products(v):
    for shape in SHAPES + [(0,), (2, 0), (4, 5)]:
        for axis in range(max(len(shape), 1)):
            v.call("Torch.cumprod", v.real(*shape, step=0.5), axis)
            v.call("Tensor.cumprod", v.real(*shape, low=0.5),
                   dim=axis - max(len(shape), 1))
    for zeros in ((0.0, 2.0, 3.0), (2.0, 0.0, 3.0), (0.0, 2.0, 0.0)):
        v.call("Torch.cumprod", v.special(*zeros)[5:].detach()
               .requires_grad_(), 0)
    v.call("Tensor.cumprod_", v.real(2, 3), 1, backward=False)
    v.call("Torch.cumprod", v.special(1.0), 0, backward=False)
    v.call("Torch.cumprod", v.whole(5, low=-3), 0)


def running(v):
    """The extreme so far, and places in order; of equals the last."""
    nan = float("nan")
    for name in ("cummax", "cummin"):
        for shape in SHAPES + [(0,), (2, 0), (4, 5)]:
            for axis in range(max(len(shape), 1)):
                v.call(f"Torch.{name}", v.real(*shape), axis)
                v.call(f"Tensor.{name}", v.real(*shape, step=1, low=-1, high=1),
                       dim=axis - max(len(shape), 1))
        v.call(f"Torch.{name}", v.special(1.0, 2.0), 0)
        v.call(f"Torch.{name}", v.special(nan).flip(0).detach()
               .requires_grad_(), 0)
        v.call(f"Torch.{name}", v.special(1.0)[2:].detach(), 0)
        v.call(f"Torch.{name}", v.whole(3, 4), 1)
    for shape in SHAPES + [(0,), (2, 0), (4, 5)]:
        for axis in range(max(len(shape), 1)):
            for flag in (False, True):
                v.call("Torch.argsort", v.real(*shape, step=0.0001, grad=False),
                       axis, flag)
                v.call("Tensor.argsort", v.real(*shape, step=0.0001),
                       dim=axis - max(len(shape), 1), descending=flag)
    v.call("Torch.argsort", v.real(6, step=1, low=-1, high=1, grad=False))
    v.call("Torch.argsort", v.special(1.0, 2.0, grad=False), stable=True)
    v.call("Torch.argsort", torch_numbers(nan), descending=True)
    v.call("Torch.argsort", v.whole(5))


def torch_numbers(nan):
    return torch.tensor([3.0, nan, 1.0, float("inf"), -2.0, -float("inf")])


def make(v):
    sums(v)
    extremes(v)
    orders(v)
    middles(v)
    products(v)
    running(v)

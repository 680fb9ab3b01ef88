# SPDX-License-Identifier: MIT
"""Elements by index, and some of them."""

SHAPES = [(1,), (6,), (2, 3), (2, 1, 3), (3, 2, 2)]


def lookups(v):
    for i in range(6):
        v.call("Functional.embedding", v.whole(2, 3), v.real(5, 2))
        v.call("Functional.embedding", v.whole(3), v.real(5, 1),
               None, None, 2.0, False, False)
        v.call("Functional.embedding", v.whole(3), v.real(5, 2),
               padding_idx=i % 5)
        v.call("Functional.embedding", v.whole(4), v.real(5, 2), i % 5 - 5)
    v.call("Functional.embedding", v.whole(), v.real(5, 2))
    v.call("Functional.embedding", v.whole(0), v.real(5, 2))
    v.call("Functional.embedding", v.whole(2), v.special().reshape(5, 1))
    v.call("Torch.embedding", v.real(5, 2), v.whole(3))


def gathers(v):
    for shape in SHAPES:
        for axis in range(len(shape)):
            high = shape[axis] - 1
            index = v.whole(*shape, high=high)
            v.call("Torch.gather", v.real(*shape), axis, index)
            v.call("Tensor.gather", v.real(*shape), dim=axis - len(shape),
                   index=v.whole(*([1] * len(shape)), high=high))
            v.call("Torch.index_select", v.real(*shape), axis,
                   v.whole(4, high=high))
            v.call("Tensor.index_select", v.real(*shape),
                   dim=axis - len(shape), index=v.whole(0, high=high))
            v.call("Tensor.index_select", v.real(*shape), -1,
                   v.whole(high=shape[-1] - 1))
    for _ in range(4):
        v.call("Torch.gather", v.real(3, 4), 1, v.whole(2, 6, high=3))
    v.call("Torch.gather", v.special(), 0, v.whole(7))
    v.call("Torch.gather", v.real(3, 4), 0, v.whole(0, 2))
    v.call("Torch.gather", v.whole(5), 0, v.whole(7))
    v.call("Torch.index_select", v.special(), 0, v.whole(7))


def slices(v):
    for shape in SHAPES + [(0, 3)]:
        for axis in range(len(shape)):
            n = shape[axis]
            for first in {0, n // 2, -n if n else 0}:
                v.call("Torch.narrow", v.real(*shape), axis, first,
                       n - first if first >= 0 else 1)
                v.call("Tensor.narrow", v.real(*shape), axis - len(shape),
                       start=first, length=0 if not n else 1)
                if n:
                    v.call("Torch.select", v.real(*shape), axis, first)
                    v.call("Tensor.select", v.real(*shape),
                           axis - len(shape), -1)
    v.call("Torch.narrow", v.special(), 0, 1, 3)
    v.call("Torch.select", v.special(), 0, 1)
    v.call("Torch.select", v.whole(3, 2), 1, 1)
    for name in ("tril", "triu"):
        for shape in ((1, 1), (3, 3), (2, 4), (4, 2), (2, 2, 3), (0, 3)):
            v.call(f"Torch.{name}", v.real(*shape))
            for diagonal in (-1, 1, 7):
                v.call(f"Tensor.{name}", v.real(*shape), diagonal)
        v.call(f"Torch.{name}", v.real(3, 3), diagonal=-2)
        v.call(f"Torch.{name}", v.special(1.0).reshape(2, 3))
        v.call(f"Tensor.{name}_", v.real(3, 3))
        v.call(f"Torch.{name}", v.flags(3, 3))


def make(v):
    lookups(v)
    gathers(v)
    slices(v)

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


def different(v, count, length):
    """As many different indices."""
    return v.real(length, step=0.001, grad=False).argsort()[:count]


def scatters(v):
    for i, shape in enumerate(SHAPES + SHAPES):
        for axis in range(len(shape)):
            n = shape[axis]
            index = v.real(*shape, step=0.001, grad=False).argsort(axis)
            v.call("Torch.scatter", v.real(*shape), axis, index,
                   v.real(*shape))
            v.call("Tensor.scatter", v.real(*shape), dim=axis - len(shape),
                   index=v.whole(*shape, high=n - 1), value=[0.5, 2][i % 2])
            v.call("Torch.scatter", v.real(*shape), axis, index, -1.5)
            v.call("Tensor.scatter_", v.real(*shape), axis, index,
                   src=v.real(*shape))
            v.call("Torch.scatter_add", v.real(*shape), axis,
                   v.whole(*shape, high=n - 1), v.real(*shape))
            v.call("Tensor.scatter_add_", v.real(*shape), axis,
                   v.whole(*([1] * len(shape)), high=n - 1), v.real(*shape),
                   backward=False)
            few = different(v, 1 + i % n, n)
            part = shape[:axis] + (len(few),) + shape[axis + 1:]
            for alpha in (1, 0.3):
                v.call("Torch.index_add", v.real(*shape), axis,
                       v.whole(len(few), high=n - 1), v.real(*part),
                       alpha=alpha)
            v.call("Torch.index_copy", v.real(*shape), axis, few,
                   v.real(*part))
            v.call("Tensor.index_copy_", v.real(*shape), axis, few,
                   source=v.real(*part))
            v.call("Torch.index_fill", v.real(*shape), axis,
                   v.whole(2, high=n - 1), 0.5 * i)
            v.call("Tensor.index_fill_", v.real(*shape), axis, few,
                   value=float("-inf"))
    v.call("Torch.scatter", v.special(), 0, different(v, 5, 5), v.special())
    v.call("Torch.scatter_add", v.special(), 0, different(v, 5, 5),
           v.special())
    v.call("Tensor.scatter", v.whole(3, 4), 1, v.whole(3, 1), 1)
    v.call("Torch.index_add", v.special(), 0, different(v, 3, 5), v.real(3))


def masks(v):
    for i in range(3):
        for shape in SHAPES + [(0,), (2, 0)]:
            v.call("Torch.masked_select", v.real(*shape), v.flags(*shape))
            v.call("Tensor.masked_scatter", v.real(*shape), v.flags(*shape),
                   v.real(20))
        v.call("Tensor.masked_select", v.real(2, 3), v.flags(3))
        v.call("Tensor.masked_select", v.real(2, 3), mask=v.flags(2, 1))
        v.call("Torch.masked_scatter", v.real(2, 3), v.flags(3), v.real(2, 3))
        v.call("Tensor.masked_scatter_", v.real(2, 3), v.flags(2, 1),
               v.real(6))
    v.call("Torch.masked_select", v.special(), v.flags(5))
    v.call("Torch.masked_scatter", v.special(), v.flags(5), v.special())


def pads(v):
    for shape in ((4,), (2, 3), (3, 1, 4), (1, 2, 3, 3)):
        for pad in ((1, 2), (0, 3), (-1, 2), (0, 0)):
            v.call("Functional.pad", v.real(*shape), pad)
            v.call("Functional.pad", v.real(*shape), pad, "constant", 0.5)
            v.call("Torch.constant_pad_nd", v.real(*shape), pad, -1.5)
            v.call("Torch.constant_pad_nd", v.real(*shape), pad * len(shape))
        v.call("Functional.pad", v.real(*shape), (1,) * (2 * len(shape)),
               value=float("-inf"))
        v.call("Torch.constant_pad_nd", v.real(*shape), (2, 0), value=1)
    for mode in ("reflect", "replicate", "circular"):
        ok = mode != "circular"  # of several operators
        for pad in ((1, 2), (2, 0), (0, 0)):
            v.call("Functional.pad", v.real(1, 2, 4), pad, mode,
                   backward=ok)
            v.call("Functional.pad", v.real(2, 4), pad, mode=mode,
                   backward=ok)
            v.call("Functional.pad", v.real(1, 1, 3, 3), pad + (1, 1), mode,
                   backward=ok)
    v.call("Functional.pad", v.real(1, 1, 2, 2, 2), (1, 1, 1, 1, 1, 0),
           "replicate")
    v.call("Functional.pad", v.special(), (2, 1))


def axes(v):
    for shape in SHAPES + [(2, 0), (3, 4)]:
        n = len(shape)
        for axis in range(n):
            v.call("Torch.flip", v.real(*shape), (axis,))
            v.call("Tensor.flip", v.real(*shape), axis - n)
            v.call("Torch.roll", v.real(*shape), 1, axis)
            v.call("Torch.roll", v.real(*shape), shifts=-4, dims=axis - n)
            v.call("Torch.repeat_interleave", v.real(*shape), 2, axis)
            v.call("Tensor.repeat_interleave", v.real(*shape),
                   v.whole(shape[axis], high=3), dim=axis)
            for other in range(n):
                v.call("Torch.movedim", v.real(*shape), axis, other)
        v.call("Torch.moveaxis", v.real(*shape), -1, 0)
        v.call("Tensor.movedim", v.real(*shape), source=(0, n - 1)[:n],
               destination=(n - 1, 0)[:n])
        v.call("Torch.flip", v.real(*shape), list(range(n)))
        v.call("Tensor.roll", v.real(*shape), 2)
        v.call("Torch.roll", v.real(*shape), (1, -1)[:n], (0, n - 1)[:n])
        v.call("Torch.repeat_interleave", v.real(*shape), 3)
    v.call("Torch.flip", v.special(), (0,))
    v.call("Torch.roll", v.special(), 2)
    v.call("Torch.repeat_interleave", v.special(), 0)


def make(v):
    lookups(v)
    gathers(v)
    slices(v)
    scatters(v)
    masks(v)
    pads(v)
    axes(v)

# SPDX-License-Identifier: MIT
"""What moves elements: views, copies, joining, parting, constants."""

import torch

SHAPES = [(), (0,), (1,), (6,), (2, 3), (2, 0, 3), (1, 1, 4), (2, 1, 3)]
NARROW = [torch.float32, torch.float16, torch.bfloat16]


def views(v):
    for shape, other in (((), (1,)), ((0,), (0, 2)), ((1,), ()), ((6,), (2, 3)),
                         ((2, 3), (3, 2)), ((2, 0, 3), (0,)),
                         ((2, 1, 3), (6,)), ((2, 3), (-1,)), ((6,), (3, -1))):
        x = v.real(*shape)
        v.call("Torch.reshape", x, other)
        v.call("Tensor.reshape", x, *other) if other else None
        v.call("Tensor.view", x, *other) if other else None
    for shape in SHAPES:
        v.call("Torch.clone", v.real(*shape))
        v.call("Torch.squeeze", v.real(*shape))
        v.call("Torch.unsqueeze", v.real(*shape), 0)
        v.call("Tensor.unsqueeze", v.real(*shape), -1)
    v.call("Tensor.view", v.special(1.0), 3, 2)
    v.call("Tensor.view_as", v.real(6), v.real(2, 3))
    v.call("Tensor.reshape_as", v.real(6), v.real(2, 3))
    v.call("Torch.squeeze", v.real(2, 1, 3), 1)
    v.call("Torch.unflatten", v.real(6), 0, (2, 3))
    v.call("Torch.reshape", v.real(2, 3).t(), (6,))
    v.call("Tensor.clone", v.special(1.0), backward=False)


def conversions(v):
    for shape in SHAPES[4:] + [(2, 2)]:
        v.call("Torch.flatten", v.real(*shape))
        v.call("Tensor.flatten", v.real(2, *shape), 1)
        v.call("Tensor.flatten", v.real(*shape), start_dim=-2)
        v.call("Torch.ravel", v.real(*shape))
    for shape in SHAPES:
        for dtype in NARROW:
            v.call("Tensor.to", v.real(*shape), dtype)
        v.call("Tensor.contiguous", v.real(*shape), backward=False)
    for name in ("float", "half", "bfloat16"):
        v.call(f"Tensor.{name}", v.real(3))
        v.call(f"Tensor.{name}", v.special(1.0))
        v.call(f"Tensor.{name}", v.whole(2, 3))
        v.call(f"Tensor.{name}", v.flags(2, 3))
    v.call("Tensor.double", v.real(3, grad=False).float().requires_grad_())
    v.call("Tensor.double", v.whole(3))
    v.call("Tensor.type", v.real(3), "torch.FloatTensor")
    v.call("Tensor.type_as", v.real(3), v.real(2, grad=False).half())
    v.call("Tensor.type_as", v.whole(3), v.real(2))
    for shape in SHAPES:
        v.call("Tensor.int", v.real(*shape))
        v.call("Tensor.long", v.real(*shape))
        v.call("Tensor.bool", v.real(*shape))
        v.call("Tensor.detach", v.real(*shape))
    v.call("Tensor.bool", v.special(1.0, 1e-300))


def orders(v):
    for name in ("transpose", "swapaxes", "swapdims"):
        for shape in ((2, 3), (2, 0, 3), (2, 1, 3), (1, 1, 4)):
            v.call(f"Torch.{name}", v.real(*shape), 0, 1)
            v.call(f"Tensor.{name}", v.real(*shape), -1, 0)
    v.call("Tensor.transpose", v.real(2, 3), dim0=0, dim1=-1)
    v.call("Torch.transpose", v.real(), 0, -1)
    v.call("Torch.transpose", v.special().reshape(1, 5), 0, 1)
    for _ in range(3):
        for shape in ((), (0,), (1,), (4,), (2, 3), (3, 1), (0, 3), (1, 1)):
            v.call("Torch.t", v.real(*shape))
            v.call("Tensor.t", v.real(*shape))
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1),
                  (2, 1, 0), (-1, 0, 1), (0, -1, -2)):
        v.call("Torch.permute", v.real(2, 1, 3), order)
        v.call("Tensor.permute", v.real(2, 3, 2), *order)
        v.call("Tensor.permute", v.real(2, 0, 3), dims=order)
    v.call("Torch.permute", v.real(), ())
    v.call("Torch.permute", v.whole(2, 3), (1, 0))


def repeats(v):
    for shape, size in (((), (2,)), ((1,), (3,)), ((3,), (2, 3)),
                        ((2, 1), (2, 3)), ((1, 3), (2, 3)), ((2, 1), (-1, 4)),
                        ((1, 0), (2, 0)), ((2, 3), (2, 3)),
                        ((1, 1, 2), (3, 2, 2))):
        v.call("Tensor.expand", v.real(*shape), *size)
        v.call("Tensor.expand", v.real(*shape), size)
        v.call("Torch.broadcast_to", v.real(*shape), size)
        if -1 not in size:
            v.call("Tensor.expand_as", v.real(*shape), v.real(*size))
    v.call("Tensor.expand", v.special(1.0), 2, 6)
    for shape, times in (((), (3,)), ((2,), (2,)), ((2,), (2, 3)),
                         ((2, 3), (1, 2)), ((2, 1), (3, 1)), ((0,), (2,)),
                         ((2, 3), (2, 1, 1)), ((1, 2), (2, 2)), ((2,), (0,)),
                         ((3,), (1,))):
        v.call("Tensor.repeat", v.real(*shape), *times)
        v.call("Tensor.repeat", v.real(*shape), times)
        v.call("Torch.tile", v.real(*shape), times)
    v.call("Tensor.repeat", v.special(1.0), 2)


def joins(v):
    for name in ("cat", "concat", "concatenate"):
        v.call(f"Torch.{name}", [v.real(2), v.real(3)])
        v.call(f"Torch.{name}", [v.real(2, 3), v.real(1, 3)])
        v.call(f"Torch.{name}", [v.real(2, 3), v.real(2, 1)], 1)
        v.call(f"Torch.{name}", [v.real(2, 3), v.real(2, 1)], dim=-1)
        v.call(f"Torch.{name}", (v.real(2, 1, 2), v.real(2, 2, 2)), dim=1)
        v.call(f"Torch.{name}", [v.real(0, 2), v.real(1, 2)])
        v.call(f"Torch.{name}", [v.real(3)])
        v.call(f"Torch.{name}", [v.real(2, 3), v.real(0), v.real(2, 3)])
        v.call(f"Torch.{name}", [v.real(2), v.whole(2), v.flags(1)])
        v.call(f"Torch.{name}", [v.whole(2), v.whole(2)])
    v.call("Torch.cat", [v.special(1.0), v.real(2, grad=False), v.real(3)])
    for shape in SHAPES:
        for axis in (0, -1, len(shape)):
            v.call("Torch.stack", [v.real(*shape), v.real(*shape)], axis)
    v.call("Torch.stack", [v.real(2), v.real(2, grad=False), v.real(2)],
           dim=1)
    v.call("Torch.stack", [v.real(2)])
    v.call("Torch.stack", [v.whole(2), v.whole(2)])
    v.call("Torch.stack", [v.special(), v.real(5)])


def parts(v):
    for name, how in (("split", 2), ("split", (1, 2, 2)), ("split", 7),
                      ("chunk", 2), ("chunk", 3), ("chunk", 1)):
        v.call(f"Torch.{name}", v.real(5), how)
        v.call(f"Tensor.{name}", v.real(5, 2), how)
        v.call(f"Torch.{name}", v.real(2, 5), how, 1)
        v.call(f"Torch.{name}", v.real(2, 5, 1), how, dim=-2)
        v.call(f"Torch.{name}", v.special(), how)
    for how in (2, 3, (1, 3)):
        v.call("Torch.tensor_split", v.real(5), how)
        v.call("Torch.tensor_split", v.real(2, 5), how, dim=1)
    v.call("Torch.split", v.whole(4), 2)
    v.call("Torch.split", v.real(0, 2), 2)
    for shape in SHAPES[2:]:
        for axis in range(len(shape)):
            if shape[axis]:
                v.call("Torch.unbind", v.real(*shape), axis)
                v.call("Tensor.unbind", v.real(*shape),
                       dim=axis - len(shape))
    v.call("Torch.unbind", v.special())
    v.call("Torch.unbind", v.real(3, 2))


def constants(v):
    for i, shape in enumerate([s for s in SHAPES if s] * 3):
        for name in ("zeros", "ones"):
            v.call(f"Torch.{name}", *shape[:1] ) if i < 4 else None
            v.call(f"Torch.{name}", shape[:1] + (i,))
            v.call(f"Torch.{name}_like", v.real(*shape))
        v.call("Torch.full", shape, [0.5, -3, 1e300, float("nan")][i % 4])
        v.call("Torch.full", [i], fill_value=float(i))
        v.call("Torch.full_like", v.real(*shape), 0.25 * i)
    for i in range(7):
        v.call("Torch.arange", i)
        v.call("Torch.arange", i - 2, 5)
        v.call("Torch.arange", 0.5 * i, 4)
        v.call("Torch.arange", start=0, end=1, step=0.1 + 0.05 * i)
        v.call("Torch.arange", 5, -i, -2)


def make(v):
    views(v)
    conversions(v)
    orders(v)
    repeats(v)
    joins(v)
    parts(v)
    constants(v)

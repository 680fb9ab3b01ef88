# SPDX-License-Identifier: MIT
"""Convolutions, transposed ones, and their gradients."""

OPTIONS = (
    {}, {"stride": 2}, {"padding": 1}, {"dilation": 2},
    {"stride": 2, "padding": 1}, {"stride": 3, "dilation": 2, "padding": 2},
    {"groups": 2}, {"groups": 2, "stride": 2, "padding": 1})


def lengths(axes, start):
    return [start + i for i in range(axes)]


def make(v):
    for axes in (1, 2, 3):
        name = f"Functional.conv{axes}d"
        turned = f"Functional.conv_transpose{axes}d"
        for i, options in enumerate(OPTIONS):
            groups = options.get("groups", 1)
            kernel = lengths(axes, 2) if axes < 3 else [2, 1, 2]
            if options.get("dilation", 1) > 1:
                kernel = [2] * axes
            large = 2 * groups if i % 2 else 2
            x = v.real(2 if axes < 2 else 1, large, *lengths(axes, 6 - axes))
            w = v.real(2 * groups, large // groups, *kernel)
            v.call(name, x, w, v.real(2 * groups), **options)
            v.call(name, x.detach().clone().requires_grad_(),
                   w.detach().clone().requires_grad_(), None, **options)
            y = v.real(1, 2 * groups, *lengths(axes, 2))
            v.call(turned, y, w.detach().clone().requires_grad_(),
                   v.real(large), **options)
            v.call(turned, y.detach().clone().requires_grad_(),
                   w.detach().clone().requires_grad_(), **options)
        kernel, length = [3, 1, 2][:axes], [4, 3, 2][:axes]
        for i, (lead, *rest) in enumerate((
                (1, None, 1, "valid"), (2,), (0,),
                (1, None, [1] * axes, [1] * axes, [1] * axes, 1))):
            x = v.real(*([lead, 2] if i != 1 else [2]), *length, grad=i < 3)
            v.call(name, x, v.real(3, 2, *kernel), v.real(3),
                   *rest[1:])
        v.call(name, v.real(1, 2, *length), v.real(3, 2, *[3, 1, 1][:axes]),
               v.real(3), padding="same")
        for rest in ((2, 1, 1), ([2] * axes, [0] * axes, [1] * axes, 1,
                                 [1] * axes)):
            v.call(turned, v.real(1, 3, *[3, 2, 2][:axes]),
                   v.real(3, 2, *[3] * axes), v.real(2), *rest)
    v.call("Functional.conv1d", v.special(1.0).reshape(1, 2, 3),
           v.real(2, 2, 2), v.real(2))
    v.call("Functional.conv2d", v.real(1, 2, 5, 6), v.real(3, 2, 2, 3),
           v.real(3), (2, 1), (0, 2), (1, 2))
    v.call("Functional.conv_transpose1d", v.special(1.0).reshape(1, 2, 3),
           v.real(2, 2, 2), v.real(2))

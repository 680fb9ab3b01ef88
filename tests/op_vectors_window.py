# SPDX-License-Identifier: MIT
"""Pools of one to three axes, and interpolate in all its modes."""

LENGTHS = {1: [(5,), (6,), (1,), (7,)], 2: [(4, 5), (3, 3), (5, 4), (2, 6)],
           3: [(3, 2, 3), (2, 2, 2), (2, 3, 2), (4, 2, 2), (3, 3, 3)]}


def pools(v, axes):
    forms = [((2,), {}), ((2, 1), {}), ((2,), {"stride": 1, "padding": 1}),
             ((3, 2, 1), {}), ((2, 2, 0), {"ceil_mode": True}),
             (([2] * axes, [1] * axes), {})]
    for lengths in LENGTHS[axes]:
        for kernel, words in forms:
            if min(lengths) + 2 * words.get("padding", 0) < 3:
                continue
            x = v.real(1, 2, *lengths, step=0.0625)
            v.call(f"Functional.max_pool{axes}d", x, *kernel, **words)
            x = v.real(2, 1, *lengths)
            v.call(f"Functional.avg_pool{axes}d", x, *kernel, **words)
            if not words:
                v.call(f"Functional.avg_pool{axes}d", v.real(2, *lengths), 3,
                       2, 1, count_include_pad=False)
                v.call(f"Functional.max_pool{axes}d", v.real(1, *lengths),
                       2, 1, 0, 1, False, True)
        for size in (1, 2, 3):
            for name in ("avg", "max"):
                v.call(f"Functional.adaptive_{name}_pool{axes}d",
                       v.real(1, 2, *lengths, step=0.0625), size)
                v.call(f"Functional.adaptive_{name}_pool{axes}d",
                       v.real(2, *lengths, step=0.0625), [size] * axes)
    if axes > 1:
        v.call(f"Functional.avg_pool{axes}d", v.real(1, 1, *[4] * axes), 2,
               divisor_override=3)
    size = [6 - axes] * axes
    for name in ("avg", "max"):
        api = f"Functional.{name}_pool{axes}d"
        for kernel in (1, 2, 3):
            for stride in (1, 2, 3):
                v.call(api, v.real(1, *size), kernel, stride)
        v.call(api, v.real(0, 1, *size), 2)
        v.call(api, v.special(*[1.0] * (size[0] ** axes - 5)).detach().reshape(
            1, *size).requires_grad_(), 2)
    v.call(f"Functional.max_pool{axes}d", v.real(1, 1, *size), 2, 1, 0, 2)
    v.call(f"Functional.max_pool{axes}d_with_indices", v.real(1, *size), 2)
    v.call(f"Functional.adaptive_max_pool{axes}d_with_indices",
           v.real(1, *size), 2)


def interpolate(v):
    modes = {1: ["nearest", "linear", "area", "nearest-exact"],
             2: ["nearest", "bilinear", "bicubic", "area", "nearest-exact"],
             3: ["nearest", "trilinear", "area", "nearest-exact"]}
    for axes, lengths in LENGTHS.items():
        for mode in modes[axes]:
            ways = [{}]
            if "linear" in mode or "cubic" in mode:
                ways += [{"align_corners": True}, {"align_corners": False}]
            for shape in lengths[:2 if axes > 1 else 4]:
                for way in ways:
                    for size in (3, [4] * axes):
                        v.call("Functional.interpolate", v.real(
                            1, 1, *shape), size=size, mode=mode, **way)
                    for scale in (2, 0.5, 1.5):
                        if min(shape) * scale < 1:
                            continue
                        v.call("Functional.interpolate", v.real(
                            1, 1, *shape), scale_factor=scale, mode=mode,
                            **way)
                v.call("Functional.interpolate", v.real(1, 1, *shape),
                       None, 2.6, mode)
                v.call("Functional.interpolate", v.real(1, 1, *shape),
                       scale_factor=1.7, mode=mode,
                       recompute_scale_factor=True)


def make(v):
    for axes in LENGTHS:
        pools(v, axes)
    interpolate(v)

# SPDX-License-Identifier: MIT
"""Normalisations and their gradients. Sets have three elements at least: of two
the gradient is a difference of equals, which no tolerance describes."""


def affine(v, i, count):
    """Both, one or none of weight and bias."""
    return (v.real(count) if i % 4 != 1 else None,
            v.real(count) if i % 4 < 2 else None)


def layer_norm(v):
    for i, shape in enumerate(((3,), (2, 3), (2, 2, 4), (1, 5), (4, 4), (0, 3),
                               (2, 3, 3))):
        for options in ({}, {"eps": 1e-2}, {"eps": 1e-6}):
            w, b = affine(v, i, shape[-1])
            v.call("Functional.layer_norm", v.real(*shape), [shape[-1]], w, b,
                   **options)
    v.call("Functional.layer_norm", v.real(2, 3, 2), [3, 2], v.real(3, 2),
           v.real(3, 2))
    v.call("Functional.layer_norm", v.real(2, 3), [3], v.real(3),
           v.real(3), 1e-5)
    v.call("Functional.layer_norm", v.special(1.0).reshape(2, 3), [3])


def rms_norm(v):
    for i, shape in enumerate(((3,), (2, 3), (2, 2, 4), (1, 5), (4, 4), (0, 3),
                               (2, 3, 3))):
        for options in ({}, {"eps": 1e-2}, {"eps": 1e-6}):
            v.call("Functional.rms_norm", v.real(*shape), [shape[-1]],
                   affine(v, i, shape[-1])[0], **options)
    v.call("Functional.rms_norm", v.special(1.0).reshape(2, 3), [3])


def group_norm(v):
    for i, shape in enumerate(((2, 8), (1, 4, 3), (2, 6, 3), (2, 4, 2, 2),
                               (0, 4, 3))):
        for groups in (1, 2, shape[1]):
            if shape[1] == groups and len(shape) == 2:
                groups = 2
            for options in ({}, {"eps": 1e-2}):
                w, b = affine(v, i, shape[1])
                v.call("Functional.group_norm", v.real(*shape), groups, w, b,
                       **options)
    v.call("Functional.group_norm", v.special(1.0).reshape(1, 2, 3), 2)


def kept(v, count):
    return (v.real(count, grad=False),
            v.real(count, low=0.25, high=4, grad=False))


def batch_norm(v):
    for i, shape in enumerate(((4, 2), (2, 3, 2), (2, 2, 2, 2), (4, 1, 3),
                               (2, 2, 1, 2, 2))):
        for training in (True, False):
            for options in ({}, {"eps": 1e-2}, {"momentum": 0.5}):
                mean, var = kept(v, shape[1])
                w, b = affine(v, i, shape[1])
                v.call("Functional.batch_norm", v.real(*shape), mean, var, w,
                       b, training, **options)
    v.call("Functional.batch_norm", v.real(4, 2), None, None, training=True)
    v.call("Functional.batch_norm", v.special(1.0).reshape(3, 2), *kept(v, 2))


def instance_norm(v):
    for i, shape in enumerate(((2, 3, 3), (1, 2, 3), (2, 2, 2, 2),
                               (1, 1, 2, 2, 2), (2, 1, 4))):
        for own in (True, False):
            for options in ({}, {"eps": 1e-2}):
                mean, var = kept(v, shape[1])
                w, b = affine(v, i, shape[1])
                v.call("Functional.instance_norm", v.real(*shape), mean, var,
                       w, b, own, **options)
    v.call("Functional.instance_norm", v.real(2, 3, 4))
    v.call("Functional.instance_norm", v.special(1.0).reshape(1, 2, 3))


def normalize(v):
    name = "Functional.normalize"
    for shape in ((1,), (5,), (2, 3), (2, 1, 3), (3, 2, 2), (0, 3), (2, 0)):
        for axis in range(len(shape)):
            v.call(name, v.real(*shape), dim=axis)
            v.call(name, v.real(*shape), 1.0, axis - len(shape))
            v.call(name, v.real(*shape, low=0.5), 3, axis, 1e-6)
        if len(shape) > 1:
            v.call(name, v.real(*shape))
            v.call(name, v.real(*shape), p=2.0, eps=20.0)
            if 0 not in shape:
                v.call(name, v.real(*shape), float("inf"), -1)
    v.call(name, v.real(3, 2, low=0, high=0))
    v.call(name, v.special(1.0).reshape(3, 2))


def cosine(v):
    name = "cosine_similarity"
    for shape in ((2, 3), (4, 5), (2, 1, 3), (3, 2, 2), (0, 3), (2, 0)):
        v.call(f"Functional.{name}", v.real(*shape), v.real(*shape))
        v.call(f"Torch.{name}", v.real(*shape), v.real(*shape), dim=-1)
        v.call(f"Functional.{name}", v.real(*shape), v.real(*shape), 0, 1e-6)
        v.call(f"Torch.{name}", v.real(*shape), v.real(*shape), eps=20.0)
        v.call(f"Functional.{name}", v.real(*shape), v.real(*shape[1:]),
               dim=-1)
    for other in ((1, 3), (2, 1), (1, 1), (4, 2, 3)):
        v.call(f"Functional.{name}", v.real(2, 3), v.real(*other))
    v.call(f"Torch.{name}", v.real(5), v.real(5), dim=0)
    v.call(f"Functional.{name}", v.real(2, 3), v.real(2, 3, low=0, high=0))
    v.call(f"Functional.{name}", v.special(1.0).reshape(3, 2), v.real(3, 2))


def make(v):
    for part in (layer_norm, rms_norm, group_norm, batch_norm, instance_norm,
                 normalize, cosine):
        part(v)

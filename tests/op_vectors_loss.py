# SPDX-License-Identifier: MIT
"""Softmax and losses."""

import torch


def softmax(v):
    for name in ("softmax", "log_softmax", "softmin"):
        for shape in ((), (1,), (5,), (2, 3), (2, 1, 4), (0, 3), (3, 2, 2)):
            for dim in {-1, 0, max(len(shape) - 1, 0)}:
                if shape or dim != 1:
                    v.call(f"Functional.{name}", v.real(*shape), dim=dim)
        v.call(f"Functional.{name}", v.special(1.0).reshape(2, 3), dim=0)
        v.call(f"Functional.{name}", v.real(2, 3, low=-800, high=800), dim=1)
        v.call(f"Functional.{name}", v.real(2, 3, low=-800, high=800), 1)
        inf = torch.tensor([0.5, float("-inf"), 2, float("-inf")])
        v.call(f"Functional.{name}",
               (-inf if name == "softmin" else inf).requires_grad_(), dim=0)
    for _ in range(4):
        v.call("Torch.softmax", v.real(2, 3), 1)
        v.call("Tensor.softmax", v.real(2, 3), -1)
        v.call("Tensor.log_softmax", v.real(2, 3), -1)


def classes(v):
    for name in ("cross_entropy", "nll_loss"):
        for shape in ((3,), (4, 3), (2, 3, 2), (2, 2, 3, 2), (1, 5)):
            target = shape[:1] + shape[2:] if len(shape) > 1 else ()
            count = shape[1] if len(shape) > 1 else shape[0]
            for reduction in ("mean", "sum", "none"):
                v.call(f"Functional.{name}", v.real(*shape),
                       v.whole(*target, high=count - 1), reduction=reduction)
            v.call(f"Functional.{name}", v.real(*shape),
                   v.whole(*target, high=count - 1),
                   weight=v.real(count, low=0.5, grad=False))
            v.call(f"Functional.{name}", v.real(*shape),
                   v.whole(*target, high=count - 1), ignore_index=1)
        v.call(f"Functional.{name}", v.special(1.0).reshape(2, 3),
               v.whole(2, high=2))
    for reduction in ("mean", "sum", "none"):
        v.call("Functional.cross_entropy", v.real(4, 3), v.whole(4, high=2),
               label_smoothing=0.25, reduction=reduction)
        v.call("Functional.cross_entropy", v.real(4, 3),
               v.real(4, 3, low=0, high=1, grad=False), reduction=reduction)
        v.call("Functional.cross_entropy", v.real(2, 3, 2),
               v.real(2, 3, 2, low=0, high=1, grad=False),
               v.real(3, low=0.5, grad=False), label_smoothing=0.1,
               reduction=reduction)


SHAPES = ((), (1,), (5,), (2, 3), (2, 1, 3))


def share(v, *shape, grad=True):
    return v.real(*shape, low=0.125, high=0.875, grad=grad)


def pairs(v):
    for i, shape in enumerate(SHAPES + ((0,),)):
        for reduction in ("mean", "sum", "none"):
            for name in ("mse_loss", "l1_loss", "smooth_l1_loss",
                         "huber_loss"):
                v.call(f"Functional.{name}", v.real(*shape),
                       v.real(*shape, grad=i % 2 == 0), reduction=reduction)
            v.call("Functional.binary_cross_entropy", share(v, *shape),
                   share(v, *shape, grad=i % 2 == 0), reduction=reduction)
            v.call("Functional.binary_cross_entropy_with_logits",
                   v.real(*shape), share(v, *shape, grad=i % 2 == 0),
                   reduction=reduction)
            v.call("Functional.kl_div", v.real(*shape),
                   share(v, *shape, grad=False), reduction=reduction)
            v.call("Functional.kl_div", v.real(*shape), share(v, *shape),
                   reduction=reduction)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        v.call(f"Functional.{name}", v.special(1.0), v.real(6))
        v.call(f"Functional.{name}", v.real(2, 3), v.real(2, 3))
        v.call(f"Functional.{name}", v.real(2, 3), v.real(3, grad=False))
        v.call(f"Functional.{name}", v.real(2, 3), v.real(3))
    for beta in (0.5, 2, 0):
        v.call("Functional.smooth_l1_loss", v.real(2, 3), v.real(2, 3),
               beta=beta)
        v.call("Functional.huber_loss", v.real(2, 3), v.real(2, 3),
               delta=beta + 0.25)
    for shape in ((3,), (2, 3), (1,)):
        v.call("Functional.binary_cross_entropy", share(v, 2, 3),
               share(v, 2, 3, grad=False), v.real(*shape, grad=False))
        v.call("Functional.binary_cross_entropy_with_logits", v.real(2, 3),
               share(v, 2, 3), v.real(*shape, grad=False),
               pos_weight=v.real(*shape, low=0.5, grad=False))
    v.call("Functional.binary_cross_entropy",
           torch.tensor([0.0, 1.0, 0.5, 1.0]).requires_grad_(),
           torch.tensor([0.0, 1.0, 1.0, 0.0]))
    v.call("Functional.binary_cross_entropy_with_logits",
           v.real(6, low=-800, high=800), share(v, 6))
    v.call("Functional.binary_cross_entropy_with_logits", v.special(1.0),
           share(v, 6))
    for reduction in ("mean", "sum", "batchmean", "mean", "sum"):
        v.call("Functional.kl_div", v.real(2, 3), v.real(2, 3, grad=False),
               reduction=reduction, log_target=True)
        v.call("Functional.kl_div", v.real(2, 3),
               torch.tensor([[0, 0.5, 1], [0.25, 0, 2]]), reduction=reduction)


def make(v):
    for part in (softmax, classes, pairs):
        part(v)

# SPDX-License-Identifier: MIT
"""Products: linear, matmul and its kin, einsum, what adds to a product."""

import torch


def sides(v, left, right):
    return v.real(*left), v.real(*right)


def linear(v):
    for batch in ((), (1,), (4,), (0,), (2, 3), (2, 1, 3)):
        for k, n in ((1, 1), (3, 2), (6, 5)):
            x, w, b = v.real(*batch, k), v.real(n, k), v.real(n)
            if len(batch) == 1:
                v.call("Functional.linear", x, w, b)
                v.call("Functional.linear", v.real(*batch, k), w.detach()
                       .clone().requires_grad_())
            elif batch:
                v.call("Functional.linear", x, w, b)
                v.call("Functional.linear", x, w, bias=None)
            else:
                v.call("Functional.linear", x, w, b, backward=False)
    v.call("Functional.linear", v.real(3, 4), v.real(2, 4, grad=False),
           v.real(2, grad=False))
    v.call("Functional.linear", v.real(3, 4, grad=False), v.real(2, 4),
           v.real(2))
    v.call("Functional.linear", v.real(3, 4), v.real(2, 4), v.real(2,
           grad=False))
    v.call("Functional.linear", v.real(2, 0), v.real(3, 0), v.real(3))
    v.call("Functional.linear", v.special(1.0).reshape(2, 3), v.real(2, 3),
           v.real(2))
    v.call("Functional.linear", v.real(3, 4), v.real(4), backward=False)


MATMUL = (((3,), (3,)), ((1,), (1,)), ((2, 3), (3,)), ((0, 3), (3,)),
          ((2, 3), (3, 4)), ((1, 3), (3, 1)), ((2, 0), (0, 3)),
          ((0, 2), (2, 3)), ((2, 2, 3), (2, 3, 2)), ((1, 2, 3), (1, 3, 2)),
          ((2, 2, 3), (1, 3, 2)), ((2, 1, 2, 3), (3, 3, 2)),
          ((2, 2, 3), (3, 4)), ((2, 3), (2, 3, 4)), ((2, 2, 3), (3,)),
          ((2, 3, 2, 2), (2, 3, 2, 2)), ((3,), (3, 4)), ((3,), (2, 3, 4)))


def matmul(v):
    for left, right in MATMUL:
        v.call("Torch.matmul", *sides(v, left, right),
               backward=not (len(left) == 1 and len(right) > 1))
    for _ in range(2):
        v.call("Tensor.__matmul__", *sides(v, (2, 3), (3, 2)))
        v.call("Torch.mm", *sides(v, (4, 2), (2, 3)))
        v.call("Torch.bmm", *sides(v, (2, 4, 2), (2, 2, 3)))
        v.call("Torch.mv", *sides(v, (4, 2), (2,)))
        v.call("Torch.dot", *sides(v, (4,), (4,)))
        v.call("Torch.vdot", *sides(v, (4,), (4,)))
    v.call("Torch.bmm", *sides(v, (0, 4, 2), (0, 2, 3)))
    v.call("Torch.mm", v.real(2, 3, grad=False), v.real(3, 2))
    v.call("Torch.mm", v.real(2, 3), v.real(3, 2, grad=False))
    v.call("Torch.mm", v.special(1.0).reshape(2, 3), v.real(3, 2))
    v.call("Torch.dot", v.special(), v.real(5))
    for i in range(20):
        v.call("Tensor.__rmatmul__", *sides(v, (i % 3 + 1, 2), (3, i % 3 + 1)))


def outer(v):
    for i in range(10):
        v.call("Torch.outer", *sides(v, (i,), (3,)))
        v.call("Torch.ger", *sides(v, (2,), (i,)))
    v.call("Torch.outer", v.special(), v.real(2))


EQUATIONS = (("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)),
             ("ji,jk->ki", (3, 2), (3, 4)), ("bij,bjk->bik", (2, 2, 3),
              (2, 3, 2)), ("bhid,bhjd->bhij", (1, 2, 3, 2), (1, 2, 4, 2)),
             ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)),
             ("i,j->ij", (2,), (3,)), ("i,i->", (3,), (3,)),
             ("ij,ij->i", (2, 3), (2, 3)), ("ij,j->i", (2, 3), (3,)),
             ("b i k, b k j -> b i j", (2, 2, 3), (2, 3, 2)),
             ("ij,kl->jl", (2, 3), (2, 4)), ("ij,jk->ik", (0, 3), (3, 2)),
             ("ij,jk->ik", (2, 0), (0, 2)), ("bqhd,bkhd->bhqk", (2, 3, 2, 4),
              (2, 2, 2, 4)), ("sbh,th->sbt", (2, 3, 4), (5, 4)),
             ("Aa,aB->BA", (2, 3), (3, 2)))


def einsum(v):
    for equation, *shapes in EQUATIONS:
        v.call("Torch.einsum", equation, *(v.real(*s) for s in shapes))
    for i in range(14):
        v.call("Torch.einsum", "ij,jk->ik", *sides(v, (i, 3), (3, 2)))
    v.call("Torch.einsum", "ij,jk->ik", [v.real(2, 3), v.real(3, 2)])
    for equation, *shapes in (("ij->ji", (2, 3)), ("ii->i", (3, 3)),
                              ("ii", (3, 3)), ("ij->", (2, 3)),
                              ("ba", (2, 3)), ("...i->i...", (2, 3)),
                              ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)),
                              ("ijk->kij", (2, 3, 4)),
                              ("ijk->kij", (2, 2, 2)),
                              ("ij,jk->ki", (2, 2), (2, 2)),
                              ("bij,bjk->kbi", (2, 2, 2), (2, 2, 2)),
                              ("bqhd,bkhd->bhkq", (2, 2, 2, 2), (2, 2, 2, 2)),
                              ("i,j->ji", (2,), (2,)),
                              ("bi,bj->jbi", (2, 2), (2, 2)),
                              ("...i,...j->...ij", (2, 1, 2), (3, 3)),
                              ("ij->j", (2, 3)), ("iij->ij", (2, 2, 3)),
                              ("ijk->ki", (2, 3, 2))):
        v.call("Torch.einsum", equation, *(v.real(*s) for s in shapes),
               backward=equation != "iij->ij")
    # Of three, the node's first gradient is that of the product of two.
    v.call("Torch.einsum", "i,i,i->i", v.real(3), v.real(3), v.real(3),
           backward=False)
    v.call("Torch.einsum", "i,i->i", v.special(), v.real(5))


def bilinear(v):
    for batch in ((), (1,), (3,), (2, 3), (0,)):
        for i, j, o in ((2, 3, 4), (1, 1, 1)):
            for bias in (v.real(o), None):
                v.call("Functional.bilinear", v.real(*batch, i),
                       v.real(*batch, j), v.real(o, i, j), bias)


ADDED = {"addmm": ((2, 4), (2, 3), (3, 4)),
         "baddbmm": ((2, 2, 4), (2, 2, 3), (2, 3, 4)),
         "addbmm": ((2, 4), (3, 2, 3), (3, 3, 4)),
         "addmv": ((2,), (2, 3), (3,)), "addr": ((2, 4), (2,), (4,))}


def added(v):
    for name, (own, left, right) in ADDED.items():
        small = [own, own[1:], (1,) * len(own), ()]
        for i in range(5):
            for options in ({}, {"beta": 0.5}, {"alpha": -2},
                            {"beta": 2, "alpha": 0.3}):
                shape = small[i % 4]
                if not shape and name != "addmm":
                    shape = own
                v.call(f"Torch.{name}", v.real(*shape),
                       *sides(v, left, right), **options)
        v.call(f"Tensor.{name}_", v.real(*own), *sides(v, left, right))
    v.call("Torch.addmm", v.special(1.0).reshape(2, 3),
           *sides(v, (2, 2), (2, 3)))
    v.call("Torch.addmm", v.real(2, 3), *sides(v, (2, 0), (0, 3)))


def make(v):
    for part in (linear, matmul, outer, einsum, bilinear, added):
        part(v)

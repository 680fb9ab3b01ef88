# SPDX-License-Identifier: MIT
"""Every kind of statement and expression, with calls; never run."""
from __future__ import annotations

import os, sys as system
import os.path as path
from . import (sibling, other as renamed,)
from .. import *
from torch.nn import functional as F


@decorate(1, key=two())
@plain
async def everything(a, /, b: kind(1) = default(), *args: int, c=call(), **kw) -> made():
    x = y = first(a)[second(b):third(c), ...]
    x: list[int] = annotated()
    x.attribute[index()] += augmented(-1)
    del x[gone()], y
    assert holds(x), message(f"{x!r:>{width(x)}} {{literal}} {nested(f'{deep(1)}')}")
    global g
    with opened(a) as handle, closed(b):
        pass
    with (opened(a) as handle, closed(b),):
        await awaited(handle)
    with (opened(a)):
        yield yielded(handle)
    async with opened(a) as handle.name:
        value = yield
    async for i, *rest in iterated(*[a] if a else [], **{"b": b}):
        continue
    else:
        never()
    for i in 1, 2, counted(3):
        if i == one(): break
        elif not other(i) and third(i) or i not in known(i) is not odd(i):
            raise Wrong(i) from cause(i)
        else: plain(); simple()
    while (n := walrus(a)) > 1:
        try:
            tried(n)
        except (A, B) as error:
            caught(error)
        except C:
            pass
        finally:
            done()
    try: risky()
    except* Group as g: handled(g)
    match = matched(a)
    match.method(a)
    match[1] = match(2)
    match command(a), b:
        case [Point(x=0), *_] if guard(x):
            hit(x)
        case {"key": Value(v), **more} | None: other(v)
        case str() as name: pass
        case _: fallback()
    return lambda p, *q, k=kept(): p(q)(k)


def scopes(a, *, b):
    with outer(a) as (x, [y, *z.rest]), inner(x) as b[key()]:
        x = [p, q] = (y) = z
        if x:
            with a.context: y += x; (z.count) -= 1
        elif y:
            z[0]: int = 1
        else:
            z @= y
        with (
            first(x),
            second(y) as z.handle
        ): pass
        def nested(): return x
        class Inner:
            field: int
            other: str = "s"
    for x, (y, *z) in pairs: last = x
    for a.index, b[0] in pairs:
        with open(a) as f, open(b): f.x, = b
    else:
        with c: b = (n := 1) + (m := f())
    with (yield_()), (a, b)[0]:
        try: x = y = 1
        except E as error: x //= 2
        else: x = 3
        finally: x <<= 4
        match x:
            case [1, n] if (k := n): k = 2
            case _: f().x = 3
        while x: x = 0
        for i in x: break
    with a if b else c: pass
    with (a, b): pass
    with (a).b as c: pass
    with (lambda: (a, b))() as c, \
            d as e:
        async with a() as b: e = 1
        print(lambda: (t := 1))
        del x; (a.b)[c] = 2; global g
        (
            late
        ).attribute = 3
        (
            later(x)
        )[0] += 1
        (
            last
        )(x)
    return [v := 1, {w: w for w in x if (u := w)}]


class Thing(Base, metaclass=meta(1)):
    case = type = property(getter)
    squares = [square(i) for i in range(3) if even(i) if odd(i) for j in i]
    pairs = {key(k): val(v) for k, v in items() if k}
    unique = {*spread(1), element(2)}
    merged = {**left(), "k": right(), **third()}
    lazy = sum(x async for x in stream()) if ready() else (late(1),)
    text = "a" 'b' f"{c(1)=}" r'\'' + u"""long
    {not_a_call()}""" + rf'\{call(2)}' + f'''{
        spread_out(1)
    }'''
    number = 0x_ff + 1_000.5e-3j + .5 + 1. - -power(2) ** -power(3) @ m // 2
    chain = a.b(1).c[2](3)(4)(**k) \
        .d(5)
    compare = a < b() <= c() != d() is e() in f()
    bits = ~inverted(1) << shifted(2) | a() & b() ^ c()
    ternary = a() if b() else c() if d() else e()
    empty = (), [], {}, call(), (yield_free)
    generator = any(x for x in y), all((x for x in y))
    sliced = a[::], a[1:], a[:f()], a[b():c():d()], a[*e()]
    semi = one(); colon = two();

print(everything, end="")
type(name)
exec("code")

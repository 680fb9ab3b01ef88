# SPDX-License-Identifier: MIT
"""Vectors of torch's operators in float64: arguments, results, and gradients
that the node behind a result takes and gives, as msprobe's hook sees them.

A file of testdata/op_vectors is text, a call after the other:

    call Torch.add                  the API as msprobe names it
    i 0 f [2,3] 1 -0.5 ...          argument 0: a tensor, shape and elements
    i 1.0 int 3                     item 0 of argument 1, a list
    k alpha float 0.5               a keyword
    o 0 f [2,3] ...                 result 0
    g 0 f [2,3] ...                 gradient that came for result 0
    d 0 f [2,3] ...                 gradient 0 of the node's arguments
    d 1 none

Tensors are f (float64), s (float32), h (float16), y (bfloat16), l (int64), i
(int32) or b (bool); the rest int, float, bool, str, slice, size and none. A
call without d has no gradients. Elements are written so that they are read back
to the same bits.
"""

import random

import torch
import torch.nn.functional as functional

torch.set_default_dtype(torch.float64)
KINDS = {torch.float64: "f", torch.float32: "s", torch.float16: "h",
         torch.bfloat16: "y", torch.int64: "l", torch.int32: "i",
         torch.bool: "b"}


def number(value):
    if isinstance(value, bool):
        return str(int(value))
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


class NPU:
    """Compositions for what torch lacks: op_vectors_npu.py."""


class Layer:
    """What tensor_saver saves: op_vectors_saved.py."""

    causal = weights = False


def resolve(api):
    """The function that msprobe wraps as Torch.x, which is also that of
    torch.linalg, Tensor.x, Functional.x."""
    kind, name = api.split(".", 1)
    spaces = {"Torch": torch, "Tensor": torch.Tensor, "Functional": functional,
              "NPU": NPU, "Layer": Layer}
    space = spaces[kind]
    return getattr(space if hasattr(space, name) else torch.linalg, name)


class Vectors:
    """Writes one file; numbers are drawn from a seed of its name."""

    def __init__(self, path, name):
        self.random = random.Random(name)
        torch.manual_seed(0)
        self.file = open(path, "w", encoding="ascii")
        self.file.write(f"# {name}: made by tests/make_op_vectors.py with "
                        f"torch {torch.__version__.split('+')[0]}\n")
        self.counts = {}

    # --- operands -----------------------------------------------------------

    def real(self, *shape, low=-4.0, high=4.0, step=0.125, grad=True):
        """Multiples of step in [low, high]; a leaf that wants a gradient."""
        count = 1
        for length in shape:
            count *= length
        values = [self.random.randint(round(low / step), round(high / step))
                  * step for _ in range(count)]
        return torch.tensor(values, dtype=torch.float64).reshape(
            shape).requires_grad_(grad)

    def whole(self, *shape, low=0, high=4):
        return self.real(*shape, low=low, high=high, step=1,
                         grad=False).to(torch.int64)

    def flags(self, *shape):
        return self.real(*shape, low=0, high=1, step=1, grad=False) > 0.5

    @staticmethod
    def special(*values, grad=True):
        """NaN, infinities, zeros of both signs, and what is given."""
        nan, inf = float("nan"), float("inf")
        return torch.tensor([nan, inf, -inf, 0.0, -0.0, *values]
                            ).requires_grad_(grad)

    # --- writing ------------------------------------------------------------

    def item(self, place, argument, value):
        if isinstance(value, (list, tuple)) and not isinstance(
                value, torch.Size):
            for i, part in enumerate(value):
                self.item(place, f"{argument}.{i}", part)
            return
        if isinstance(value, torch.Tensor):
            if value._is_zerotensor():
                value = torch.zeros(value.shape)
            text = (f"{KINDS[value.dtype]} "
                    f"[{','.join(map(str, value.shape))}] ") + " ".join(
                        map(number, value.detach().flatten().tolist()))
        elif value is None or isinstance(value, (torch.dtype, torch.device)):
            text = "none"
        elif isinstance(value, slice):
            text = f"slice {value.start},{value.stop},{value.step}"
        elif isinstance(value, str):
            text = f"str {value}"
        elif isinstance(value, (bool, int, float)):
            text = f"{type(value).__name__} {number(value)}"
        elif isinstance(value, torch.Size):
            text = "size " + ",".join(map(str, value))
        else:
            raise TypeError(f"{argument}: {value!r}")
        self.file.write(f"{place} {argument} {text}".rstrip() + "\n")

    def gradients(self, outputs):
        """The backward of a node, with gradients of its results."""
        node = next((o.grad_fn for o in outputs
                     if isinstance(o, torch.Tensor) and o.grad_fn), None)
        if node is None:
            return
        seen = {}
        node.register_hook(lambda into, came: seen.update(i=into, g=came))
        wanted = [o for o in outputs
                  if isinstance(o, torch.Tensor) and o.grad_fn is not None]
        came = [self.real(*o.shape, low=-2, high=2, grad=False).to(
            o.dtype) for o in wanted]
        try:
            torch.autograd.backward(wanted, came)
        except (NotImplementedError, RuntimeError) as problem:
            if "implemented" not in str(problem):
                raise
            return
        for place, values in (("g", seen["g"]), ("d", seen["i"])):
            for i, value in enumerate(values):
                self.item(place, i, value)

    def call(self, api, *args, backward=True, **kwargs):
        """Calls the API, and writes what goes in and comes out. Leaves that are
        changed in place are copied first."""
        function = resolve(api)
        name = api.split(".", 1)[1]
        in_place = (name.endswith("_") and not name.endswith("__")) or (
            name.startswith("__i") and name not in ("__invert__",)) or (
                kwargs.get("inplace") is True)
        self.file.write(f"call {api}\n")
        for i, value in enumerate(args):
            self.item("i", i, value)
        for key, value in kwargs.items():
            self.item("k", key, value)
        used = list(args)
        if in_place and used[0].requires_grad:
            used[0] = used[0].clone()
        result = function(*used, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [
            result]
        for i, value in enumerate(outputs):
            self.item("o", i, value)
        if backward:
            self.gradients(outputs)
        self.counts[name] = self.counts.get(name, 0) + 1

    def close(self):
        self.file.close()

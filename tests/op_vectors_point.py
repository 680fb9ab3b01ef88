# SPDX-License-Identifier: MIT
"""Elementwise operators, under all names that they have."""

import torch

SHAPES = [(), (0,), (1,), (5,), (2, 3), (2, 0, 3), (1, 1, 4), (2, 1, 2, 2)]
PAIRS = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3)),
         ((2, 1), (1, 3)), ((), (2, 2)), ((2, 2), ()), ((0,), (1,)),
         ((2, 0), (0,)), ((1,), (4,)), ((2, 1, 3), (4, 1)),
         ((1, 1), (1, 1, 1))]
SCALARS = [0.5, -1.5, 2, 3, 0.1, -0.3]

# name: other spellings, domain of the numbers, extra numbers
WIDE, UNIT, POSITIVE = (-4.0, 4.0), (-0.875, 0.875), (0.125, 6.0)
ONE = {
    "neg": ("negative Tensor.__neg__", WIDE), "abs": ("absolute Tensor.__abs__",
                                                      WIDE),
    "sign": ("sgn", WIDE), "square": ("", WIDE), "sqrt": ("", POSITIVE),
    "rsqrt": ("", POSITIVE), "exp": ("", WIDE), "exp2": ("", WIDE),
    "expm1": ("", WIDE), "log": ("", POSITIVE), "log2": ("", POSITIVE),
    "log10": ("", POSITIVE), "log1p": ("", POSITIVE), "sin": ("", WIDE),
    "cos": ("", WIDE), "tan": ("", UNIT), "tanh": ("", WIDE),
    "erf": ("", WIDE), "sigmoid": ("", WIDE), "relu": ("", WIDE),
    "reciprocal": ("", POSITIVE), "floor": ("", WIDE), "ceil": ("", WIDE),
    "trunc": ("fix", WIDE), "isnan": ("", WIDE), "isinf": ("", WIDE),
    "isfinite": ("", WIDE), "isposinf": ("", WIDE),
    "isneginf": ("", WIDE), "signbit": ("", WIDE),
    "logical_not": ("", (-1.0, 1.0)),
    "asin": ("arcsin", UNIT), "acos": ("arccos", UNIT),
    "atan": ("arctan", WIDE), "sinh": ("", WIDE), "cosh": ("", WIDE),
    "asinh": ("arcsinh", WIDE), "acosh": ("arccosh", (1.125, 6.0)),
    "atanh": ("arctanh", UNIT), "erfc": ("", WIDE), "round": ("", WIDE),
    "frac": ("", WIDE), "selu": ("Functional.selu", WIDE),
}
# Of torch.nn.functional: what follows the element, and numbers for it.
ACTIVATIONS = {
    "relu": [{}], "silu": [{}], "gelu": [{}, {"approximate": "tanh"},
                                         {"approximate": "none"}],
    "sigmoid": [{}], "tanh": [{}],
    "leaky_relu": [{}, {"negative_slope": 0.25}, {"negative_slope": 0.1}],
    "relu6": [{}], "elu": [{}, {"alpha": 0.5}, {"alpha": 1.3}],
    "selu": [{}], "celu": [{}, {"alpha": 0.5}, {"alpha": 1.25}], "mish": [{}],
    "softplus": [{}, {"beta": 2}, {"beta": 0.5, "threshold": 1}],
    "hardswish": [{}], "hardsigmoid": [{}],
    "hardtanh": [{}, {"min_val": -0.5, "max_val": 2.0}], "logsigmoid": [{}],
    "softsign": [{}], "tanhshrink": [{}],
    "hardshrink": [{}, {"lambd": 1.0}], "softshrink": [{}, {"lambd": 1.0}],
    "threshold": [{"threshold": 0.5, "value": -1.0},
                  {"threshold": 1.0, "value": 20.0}],
}
# The node behind them is that of the last of several operators.
OF_SEVERAL = {"softsign", "tanhshrink"}
NO_INPLACE = {"gelu", "sigmoid", "tanh", "softplus", "logsigmoid", "softsign",
              "tanhshrink", "hardshrink", "softshrink", "mish", "relu6"}
TWO = {
    "add": ("Tensor.__add__ Tensor.__iadd__ Tensor.add_ Tensor.add"
            " Tensor.__radd__", WIDE),
    "sub": ("Torch.subtract Tensor.__sub__ Tensor.__isub__ Tensor.sub_", WIDE),
    "mul": ("Torch.multiply Tensor.__mul__ Tensor.__imul__ Tensor.mul_"
            " Tensor.__rmul__", WIDE),
    "div": ("Torch.divide Torch.true_divide Tensor.__truediv__"
            " Tensor.__itruediv__ Tensor.div_", POSITIVE),
    "floor_divide": ("Tensor.__floordiv__ Tensor.floor_divide_", POSITIVE),
    "pow": ("Tensor.__pow__ Tensor.__ipow__ Tensor.pow_", POSITIVE),
    "maximum": ("", WIDE), "minimum": ("", WIDE),
    "fmax": ("", WIDE), "fmin": ("", WIDE),
    "remainder": ("Tensor.__mod__ Tensor.remainder_", POSITIVE),
    "fmod": ("Tensor.fmod_", POSITIVE),
    "atan2": ("Torch.arctan2 Tensor.atan2_", POSITIVE),
    "hypot": ("", POSITIVE), "logaddexp": ("", WIDE),
    "eq": ("Tensor.__eq__", WIDE), "ne": ("Tensor.__ne__ Torch.not_equal",
                                          WIDE),
    "lt": ("Tensor.__lt__ Torch.less", WIDE),
    "le": ("Tensor.__le__ Torch.less_equal", WIDE),
    "gt": ("Tensor.__gt__ Torch.greater", WIDE),
    "ge": ("Tensor.__ge__ Torch.greater_equal", WIDE),
    "logical_and": ("", (-1.0, 1.0)), "logical_or": ("", (-1.0, 1.0)),
    "logical_xor": ("", (-1.0, 1.0)),
}
TENSORS_ONLY = {"maximum", "minimum", "fmax", "fmin", "atan2", "hypot",
                "logaddexp", "logical_and", "logical_or", "logical_xor"}
NOT_IN_PLACE = {"isnan", "isinf", "isfinite", "logical_not", "isposinf",
                "isneginf", "signbit"}


def one(v):
    for name, (others, (low, high)) in ONE.items():
        step = 1.0 if name == "logical_not" else 0.125
        for shape in SHAPES:
            v.call(f"Torch.{name}", v.real(*shape, low=low, high=high,
                                           step=step))
        for other in ([f"Tensor.{name}"] if name != "selu" else []) + [
                o if "." in o else f"Torch.{o}" for o in others.split()]:
            v.call(other, v.real(2, 3, low=low, high=high))
        if name not in NOT_IN_PLACE and name != "selu":
            v.call(f"Tensor.{name}_", v.real(4, low=low, high=high))
        for _ in range(9):
            v.call(f"Torch.{name}", v.real(2, 2, low=low, high=high))
        v.call(f"Torch.{name}", v.special(1.0, -1.0, 0.5))
        v.call(f"Torch.{name}", v.special(300.0, -300.0, 1e-300, 1e300))
        v.call(f"Torch.{name}", v.real(3, grad=False, low=low, high=high))


def activations(v):
    for name, forms in ACTIVATIONS.items():
        api, ok = f"Functional.{name}", name not in OF_SEVERAL
        for form in forms:
            for shape in SHAPES:
                v.call(api, v.real(*shape), backward=ok, **form)
            v.call(api, v.special(1.0, -1.0, 0.5, 3.0, -3.0, 6.0), backward=ok,
                   **form)
            v.call(api, v.special(30.0, -30.0, 1e-300, 800.0, -800.0),
                   backward=ok, **form)
            v.call(api, v.real(16, low=-8, high=8, step=1), backward=ok, **form)
            v.call(api, v.real(2, 3), *form.values(), backward=ok
                   ) if form and name != "gelu" else None
            if name not in NO_INPLACE:
                v.call(api, v.real(5), inplace=True, backward=ok, **form)
        for _ in range(20 - 11 * len(forms)):
            v.call(api, v.real(2, 2), backward=ok, **forms[0])
    for shape in SHAPES:
        v.call("Functional.prelu", v.real(*shape), v.real(1))
        v.call("Torch.prelu", v.real(*shape), weight=v.real(1))
        if len(shape) > 1:
            v.call("Functional.prelu", v.real(*shape), v.real(shape[1]))
            for axis in range(len(shape)):
                x = v.real(*[2 * n for n in shape])
                v.call("Functional.glu", x, axis)
                v.call("Functional.glu", x, dim=axis - len(shape))
            v.call("Functional.glu", v.real(*shape[:-1], 4))
    v.call("Functional.prelu", v.special(), v.real(1))
    v.call("Functional.prelu", v.special(1.0).reshape(2, 3), v.special(
        )[:3].detach().requires_grad_())
    v.call("Functional.glu", v.special(1.0), 0)
    for _ in range(3):
        v.call("Tensor.sigmoid_", v.real(4))
        v.call("Torch.sigmoid", v.real(4))
        v.call("Functional.hardtanh_", v.real(4))
        v.call("Functional.leaky_relu_", v.real(4), 0.2)
        v.call("Functional.elu_", v.real(4))
        v.call("Functional.relu_", v.real(4))
        v.call("Tensor.relu", v.real(4))


def two(v):
    for name, (others, (low, high)) in TWO.items():
        step = 1.0 if name.startswith("logical") else 0.125

        def draw(*shape, grad=True):
            return v.real(*shape, low=low, high=high, step=step, grad=grad)
        for a, b in PAIRS:
            v.call(f"Torch.{name}", draw(*a), draw(*b))
        v.call(f"Torch.{name}", draw(2, 3), draw(3, grad=False))
        v.call(f"Torch.{name}", draw(3, grad=False), draw(2, 3))
        v.call(f"Torch.{name}", v.special(1.0, -1.0, 2.0),
               v.special(0.0, 3.0, -2.0))
        v.call(f"Torch.{name}", v.special(1.0, -1.0, 2.0), draw(8))
        v.call(f"Torch.{name}", draw(8), v.special(1.0, -1.0, 2.0))
        for scalar in SCALARS if name not in TENSORS_ONLY else []:
            v.call(f"Torch.{name}", draw(4), scalar)
        for other in others.split():
            v.call(other, draw(2, 3), draw(2, 3, grad=False))
            v.call(other, draw(2, 3), draw(3))
            if name not in TENSORS_ONLY:
                v.call(other, draw(3), 0.5)
        for _ in range(6):
            v.call(f"Torch.{name}", draw(2, 2), draw(2, 2))
    for a, b in PAIRS:
        v.call("Torch.add", v.real(*a), v.real(*b), alpha=0.5)
        v.call("Torch.sub", v.real(*a), v.real(*b), alpha=0.3)
        v.call("Torch.rsub", v.real(*a), v.real(*b), alpha=2)
        v.call("Torch.div", v.real(*a), v.real(*b, low=0.5),
               rounding_mode="floor")
        v.call("Torch.div", v.real(*a), v.real(*b, low=0.5),
               rounding_mode="trunc")
        v.call("Tensor.__rpow__", v.real(*a), v.real(*b, low=0.25, grad=False
                                                     ).detach(), backward=False)
    for scalar in SCALARS:
        v.call("Torch.add", v.real(3), scalar, alpha=0.5)
        v.call("Tensor.__rsub__", v.real(2, 3), scalar)
        v.call("Torch.rsub", v.real(3), scalar)
        v.call("Tensor.add_", v.real(3), v.real(3), alpha=scalar)
    for i in range(24):
        v.call("Tensor.__rtruediv__", v.real(*SHAPES[i % 8], low=0.25),
               SCALARS[i % 6])
        v.call("Tensor.__rdiv__", v.real(*SHAPES[i % 8], low=0.25),
               SCALARS[i % 6])
        v.call("Tensor.__rpow__", v.real(*SHAPES[i % 8]),
               abs(SCALARS[i % 6]))
        v.call("Tensor.__rfloordiv__", v.real(3, low=0.25, grad=False),
               SCALARS[i % 6])
        v.call("Tensor.__rmod__", v.real(3, low=0.25, grad=False),
               SCALARS[i % 6])
        v.call("Torch.pow", v.real(4), i % 5 - 1)
        v.call("Torch.pow", v.special(1.0, -2.0), i % 5 - 1)


def bits(v):
    for name, dunder in (("bitwise_and", "__and__"), ("bitwise_or", "__or__"),
                         ("bitwise_xor", "__xor__")):
        for a, b in PAIRS:
            v.call(f"Torch.{name}", v.whole(*a, low=-9, high=9),
                   v.whole(*b, low=-9, high=9))
            v.call(f"Tensor.{dunder}", v.flags(*a), v.flags(*b))
    for i in range(4):
        v.call("Tensor.__ror__", v.whole(3, high=9), i)
        v.call("Tensor.__rxor__", v.whole(3, high=9), i)
    for shape in SHAPES * 2:
        v.call("Torch.bitwise_not", v.whole(*shape, low=-9, high=9))
        v.call("Tensor.__invert__", v.flags(*shape))


def three(v):
    triples = [((2, 3), (2, 3), (2, 3)), ((2, 1), (1, 3), (3,)),
               ((), (), ()), ((3,), (1,), ()), ((0,), (0,), (0,)),
               ((2, 2), (2,), (1, 1)), ((1, 3), (2, 1, 1), (3,))]
    for a, b, c in triples:
        for value in (1, 0.5, -0.3):
            v.call("Torch.addcmul", v.real(*a), v.real(*b), v.real(*c),
                   value=value)
            v.call("Torch.addcdiv", v.real(*a), v.real(*b),
                   v.real(*c, low=0.25), value=value)
            v.call("Torch.lerp", v.real(*a), v.real(*b), value)
        v.call("Torch.lerp", v.real(*a), v.real(*b), v.real(*c))
        v.call("Torch.addcmul", v.real(*a), v.real(*b), v.real(*c))
        v.call("Torch.addcdiv", v.real(*a), v.real(*b), v.real(*c, low=0.25))
        for _ in range(2):
            v.call("Torch.where", v.flags(*a), v.real(*b), v.real(*c))
        v.call("Torch.where", v.flags(*a), v.real(*b), 0.5)
        v.call("Torch.clamp", v.real(*a), v.real(*b), v.real(*c))
        v.call("Torch.clamp", v.real(*a), min=v.real(*b))
        v.call("Torch.clamp_min", v.real(*a), v.real(*b))
        v.call("Torch.clamp_max", v.real(*a), v.real(*b))
    for i, shape in enumerate(SHAPES * 3):
        fill = [0.5, float("-inf"), -1e9, 2][i % 4]
        v.call("Tensor.masked_fill", v.real(2, *shape), v.flags(*shape), fill)
        v.call("Tensor.masked_fill_", v.real(*shape), v.flags(*shape), fill)
        v.call("Torch.masked_fill", v.real(*shape), v.flags(*shape), v.real())
        v.call("Torch.clamp", v.real(*shape), -1.0, 2.0)
        v.call("Torch.clamp", v.real(*shape), max=1)
        v.call("Tensor.clamp_", v.real(*shape), min=-0.5)
        v.call("Tensor.clamp_min_", v.real(*shape), 0.5)
        v.call("Tensor.clamp_max", v.real(*shape), 0.5)
        v.call("Tensor.fill_", v.real(*shape, grad=False), fill)
    v.call("Torch.where", v.flags(8), v.special(1.0, 2.0, 3.0),
           v.special(1.0, 2.0, 3.0))
    v.call("Torch.clamp", v.special(1.0, -1.0), -0.5, 0.5)
    v.call("Torch.clip", v.real(2, 3), -0.5, 0.5)
    v.call("Tensor.clip_", v.real(2, 3), max=0.5)
    v.call("Torch.clamp_min", v.special(1.0, -1.0), 0.0)
    v.call("Tensor.addcmul_", v.real(3), v.real(3), v.real(3), value=0.001)
    v.call("Tensor.addcdiv_", v.real(3), v.real(3), v.real(3, low=0.5),
           value=-0.001)


def numbers(v):
    """nan_to_num: what is none becomes one."""
    for shape in ((), (1,), (5,), (2, 3), (0,), (2, 0)):
        v.call("Torch.nan_to_num", v.real(*shape))
        v.call("Tensor.nan_to_num", v.real(*shape), 0.5)
    for i in range(4):
        v.call("Torch.nan_to_num", v.special(0.5 * i))
        v.call("Torch.nan_to_num", v.special(0.5 * i), 1.5)
        v.call("Torch.nan_to_num", v.special(0.5 * i), nan=-2.0, posinf=8.0)
        v.call("Tensor.nan_to_num", v.special(0.5 * i), 0.0, 1e4, -1e4)
        v.call("Tensor.nan_to_num", v.special(0.5 * i), neginf=-1.0)
    v.call("Tensor.nan_to_num_", v.special(3.0), backward=False)
    v.call("Torch.nan_to_num", v.special(3.0), None, None, None)
    v.call("Torch.nan_to_num", v.whole(4))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        v.call("Torch.nan_to_num", v.special(1.0, grad=False).to(dtype))


def make(v):
    one(v)
    activations(v)
    two(v)
    bits(v)
    three(v)
    numbers(v)

# SPDX-License-Identifier: MIT
"""Plants mistakes in what torch computes, and counts how replay tells them.

    python3 tests/oracle/replay_plants.py TPROF FOLDER [SEED]

Each operator is called in float32, bfloat16 and float16, with short and with
long sums, twice: once as it is, once with a mistake that stays only if it is
above three roundings of the dtype, by norms, of the right result. The operands
are random with SEED. Dumped as msprobe does, and replayed by TPROF. Of mistakes
it counts: right (found, with a class that is true of it), unnamed (found, no
cause named), narrow (told as fewer bits, no cause named), other (found, a cause
that is not this), missed; and results as they are that are called wrong.
Prints all but the right ones; fails if one was called what it is not.
"""
import json
import os
import subprocess
import sys

import h5py
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import replay_false  # noqa: E402

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
LENGTHS = (16, 64, 1024, 4096)
ROUNDING = {torch.float32: 2.0 ** -24, torch.bfloat16: 2.0 ** -9,
            torch.float16: 2.0 ** -11}


def wide(function):
    """What a device gives: in float32, rounded once."""
    def run(*args, **kwargs):
        up = [a.float() if isinstance(a, torch.Tensor)
              and a.is_floating_point() else a for a in args]
        return function(*up, **kwargs).to(args[0].dtype)
    return run


def narrow_sums(x, w, step=32):
    """x w^T whose sum is rounded to fp16 after each `step` products."""
    total = torch.zeros(x.shape[0], w.shape[0])
    for i in range(0, x.shape[1], step):
        total = (total + x[:, i:i + step].float()
                 @ w[:, i:i + step].float().t()).half().float()
    return total.to(x.dtype)


def fewer(x, w, bias=None):
    keep = x.shape[1] * 3 // 4
    return wide(F.linear)(x[:, :keep], w[:, :keep],
                          *(() if bias is None else (bias,)))


def calls(k, dtype, rand):
    """(api, args, kwargs, {mistake: (result, classes)}) of calls."""
    n = 24
    x, w, b = rand(n, k), rand(n, k) / k ** 0.5, rand(n)
    old = rand(n, k)
    square = rand(n, n)
    linear, mm = wide(F.linear), wide(torch.matmul)
    yield "Functional.linear", (x, w, b), {}, {
        "no_bias": (linear(x, w), {"no_bias"}),
        "lost": (fewer(x, w, b), {"lost"}),
        "fp16_sums": (narrow_sums(x, w) + b, {"steps"}),
        "stale": (linear(old, w, b), set()),
    }, linear(x, w, b)
    yield "Functional.linear", (x, w), {}, {
        "lost": (fewer(x, w), {"lost"}),
        "fp16_sums": (narrow_sums(x, w), {"steps"}),
        "stale": (linear(old, w), set()),
    }, linear(x, w)
    y = w.t().contiguous()
    for api, first in (("Torch.matmul", x), ("Torch.mm", x)):
        yield api, (first, y), {}, {
            "lost": (fewer(x, w), {"lost"}),
            "fp16_sums": (narrow_sums(x, w), {"steps"}),
        }, mm(first, y)
    yield "Torch.matmul", (square, square.t().contiguous()), {}, {
        "transposed": (mm(square, square), {"transposed"}),
    }, mm(square, square.t())
    yield "Functional.linear", (square, rand(n, n)), {}, None, None
    g, c = 1 + rand(k) / 8, rand(k)
    small = x / 8
    norm = wide(lambda t, u, v, eps: F.layer_norm(t, (k,), u, v, eps))
    wrong = {f"eps{e:g}": (norm(small, g, c, e), {"eps"})
             for e in (1e-3, 1e-2, 1e-1)}
    wrong["no_bias"] = (norm(small, g, 0 * c, 1e-5), {"no_bias"})
    yield "Functional.layer_norm", (small, torch.Size([k]), g, c, 1e-5), {}, \
        wrong, norm(small, g, c, 1e-5)
    rms = wide(lambda t, u, eps: F.rms_norm(t, (k,), u, eps))
    tiny = x / 64
    yield "Functional.rms_norm", (tiny, torch.Size([k]), g, 1e-6), {}, {
        "eps1e-4": (rms(tiny, g, 1e-4), {"eps"}),
    }, rms(tiny, g, 1e-6)
    for api, f in (("Functional.softmax", F.softmax),
                   ("Functional.log_softmax", F.log_softmax)):
        f = wide(lambda t, f=f, dim=-1: f(t, dim=dim))
        yield api, (x,), {"dim": -1}, {
            "dim": (f(x, dim=0), {"dim"})}, f(x)
    q, key, v = (rand(1, 2, k // 8 + 4, 32) for _ in range(3))
    sdpa = wide(F.scaled_dot_product_attention)
    yield "Functional.scaled_dot_product_attention", (q, key, v), {
        "is_causal": True}, {
            "no_mask": (sdpa(q, key, v), {"mask"})}, sdpa(
                q, key, v, is_causal=True)
    yield "Functional.scaled_dot_product_attention", (q, key, v), {}, {
        "scale1": (sdpa(q, key, v, scale=1.0), {"formula"}),
        "causal": (sdpa(q, key, v, is_causal=True), {"mask"})}, sdpa(q, key, v)
    target = torch.randint(0, k, (n,))
    yield "Functional.cross_entropy", (x, target), {"reduction": "none"}, {
        "smoothing": (wide(lambda t, i: F.cross_entropy(
            t, i, reduction="none", label_smoothing=0.1))(x, target),
            {"formula"})}, wide(lambda t, i: F.cross_entropy(
                t, i, reduction="none"))(x, target)
    img, ker, kb = rand(2, 4, 9, 9), rand(6, 4, 3, 3), rand(6)
    conv = wide(F.conv2d)
    yield "Functional.conv2d", (img, ker, kb), {}, {
        "no_bias": (conv(img, ker), {"no_bias"})}, conv(img, ker, kb)
    third, other = rand(n, n), rand(n, n)
    addmm = wide(torch.addmm)
    yield "Torch.addmm", (third, square, other), {}, {
        "transposed": (addmm(third, square, other.t()), {"transposed"}),
        "no_input": (mm(square, other), {"no_bias"})}, addmm(
            third, square, other)
    p3, q3 = rand(3, n, n), rand(3, n, n)
    yield "Torch.bmm", (p3, q3), {}, {
        "transposed": (mm(p3, q3.transpose(1, 2)), {"transposed"})}, mm(p3, q3)
    for api in ("Torch.sum", "Torch.mean"):
        f = wide(lambda t, dim, f=getattr(torch, api[6:]): f(t, dim=dim))
        yield api, (x,), {"dim": -1}, {}, f(x, -1)
    for name in ("exp", "tanh", "sigmoid", "sqrt", "rsqrt", "log", "sin",
                 "cos", "abs", "square", "erf", "neg", "floor", "log1p",
                 "expm1", "reciprocal"):
        f = wide(getattr(torch, name))
        a = x.abs() + 0.5
        yield f"Torch.{name}", (a,), {}, {}, f(a)
    for name in ("relu", "silu", "gelu", "softplus", "elu", "leaky_relu",
                 "hardswish", "mish", "selu", "logsigmoid"):
        f = wide(getattr(F, name))
        yield f"Functional.{name}", (x,), {}, {}, f(x)
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        f = wide(getattr(torch, name))
        a, o = x, old.abs() + 0.5
        yield f"Torch.{name}", (a, o), {}, {
            # where the other operand decides, it is right
            "stale": (f(rand(n, k), o), {"region"} if name == "maximum"
                      else set())}, f(a, o)


def tile(right):
    result = right.clone()
    flat = result.view(-1)
    size = max(1, flat.numel() // 16)
    start = flat.numel() // 3
    flat[start:start + size] = (
        torch.randn(size) * right.float().abs().max() * 3).to(right.dtype)
    return result


def everywhere(right):
    """Mistakes that any result may have."""
    yield "tile", tile(right), {"region"}
    for factor in (1.02, 1.05, 0.945, 2.0):
        yield f"x{factor}", (right.float() * factor).to(right.dtype), {"scale"}


def above(right, wrong, dtype):
    a, b = right.double(), wrong.double()
    off, size = (a - b).norm(), a.norm()
    return off > 3 * ROUNDING[dtype] * 2 * size


def main():
    tprof, folder = sys.argv[1], sys.argv[2]
    torch.manual_seed(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    dump = replay_false.Dump(folder, "plants", 1)
    planted = {}
    for step, (k, dtype) in enumerate(
            (k, d) for k in LENGTHS for d in DTYPES):
        data = os.path.join(folder, f"step{step}", "proc1", "dump_tensor_data")
        os.makedirs(data, exist_ok=True)
        entries = {}
        dump.numbers.clear()

        def put(api, args, kwargs, result, what):
            number = dump.numbers.get(api, 0)
            dump.numbers[api] = number + 1
            key = f"{api}.{number}.forward"
            entries[key] = {
                "input_args": [dump.entry(data, f"{key}.input.{i}", v)
                               for i, v in enumerate(args)],
                "input_kwargs": {n: dump.entry(data, f"{key}.input.{n}", v)
                                 for n, v in kwargs.items()},
                "output": [dump.entry(data, f"{key}.output.0", result)]}
            planted[step, key] = what

        def rand(*shape):
            return torch.randn(*shape).to(dtype)

        for api, args, kwargs, mistakes, right in calls(k, dtype, rand):
            if mistakes is None:
                continue
            put(api, args, kwargs, right, None)
            all_of = [(n, *m) for n, m in mistakes.items()]
            all_of += list(everywhere(right))
            for name, wrong, classes in all_of:
                if above(right, wrong, dtype):
                    put(api, args, kwargs, wrong,
                        (f"{name} {str(dtype)[6:]} K={k}", classes))
        with open(os.path.join(folder, f"step{step}", "proc1", "dump.json"),
                  "w") as file:
            json.dump({"task": "tensor", "level": "L1", "framework": "pytorch",
                       "dump_data_dir": data, "data": entries}, file)
    out = os.path.join(folder, "out")
    subprocess.run([tprof, "replay", folder, "--output_dir", out,
                    "--no_plots"], stdout=subprocess.DEVNULL)
    return judge(os.path.join(out, "replay.h5"), planted)


def judge(path, planted):
    counts = {}
    with h5py.File(path) as file:
        for row in file["replay"][:]:
            text = {k: row[k].decode() for k in
                    ("judgement", "api_name", "cause")}
            what = planted[int(row["step"]), text["api_name"]]
            found, cause = text["judgement"] == "wrong", text["cause"]
            if what is None:
                kind = "false alarm" if found else "silent"
            elif not found:
                kind = text["judgement"] == "narrow" and "narrow" or "missed"
            elif cause in what[1]:
                kind = "right"
            else:
                kind = ("unnamed" if cause in ("", "nothing", "unlike")
                        else "other")
            counts[kind] = counts.get(kind, 0) + 1
            if kind not in ("right", "silent"):
                print(kind, text["api_name"], what and what[0], cause,
                      "%.3g" % row["excess"], "%.3g" % row["error"])
    print(counts)
    return any(k in counts for k in ("other", "false alarm"))


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/replay: calls of torch's operators as msprobe dumps them.

Usage: make_replay_calls.py FOLDER [SEED LARGE], with torch and
mindstudio-probe installed. Every operator is called with random tensors: step
0 has what moves values and losses in float32, step 1 what is elementwise in
bfloat16, step 2 products in float16, step 3 reductions in float64. With a seed
every step has all of them, and sizes are LARGE times as large: a check of the
bounds, not kept.
"""

import json
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from msprobe.pytorch import PrecisionDebugger, seed_all

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_msprobe_dump import forget_places  # noqa: E402

DTYPES = {torch.float32: "norms movement", torch.bfloat16: "elementwise",
          torch.float16: "products", torch.float64: "reductions"}


def elementwise(t, u, p):
    """Of one, two and three tensors; p is positive."""
    torch.add(t, u)
    torch.sub(t, u, alpha=0.3)
    torch.rsub(t, 1.5)
    torch.mul(t, u[0])
    torch.div(t, p)
    torch.div(t, p, rounding_mode="floor")
    torch.pow(p, 2.5)
    torch.pow(t, 2)
    torch.maximum(t, u)
    torch.remainder(t, p)
    torch.lerp(t, u, 0.25)
    torch.addcmul(t, u, p, value=0.1)
    torch.addcdiv(t, u, p, value=-0.1)
    torch.where(t > u, t, u)
    torch.clamp(t, -0.5, 0.5)
    for name in ("abs square exp expm1 sin cos tanh erf sigmoid floor neg"
                 " isnan").split():
        getattr(torch, name)(t)
    for name in "sqrt rsqrt log log1p reciprocal".split():
        getattr(torch, name)(p)
    for name in "eq le gt".split():
        getattr(torch, name)(t, u)
    t + 0.1, 0.1 - t, 2 / p, t / 7
    v = t.clone()
    v += u
    v *= 0.1
    v /= 3
    v.mul_(u).add_(t, alpha=0.7)
    F.relu(t), F.silu(t), F.gelu(t), F.gelu(t, approximate="tanh")


def products(rand, n, m, k):
    F.linear(rand(2, n, k), rand(m, k), rand(m))
    F.linear(rand(n, k), rand(m, k))
    torch.matmul(rand(2, 1, n, k), rand(3, k, m))
    torch.matmul(rand(k), rand(k))
    torch.matmul(rand(n, k), rand(k))
    torch.mm(rand(n, k), rand(k, m))
    torch.bmm(rand(2, n, k), rand(2, k, m))
    torch.addmm(rand(m), rand(n, k), rand(k, m), beta=0.5, alpha=2)
    torch.baddbmm(rand(2, n, m), rand(2, n, k), rand(2, k, m), alpha=0.3)
    F.conv1d(rand(2, 4, 3 * n), rand(6, 2, 3), rand(6), padding=1, groups=2)
    F.conv2d(rand(2, 3, n + 3, m + 3), rand(4, 3, 3, 2), rand(4), stride=2,
             padding=(1, 0), dilation=2)
    F.conv2d(rand(1, 3, n, m), rand(4, 3, 3, 3), padding="same")
    q, kv = rand(1, 4, n, 8), rand(1, 2, m, 8)
    F.scaled_dot_product_attention(q, q, q, is_causal=True)
    F.scaled_dot_product_attention(q, rand(1, 4, m, 8), rand(1, 4, m, 8),
                                   attn_mask=rand(n, m), scale=0.2)
    F.scaled_dot_product_attention(q, kv, kv, enable_gqa=True)


def norms(rand, n, k):
    x = rand(2, n, k) + 3
    F.layer_norm(x, (k,), rand(k), rand(k), 1e-5)
    F.layer_norm(rand(n, k), [n, k])
    F.rms_norm(x, (k,), rand(k), 1e-6)
    F.group_norm(rand(2, 6, n), 3, rand(6), rand(6))
    F.batch_norm(rand(4, 3, n), rand(3), rand(3).abs() + 1, rand(3), rand(3),
                 True, 0.1, 1e-5)
    F.batch_norm(rand(4, 3, n), rand(3), rand(3).abs() + 1, rand(3), rand(3),
                 False, 0.1, 1e-3)
    F.softmax(x * 3, -1)
    torch.softmax(x, 1)
    torch.softmax(x, 1, dtype=torch.float32)
    F.log_softmax(x * 3, dim=0)
    target = torch.arange(n) % k
    F.cross_entropy(rand(n, k), target)
    F.cross_entropy(rand(n, k), target, weight=rand(k).abs(),
                    label_smoothing=0.1, ignore_index=1)
    F.cross_entropy(rand(n, k), target, reduction="none")
    F.nll_loss(rand(n, k), target, reduction="sum")
    F.mse_loss(rand(n, k), rand(n, k))
    F.l1_loss(rand(n, k), rand(n, k), reduction="sum")


def reductions(x):
    x.sum()
    torch.sum(x, (0, 2))
    x.sum(-1, keepdim=True)
    x.mean()
    torch.mean(x, dim=[1], keepdim=True)
    x.max(), x.min(), torch.max(x, 1), torch.min(x, dim=-1, keepdim=True)
    torch.amax(x, (0, 1)), torch.max(x, -x)
    torch.norm(x), torch.norm(x, 1), torch.norm(x, float("inf"))
    torch.norm(x, 3.0, dim=1)
    x.var(), torch.var(x, 1), torch.std(x, dim=(0, 1), unbiased=False)
    torch.cumsum(x, 1)
    torch.logsumexp(x, -1)
    (x > 0).all(), torch.any(x > 0, 1), (x > 0).sum()


def movement(x, index):
    x.reshape(-1, x.shape[-1]), torch.flatten(x, 1), x.transpose(0, 2)
    torch.permute(x, (2, 0, 1)), x.permute(1, 0, 2), x.unsqueeze(1).expand(
        -1, 3, -1, -1), x.repeat(2, 1, 2)
    torch.cat([x, x[:1], -x]), torch.cat((x, x), dim=-1), torch.stack(
        [x, x * 2], 1)
    torch.split(x, 2, dim=1), x.chunk(3, -1), x.unbind(1)
    x.to(torch.float64), x.float(), x.half(), x.type_as(index), x.bfloat16()
    x.masked_fill(x > 0, float("-inf")), torch.tril(x), torch.triu(x, 1)
    torch.index_select(x, 1, index), torch.gather(
        x, 2, index.expand(x.shape[0], x.shape[1], -1))
    F.embedding(index, x[0]), torch.topk(x, 2), torch.sort(x, 1)
    torch.narrow(x, 1, 1, 2), torch.select(x, 2, -1)
    F.max_pool2d(x.unsqueeze(0), 2, 1, 1), F.adaptive_avg_pool2d(x, 3)
    torch.arange(0, 3, 0.5), torch.ones_like(x), torch.full((2, 2), 7.0)


def calls(dtype, scale, wanted):
    def rand(*shape):
        return torch.randn(*shape, dtype=torch.float64).to(dtype)

    k = 5 * scale
    if "elementwise" in wanted:
        elementwise(rand(4, k), rand(4, k), rand(4, k).abs() + 0.25)
    if "products" in wanted:
        products(rand, 3 * scale, 4 * scale, 9 * scale)
    if "norms" in wanted:
        norms(rand, 4 * scale, k)
    if "reductions" in wanted:
        reductions(rand(3, 4, k))
    if "movement" in wanted:
        movement(rand(3, 4, k), torch.tensor([0, 3, 1, 1]))


def main():
    folder = os.path.abspath(sys.argv[1])
    seed, scale = [int(x) for x in sys.argv[2:4]] or [1234, 1]
    everything = " ".join(DTYPES.values()) if len(sys.argv) > 2 else ""
    config = {"task": "tensor", "dump_path": folder, "rank": [], "step": [],
              "level": "L1", "risk_level": "ALL", "extra_info": False,
              "tensor": {"scope": [], "list": [], "data_mode": ["all"],
                         "summary_mode": "statistics"}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        seed_all(seed)
        debugger = PrecisionDebugger(config_path=file.name)
        for dtype, wanted in DTYPES.items():
            debugger.start()
            calls(dtype, scale, everything or wanted)
            debugger.stop()
            debugger.step()
    forget_places(folder)


if __name__ == "__main__":
    main()

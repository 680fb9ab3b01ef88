# SPDX-License-Identifier: MIT
"""Fused operators of torch_npu, as compositions in torch by what their
documentation says (github.com/Ascend/op-plugin, docs/context); each has one
node with the gradients of all its tensors."""

import torch

from op_vectors import NPU


class Whole(torch.autograd.Function):
    """One node for a composition."""

    @staticmethod
    def forward(ctx, function, *tensors):
        ctx.function = function
        ctx.save_for_backward(*tensors)
        return function(*tensors)

    @staticmethod
    def backward(ctx, *given):
        leaves = [t.detach().requires_grad_(t.requires_grad)
                  for t in ctx.saved_tensors]
        with torch.enable_grad():
            out = ctx.function(*leaves)
        out = out if isinstance(out, tuple) else (out,)
        wanted = [x for x in leaves if x.requires_grad]
        grads = iter(torch.autograd.grad(out, wanted, given,
                                         allow_unused=True))
        return (None, *(next(grads) if x.requires_grad else None
                        for x in leaves))


def npu_rotary_mul(x, r1, r2, rotary_mode="half"):
    def turn(x, r1, r2):
        if rotary_mode == "half":
            a, b = torch.chunk(x, 2, -1)
            turned = torch.cat((-b, a), -1)
        else:
            turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(
                x.shape)
        return r1 * x + r2 * turned
    return Whole.apply(turn, x, r1, r2)


def npu_swiglu(x, dim=-1):
    def gate(x):
        a, b = torch.chunk(x, 2, dim)
        return torch.nn.functional.silu(a) * b
    return Whole.apply(gate, x)


def npu_scaled_masked_softmax(x, mask, scale=1.0, fixed_triu_mask=False):
    if fixed_triu_mask:
        mask = torch.triu(torch.ones(mask.shape), 1) > 0
    return Whole.apply(lambda x: torch.softmax(
        (x * scale).masked_fill(mask, -10000), -1), x)


def npu_rms_norm(x, gamma, epsilon=1e-6):
    axes = tuple(range(x.dim() - gamma.dim(), x.dim()))

    def norm(x, gamma):
        root = torch.rsqrt((x * x).mean(axes, keepdim=True) + epsilon)
        return x * root * gamma
    with torch.no_grad():
        root = torch.rsqrt((x * x).mean(axes, keepdim=True) + epsilon)
    return Whole.apply(norm, x, gamma), root


def heads_first(x, layout, heads):
    """[B, N, S, D] of what a layout has."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "SBH":
        x = x.transpose(0, 1)
    b, s, h = x.shape
    return x.reshape(b, s, heads, h // heads).transpose(1, 2)


def layout_again(x, layout):
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2)
    if layout == "BSND":
        return x
    x = x.flatten(2)
    return x.transpose(0, 1) if layout == "SBH" else x


def npu_fusion_attention(query, key, value, head_num, input_layout, pse=None,
                         padding_mask=None, atten_mask=None, scale=1.0,
                         keep_prob=1.0, pre_tockens=2147483647,
                         next_tockens=2147483647, actual_seq_qlen=None,
                         actual_seq_kvlen=None, sparse_mode=0):
    if input_layout == "TND":
        def packed(q, k, u):
            done, r, c = [], 0, 0
            for row, key in zip(actual_seq_qlen, actual_seq_kvlen):
                a, b, d = (x.unsqueeze(0) for x in (
                    q[r:row], k[c:key], u[c:key]))
                done.append(composed(a, b, d, head_num, "BSND", None, None,
                                     scale, sparse_mode)[0])
                r, c = row, key
            return torch.cat(done)
        return Whole.apply(packed, query, key, value)
    return Whole.apply(lambda q, k, u: composed(
        q, k, u, head_num, input_layout, pse, atten_mask, scale, sparse_mode),
        query, key, value)


def composed(query, key, value, head_num, input_layout, pse, atten_mask,
             scale, sparse_mode):
    def attention(q, k, u):
        q = heads_first(q, input_layout, head_num)
        width = q.shape[-1]
        own = (key.shape[-1] // width if len(input_layout) == 3 else
               key.shape[1 if input_layout == "BNSD" else 2])
        k = heads_first(k, input_layout, own)
        u = heads_first(u, input_layout, own)
        k = k.repeat_interleave(head_num // own, 1)
        u = u.repeat_interleave(head_num // own, 1)
        scores = q @ k.transpose(-1, -2)
        if pse is not None:
            scores = scores + pse
        scores = scores * scale
        rows, keys = scores.shape[-2:]
        if sparse_mode in (2, 3):
            ahead = keys - rows if sparse_mode == 3 else 0
            hidden = torch.triu(torch.ones(rows, keys), 1 + ahead) > 0
        else:
            hidden = atten_mask
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        return layout_again(torch.softmax(scores, -1) @ u, input_layout)
    return attention(query, key, value)


def npu_grouped_matmul(x, weight, bias=None, group_list=None, split_item=0,
                       group_type=-1, group_list_type=0):
    sizes = [len(x), len(weight)]
    if group_type == 2:
        ends = list(group_list)
        if group_list_type == 1:
            ends = torch.tensor(ends).cumsum(0).tolist()
        parts = list(zip([0] + [int(end) for end in ends], ends))
        return [Whole.apply(lambda a, b: torch.stack(
            [a[:, i:j] @ b[i:j] for i, j in parts]), *x, *weight)]

    def products(*all):
        xs, ws = all[:sizes[0]], all[sizes[0]:sum(sizes)]
        bs = all[sum(sizes):]
        ws = list(ws[0]) if len(ws) == 1 and ws[0].dim() == 3 else ws
        bs = list(bs[0]) if len(bs) == 1 and bs[0].dim() == 2 else bs
        if len(xs) == 1 and len(ws) > 1:
            ends = (group_list.tolist() if isinstance(group_list, torch.Tensor)
                    else list(group_list))
            if group_list_type == 0:
                ends = [b - a for a, b in zip([0] + ends, ends)]
            xs = torch.split(xs[0], ends)
        out = [a @ b for a, b in zip(xs, ws)]
        out = [a + b for a, b in zip(out, bs)] if bs else out
        return torch.cat(out) if split_item > 1 else tuple(out)
    out = Whole.apply(products, *x, *weight, *(bias or []))
    return [out] if isinstance(out, torch.Tensor) else list(out)


for one in (npu_rotary_mul, npu_swiglu, npu_scaled_masked_softmax,
            npu_rms_norm, npu_fusion_attention, npu_grouped_matmul):
    setattr(NPU, one.__name__, staticmethod(one))


def rotary(v):
    for i, shape in enumerate(((1, 2, 2, 4), (2, 3, 1, 2), (2, 1, 2, 6),
                               (0, 2, 2, 2), (3, 4))):
        for mode in ({}, {"rotary_mode": "half"},
                     {"rotary_mode": "interleave"}):
            short = (1,) * (len(shape) - 2) + shape[-2:]
            for side in (shape, short):
                v.call("NPU.npu_rotary_mul", v.real(*shape),
                       v.real(*side, grad=i % 2 == 0),
                       v.real(*side, grad=i % 2 == 0), **mode)


def swiglu(v):
    for shape in ((2,), (4,), (2, 4), (3, 6), (2, 2, 4), (0, 4), (1, 8)):
        v.call("NPU.npu_swiglu", v.real(*shape))
        v.call("NPU.npu_swiglu", v.real(*shape), dim=-1)
        v.call("NPU.npu_swiglu", v.real(4, *shape), 0)
    v.call("NPU.npu_swiglu", v.special(1.0))
    v.call("NPU.npu_swiglu", v.real(4, low=-600, high=600))


def scaled(v):
    name = "NPU.npu_scaled_masked_softmax"
    for shape in ((1, 1, 2, 4), (2, 2, 3, 3), (1, 2, 2, 2), (2, 1, 4, 4)):
        for options in ({}, {"scale": 0.5}, {"fixed_triu_mask": True}):
            v.call(name, v.real(*shape), v.flags(*shape), **options)
            if "fixed_triu_mask" not in options:
                v.call(name, v.real(*shape), v.flags(1, 1, *shape[-2:]),
                       **options)
    v.call(name, v.special(1.0).reshape(1, 1, 2, 3), v.flags(1, 1, 2, 3))


def rms(v):
    for shape in ((3,), (2, 3), (2, 2, 4), (1, 5), (0, 3), (4, 4)):
        for options in ({}, {"epsilon": 1e-2}, {"epsilon": 1e-5}):
            v.call("NPU.npu_rms_norm", v.real(*shape), v.real(shape[-1]),
                   **options)
    for _ in range(2):
        v.call("NPU.npu_rms_norm", v.real(2, 3, 2), v.real(3, 2))
    v.call("NPU.npu_rms_norm", v.special(1.0).reshape(2, 3), v.real(3))


def shape_of(layout, b, s, n, d):
    return {"BSH": (b, s, n * d), "SBH": (s, b, n * d),
            "BSND": (b, s, n, d), "BNSD": (b, n, s, d)}[layout]


def fusion(v):
    name = "NPU.npu_fusion_attention"
    for layout in ("BSH", "SBH", "BSND", "BNSD"):
        def sides(rows=3, keys=3, heads=2, own=2):
            return [v.real(*shape_of(layout, 2, s, n, 2), low=-2, high=2)
                    for s, n in ((rows, heads), (keys, own), (keys, own))]
        triangle = torch.triu(torch.ones(3, 3), 1) > 0
        v.call(name, *sides(), 2, layout)
        v.call(name, *sides(), 2, input_layout=layout, scale=0.5)
        v.call(name, *sides(keys=4), 2, layout, scale=0.25)
        v.call(name, *sides(own=1), 2, layout, scale=0.5)
        v.call(name, *sides(), 2, layout, pse=v.real(1, 2, 3, 3, grad=False),
               scale=0.5)
        v.call(name, *sides(), 2, layout, atten_mask=triangle, scale=0.5,
               pre_tockens=65536, next_tockens=0)
        v.call(name, *sides(), 2, layout,
               atten_mask=triangle.expand(2, 1, 3, 3).contiguous())
        v.call(name, *sides(), 2, layout, atten_mask=triangle, sparse_mode=2)
        v.call(name, *sides(keys=4), 2, layout, sparse_mode=3,
               atten_mask=triangle)


def grouped(v):
    name = "NPU.npu_grouped_matmul"
    k, n = 3, 2
    for rows in ((2, 1, 3), (4,), (1, 1), (2, 0, 1), (1, 2, 3, 1)):
        count = len(rows)
        ends = torch.tensor(rows).cumsum(0)

        def weights():
            return [v.real(k, n) for _ in rows]

        def biases():
            return [v.real(n) for _ in rows]
        if 0 not in rows:
            v.call(name, [v.real(m, k) for m in rows], weights())
            v.call(name, [v.real(m, k) for m in rows], weights(),
                   bias=biases())
        v.call(name, [v.real(m, k) for m in rows], weights(), bias=biases(),
               split_item=2)
        v.call(name, [v.real(sum(rows), k)], [v.real(count, k, n)],
               group_list=ends, split_item=3, group_type=0)
        v.call(name, [v.real(sum(rows), k)], [v.real(count, k, n)],
               bias=[v.real(count, n)], group_list=ends.tolist(),
               split_item=2, group_type=0)
        if count > 1:
            v.call(name, [v.real(sum(rows), k)], weights(), bias=biases(),
                   group_list=torch.tensor(rows), group_list_type=1,
                   split_item=3, group_type=0)
            v.call(name, [v.real(sum(rows), k)], weights(), group_list=ends,
                   group_type=0, split_item=0)
    v.call(name, [v.real(2, 3, k), v.real(1, 2, 1)],
           [v.real(k, n), v.real(1, 4)])
    v.call(name, [v.special(1.0).reshape(2, 3)], [v.real(2, 3, 2)],
           group_list=[1, 2], split_item=3, group_type=0)


def packed(v):
    """Sequences one below the other."""
    name = "NPU.npu_fusion_attention"
    triangle = torch.triu(torch.ones(4, 4), 1) > 0
    for rows, keys in (((3,), (3,)), ((2, 5), (2, 5)), ((1, 3, 4), (2, 4, 7)),
                       ((2, 2, 3), (1, 1, 4))):
        def sides(heads=2, own=2):
            return [v.real(s, n, 2, low=-2, high=2)
                    for s, n in ((rows[-1], heads), (keys[-1], own),
                                 (keys[-1], own))]
        ends = {"actual_seq_qlen": list(rows), "actual_seq_kvlen": list(keys)}
        v.call(name, *sides(), 2, "TND", **ends)
        v.call(name, *sides(), 2, input_layout="TND", scale=0.5, **ends)
        v.call(name, *sides(own=1), 2, "TND", scale=0.25, **ends)
        v.call(name, *sides(4, 2), 4, "TND", scale=0.5, sparse_mode=2,
               atten_mask=triangle, **ends)
        if all(b >= a for a, b in zip(
                torch.tensor(rows).diff(prepend=torch.tensor([0])).tolist(),
                torch.tensor(keys).diff(prepend=torch.tensor([0])).tolist())):
            v.call(name, *sides(), 2, "TND", scale=0.5, sparse_mode=3,
                   atten_mask=triangle, **ends)


def summed(v):
    """Groups of what is summed over."""
    name = "NPU.npu_grouped_matmul"
    for m, n, ends in ((2, 3, [2, 5]), (1, 1, [1]), (3, 2, [1, 1, 4]),
                       (2, 2, [3, 4, 6, 6]), (4, 1, [2, 3])):
        lengths = [b - a for a, b in zip([0] + ends, ends)]
        v.call(name, [v.real(m, ends[-1])], [v.real(ends[-1], n)],
               group_list=ends, split_item=3, group_type=2)
        v.call(name, [v.real(m, ends[-1])], [v.real(ends[-1], n)],
               group_list=torch.tensor(ends), split_item=2, group_type=2)
        v.call(name, [v.real(m, ends[-1])], [v.real(ends[-1], n)],
               group_list=torch.tensor(lengths), split_item=3, group_type=2,
               group_list_type=1)
        v.call(name, [v.real(m, ends[-1])], [v.real(ends[-1], n)],
               group_list=lengths, split_item=3, group_type=2,
               group_list_type=1)
    v.call(name, [v.special(1.0).reshape(2, 3)], [v.real(3, 2)],
           group_list=[1, 3], split_item=3, group_type=2)


def make(v):
    for part in (rotary, swiglu, scaled, rms, fusion, grouped, packed, summed):
        part(v)

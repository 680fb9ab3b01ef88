#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/quantised: small files of quantised tensors, each with what
they stand for.

    python3 tests/make_quantised_files.py testdata/quantised

Needs torch 2.15 and torchao 0.18. A file is a dict; "expect" in it holds for
each quantised entry its values in float32: as torch's or torchao's own
dequantize gives them, else by indexing code and scale element by element.
TransformerEngine is not run: its classes are stubs with its module names, whose
objects pickle to the calls that it makes.
"""
import os
import sys
import types
import warnings

import torch

warnings.simplefilter("ignore")
OUT = sys.argv[1]
torch.manual_seed(5)
E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -1, -1.5, -2, -3,
                     -4, -6])


def save(name, payload, **options):
    path = os.path.join(OUT, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    torch.save(payload, path, **options)


def nibbles(packed):
    """Values of uint8 [.., K/2] as [.., K], the low half first."""
    packed = packed.long()
    pair = torch.stack([packed & 15, packed >> 4], -1)
    return E2M1[pair.reshape(*packed.shape[:-1], -1)]


def spread(scale, shape, block):
    """scale[i // block] for every element of a matrix."""
    rows = torch.arange(shape[0]) // block[0]
    columns = torch.arange(shape[1]) // block[1]
    return scale[rows][:, columns]


def fp8(*shape):
    return torch.randn(*shape).mul(60).to(torch.float8_e4m3fn)


def scales(*shape):
    return torch.rand(*shape) * 1e-3 + 1e-4


# ---- names ----------------------------------------


def names():
    w, s = fp8(40, 70), scales(1, 1)
    w2, s2 = fp8(130, 12), scales(2, 1)
    w4 = fp8(12, 130)
    d3, e3 = fp8(2, 130, 4), scales(2, 2, 1)
    u = torch.tensor([[118, 120]],
                     dtype=torch.uint8).view(torch.float8_e8m0fnu)
    block = (128, 128)
    save("good-deepseek.pt", {
        "a.weight": w, "a.weight_scale_inv": s,
        "b.weight": w2, "b.weight_scale_inv": s2,
        "c.weight": w4, "c.weight_scale_inv": u,
        "d.experts": d3, "d.experts_scale_inv": e3,
        "expect": {
            "a.weight": w.float() * s,
            "b.weight": w2.float() * spread(s2, w2.shape, block),
            "c.weight": w4.float() * spread(u.float(), w4.shape, block),
            "d.experts": torch.stack([
                d3[i].float() * spread(e3[i], d3.shape[1:], block)
                for i in range(2)])}})
    w, one, row = fp8(6, 64), scales(1), scales(6, 1).bfloat16()
    mx = torch.randint(100, 130, (6, 2), dtype=torch.uint8)
    mx[1, 1] = 255
    power = torch.exp2(mx.float() - 127)
    power[mx == 255] = torch.nan
    save("good-fp8.pt", {
        "a.weight": w, "a.weight_scale": one, "a.input_scale": one,
        "b.weight": w, "b.weight_scale": row,
        "c.weight": w, "c.weight_scale": mx,
        "expect": {"a.weight": w.float() * one,
                   "b.weight": w.float() * row.float(),
                   "c.weight": w.float() * spread(power, w.shape, (1, 32))}})
    p = torch.randint(0, 256, (6, 32), dtype=torch.uint8)
    s, g = fp8(6, 4).abs(), torch.tensor([0.0123])
    e = torch.randint(110, 130, (6, 2), dtype=torch.uint8)
    b = torch.randint(0, 256, (2, 3, 2, 16), dtype=torch.uint8)
    bs = torch.randint(110, 130, (2, 3, 2), dtype=torch.uint8)
    wide = spread(s.float(), (6, 64), (1, 16))
    save("good-fp4.pt", {
        "a.weight": p, "a.weight_scale": s, "a.weight_scale_2": g[0],
        "b.weight_packed": p, "b.weight_scale": s, "b.weight_global_scale": g,
        "c.weight_packed": p, "c.weight_scale": e,
        "d.proj_blocks": b, "d.proj_scales": bs,
        "expect": {
            "a.weight": nibbles(p) * (wide * g),
            "b.weight_packed": nibbles(p) * (wide / g),
            "c.weight_packed": nibbles(p) * spread(torch.exp2(
                e.float() - 127), (6, 64), (1, 32)),
            "d.proj": (nibbles(b) * torch.exp2(
                bs.float() - 127)[..., None]).reshape(2, 3, 64)}})
    payload, expect = {}, {}
    for bits in (3, 4, 8):
        q = torch.randint(0, 2 ** bits, (5, 72))
        s = scales(5, 3).bfloat16()
        words = torch.zeros(5, (bits * 72 + 31) // 32, dtype=torch.int64)
        for i in range(72):  # bit by bit, so that nothing is assumed
            for k in range(bits):
                at = bits * i + k
                words[:, at // 32] |= ((q[:, i] >> k) & 1) << (at % 32)
        words = (words + 2 ** 31) % 2 ** 32 - 2 ** 31
        key = f"int{bits}.weight"
        payload |= {key + "_packed": words.int(), key + "_scale": s,
                    key + "_shape": torch.tensor([5, 72])}
        expect[key + "_packed"] = ((q - 2 ** (bits - 1)).float() *
                                   spread(s.float(), q.shape, (1, 24)))
    save("good-int.pt", payload | {"expect": expect})
    save("bad-shapes.pt", {
        "a.weight": fp8(200, 300), "a.weight_scale_inv": scales(3, 3),
        "b.weight_packed": p, "b.weight_scale": fp8(6, 5),
        "b.weight_global_scale": g,
        "c.weight_packed": torch.zeros(4, 9, dtype=torch.int32),
        "c.weight_scale": scales(4, 1),
        "c.weight_shape": torch.tensor([2 ** 40, 72])})
    save("unsupported-gptq.pt", {
        "a.qweight": torch.zeros(9, 16, dtype=torch.int32),
        "a.qzeros": torch.zeros(3, 2, dtype=torch.int32),
        "a.scales": torch.ones(3, 16)})
    save("bad-scales.pt", {
        "a.weight": fp8(300, 12), "a.weight_scale_inv": torch.tensor(
            [[float("nan")], [0], [-1e-3]])})
    save("bad-scale_missing/model.pt", {"a.weight": w2})
    save("bad-scale_missing/packed.pt", {
        "a.weight_packed": torch.ones(4, 8, dtype=torch.int32),
        "b.gate_up_proj_blocks": torch.ones(2, 4, 1, 16, dtype=torch.uint8),
        "c.packed": torch.ones(4, 8, dtype=torch.int32)})
    with open(os.path.join(OUT, "bad-scale_missing/config.json"), "w",
              encoding="utf-8") as file:
        file.write('{"quantization_config": {"quant_method": "fp8"}}\n')


# ---- torch and torchao ----------------------------------------


def torch_own():
    w = torch.randn(6, 10, 3)
    some = {
        "quint8": torch.quantize_per_tensor(w, 0.03, 100, torch.quint8),
        "qint8": torch.quantize_per_tensor(w, 0.05, -3, torch.qint8),
        "qint32": torch.quantize_per_tensor(w, 1e-4, 7, torch.qint32),
        "channels": torch.quantize_per_channel(
            w, torch.rand(10) / 20 + .01, torch.arange(10), 1, torch.qint8),
        "view": torch.quantize_per_tensor(w, 0.03, 100,
                                          torch.quint8).transpose(0, 2),
    }
    save("good-torch.pt", some | {
        "expect": {key: q.dequantize() for key, q in some.items()},
        "after": torch.arange(3.)})


def torchao_own():
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
    from torchao.quantization import Float8Tensor, PerRow, PerTensor
    w = torch.randn(12, 64).bfloat16()
    w[3, 5] = 30
    some = {
        "e4m3": MXTensor.to_mx(w, torch.float8_e4m3fn, 32),
        "e5m2": MXTensor.to_mx(w, torch.float8_e5m2, 32),
        "e2m1": MXTensor.to_mx(w, torch.float4_e2m1fn_x2, 32),
        "e2m3": MXTensor.to_mx(w, "fp6_e2m3", 32),
        "tiles": MXTensor.to_mx(w, torch.float8_e4m3fn, 32,
                                is_swizzled_scales=True),
        "nvfp4": NVFP4Tensor.to_nvfp4(w),
        "nvfp4_2": NVFP4Tensor.to_nvfp4(
            w, per_tensor_scale=torch.tensor(0.011)),
        "nvfp4_tiles": NVFP4Tensor.to_nvfp4(
            w, per_tensor_scale=torch.tensor(0.011), is_swizzled_scales=True),
        "nvfp4_turned": NVFP4Tensor.to_nvfp4(w).t(),
    }
    expect = {key: q.dequantize(torch.float32) for key, q in some.items()}
    for key, how in (("rows", PerRow()), ("whole", PerTensor())):
        q = Float8Tensor.from_hp(w, granularity=how)
        some[key] = q
        # its own dequantize rounds to bfloat16
        expect[key] = q.qdata.float() * q.scale
    for key, q in some.items():
        save(f"good-torchao_{key}.pt", {"w": q, "expect": {"w": expect[key]}})


# ---- TransformerEngine ----------------------------------------


class Call:
    """Pickles as a call of a function by its name."""

    def __init__(self, module, name, *arguments):
        self.made = (module, name, arguments)

    def __reduce_ex__(self, protocol):
        module, name, arguments = self.made
        return stub(module, name), arguments


def stub(module, name):
    parts = module.split(".")
    for i in range(len(parts)):
        sys.modules.setdefault(".".join(parts[:i + 1]),
                               types.ModuleType(".".join(parts[:i + 1])))
    home = sys.modules[module]
    if not hasattr(home, name):
        def function(*arguments):
            raise RuntimeError("a stub")
        function.__module__, function.__qualname__ = module, name
        function.__name__ = name
        setattr(home, name, function)
    return getattr(home, name)


TE = "transformer_engine.pytorch.tensor."


def te_dtype(number):
    return Call("transformer_engine.pytorch.constants", "DType", number)


def padded(matrix, down, across, fill):
    rows = -(-matrix.shape[0] // down) * down
    columns = -(-matrix.shape[1] // across) * across
    out = torch.full((rows, columns), fill, dtype=matrix.dtype)
    out[:matrix.shape[0], :matrix.shape[1]] = matrix
    return out


def tiled(matrix):
    """The tiles of 128 by 4 of cuBLAS, element by element."""
    rows, columns = matrix.shape
    out = torch.zeros(rows * columns, dtype=matrix.dtype)
    for r in range(rows):
        for c in range(columns):
            tile = r // 128 * (columns // 4) + c // 4
            inside = r % 32 * 16 + r % 128 // 32 * 4 + c % 4
            out[tile * 512 + inside] = matrix[r, c]
    return out.reshape(rows, columns)


def transformer_engine():
    shape, half = torch.Size([2, 20, 64]), torch.bfloat16
    c = fp8(40, 64)
    raw = c.view(torch.uint8)
    one = scales(1)
    kind = TE + "float8_tensor", "_make_float8_tensor_in_reduce_ex"
    save("good-te_float8.pt", {
        "q": Call(*kind, raw.reshape(shape), te_dtype(7), one, half, shape,
                  None),
        "t": Call(*kind, None, te_dtype(7), one, half, shape,
                  raw.t().contiguous().reshape(64, 2, 20)),
        "expect": {"q": (c.float() * one).reshape(shape),
                   "t": (c.float() * one).reshape(shape)}})
    save("bad-te_shape.pt", {
        "q": Call(*kind, raw, te_dtype(7), one, half, torch.Size([40, 65]),
                  None), "after": torch.arange(3.)})
    by_row = torch.randint(110, 130, (40, 2), dtype=torch.uint8)
    by_column = torch.randint(110, 130, (2, 64), dtype=torch.uint8)
    kind = TE + "mxfp8_tensor", "_make_mxfp8_tensor_in_reduce_ex"
    row = c.float() * spread(torch.exp2(by_row.float() - 127), c.shape,
                             (1, 32))
    column = c.float() * spread(torch.exp2(by_column.float() - 127), c.shape,
                                (32, 1))
    for name, turn in (("good-te_mxfp8.pt", lambda m: m),
                       ("good-te_mxfp8_tiles.pt", tiled)):
        plain = name == "good-te_mxfp8.pt"
        save(name, {
            "q": Call(*kind, raw.reshape(shape),
                      turn(padded(by_row, 128, 4, 77)),
                      raw.reshape(shape) if plain else None,
                      padded(by_column, 4, 128, 77) if plain else None,
                      te_dtype(7), half, shape, None, not plain),
            "expect": {"q": row.reshape(shape)} | (
                {"q#columnwise": column.reshape(shape)} if plain else {})})
    w = fp8(130, 12)
    raw = w.view(torch.uint8)
    turned = raw.t().contiguous()
    kind = TE + "float8_blockwise_tensor", \
        "_make_float8_blockwise_tensor_in_reduce_ex"
    s = scales(2, 1)
    values = w.float() * spread(s, w.shape, (128, 128))
    lines, columns = scales(130, 1), scales(2, 12)
    save("good-te_blockwise.pt", {
        "two": Call(*kind, w.shape, raw, padded(s, 1, 4, 9.), turned,
                    padded(s.t(), 1, 4, 9.), te_dtype(7), half, None, True,
                    None),
        "one": Call(*kind, w.shape, raw, padded(lines.t(), 1, 4, 9.), turned,
                    padded(columns, 1, 4, 9.), te_dtype(7), half, None, False,
                    None),
        "expect": {"two": values, "two#columnwise": values,
                   "one": w.float() * spread(lines, w.shape, (1, 128)),
                   "one#columnwise": w.float() * spread(columns, w.shape,
                                                        (128, 1))}})
    p = torch.randint(0, 256, (40, 32), dtype=torch.uint8)
    s = fp8(40, 4).abs()
    amax = torch.tensor([3.7])
    each = torch.rand(40) + 1
    kind = TE + "nvfp4_tensor", "_make_nvfp4_tensor_in_reduce_ex"
    wide = spread(s.float(), (40, 64), (1, 16))
    third = torch.tensor(1.0) / (torch.tensor(6.0) * 448)
    other = torch.tensor(1.0) / (torch.tensor(6.0) * 256)
    bytes_of = padded(s.view(torch.uint8), 128, 4, 77)
    flat = torch.Size([40, 64])

    def nvfp4(scale, peak, tiles, *rest):
        return Call(*kind, flat, p, scale, None, None, peak, None,
                    te_dtype(10), half, None, tiles, *rest)

    save("good-te_nvfp4.pt", {
        "q": nvfp4(bytes_of, amax, False),
        "tiles": nvfp4(tiled(bytes_of), amax, True),
        "rows": nvfp4(bytes_of, each, False, True, True, 256),
        "expect": {"q": nibbles(p) * (wide * amax * third),
                   "tiles": nibbles(p) * (wide * amax * third),
                   "rows": nibbles(p) * (wide * each[:, None] * other)}})
    old = stub("transformer_engine_torch", "DType")
    made = stub(TE + "float8_tensor", "Float8Tensor")

    class Old:
        def __reduce_ex__(self, protocol):
            return Method(), (raw, Call("transformer_engine_torch", "DType",
                                        7), one, half, w.shape)

    class Method:
        def __reduce_ex__(self, protocol):
            return getattr, (made, "_make_in_reduce_ex")

        def __call__(self, *arguments):
            raise RuntimeError("a stub")

    assert old
    save("good-te_older.pt", {"q": Old(),
                              "expect": {"q": w.float() * one}})


# ---- integers of 8 bits -----------------------------------------------------


def int8():
    w = torch.randint(-128, 128, (6, 72), dtype=torch.int8)
    row, group = scales(6, 1).bfloat16(), scales(6, 3)
    save("good-int8.pt", {
        "a.weight": w, "a.weight_scale": row,
        "b.weight": w, "b.weight_scale": group,
        "expect": {"a.weight": w.float() * row.float(),
                   "b.weight": w.float() * spread(group, w.shape, (1, 24))}})
    save("unsupported-zero_point.pt", {
        "a.weight": w, "a.weight_scale": row,
        "a.weight_zero_point": torch.ones(6, 1, dtype=torch.int8)})


names()
torch_own()
torchao_own()
transformer_engine()
int8()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/checkpoint_faults: three checkpoints of a small model that are
as they should be, and for each rule about checkpoints the files that differ
where its fault is.

    python3 tests/make_faulty_checkpoints.py testdata/checkpoint_faults

Needs torch 2.15. FOLDER/30.pt stands for checkpoint-30/model.pt; a folder
"KIND-fault" has what differs from the folder "KIND".
"""
import os
import sys

import torch

OUT = sys.argv[1]
UP = "model.layers.0.mlp.up_proj.weight"
NORM = "model.layers.0.input_layernorm.weight"
EMBED = "model.embed_tokens.weight"
STEPS = (10, 20, 30)


def save(folder, name, payload):
    os.makedirs(os.path.join(OUT, folder), exist_ok=True)
    torch.save(payload, os.path.join(OUT, folder, f"{name}.pt"))


def model(step, seed=0):
    """Weights that moved by 5 % a checkpoint, as their size is."""
    g = torch.Generator().manual_seed(seed)

    def weight(*shape):
        start = torch.randn(*shape, generator=g)
        away = torch.randn(*shape, generator=g)
        return start * (1 + .05 * away * step / 10)

    embed = weight(16, 8)
    expert = torch.randn(8, 8, generator=g)
    return {
        EMBED: embed, "lm_head.weight": embed,
        NORM: 1 + .05 * weight(8), UP: weight(16, 8),
        # no token came to this expert between the last two
        "model.layers.0.mlp.experts.0.up_proj.weight":
            expert * (1 if step == 10 else 1.1),
        "model.layers.0.attn.bias": torch.ones(8, 8).tril()[None, None],
        "model.layers.0.self_attn.q_proj.lora_B.weight": torch.zeros(8, 4)}


def state(step):
    g = torch.Generator().manual_seed(step)
    first = torch.randn(16, 8, generator=g) * 1e-3
    return {"exp_avg": first, "exp_avg_sq": first * first * 2 + 1e-9}


def payload(step, weights=None, moments=None):
    return {"model": weights or model(step), "optimizer": {
        "state": {UP: moments or state(step)}}}


def plain():
    for step in STEPS:
        save("plain", step, payload(step))
    for step in STEPS[1:]:
        save("plain-constant", step,
             payload(step, model(step) | {UP: torch.full((16, 8), .5)}))
    late = state(30)
    late["exp_avg_sq"][3, 4] *= -1
    save("plain-moment_negative", 30, payload(30, moments=late))
    save("plain-repeated", 30, payload(20))
    for step in STEPS[1:]:
        save("plain-never_moved", step,
             payload(step, model(step) | {UP: model(10)[UP]}))
    save("plain-unmoved", 30, payload(30, model(30) | {UP: model(20)[UP]}))
    save("plain-dtype", 30,
         payload(30, model(30) | {UP: model(30)[UP].bfloat16()}))
    save("plain-untied", 30,
         payload(30, model(30) | {"lm_head.weight": model(30, 7)[EMBED]}))
    small = model(20)
    small[UP] = small[UP] * (1 + 2 ** -10 * torch.linspace(.1, 1, 128).reshape(
        16, 8))
    save("plain-small_updates", 30, payload(30, {
        key: value if key == UP else small[key] * 1.0001
        for key, value in small.items()}))


def narrow():
    """Weights and moments in 16 bits; the weights of norms stay at 1."""
    half = torch.bfloat16

    def weights(step, away=.05):
        made = model(step)
        start = made[UP].to(half)
        if away is None:  # one element in ten
            start = model(20)[UP].to(half)
            start.view(-1)[::10] *= 1.1
        return {UP: start, NORM: torch.linspace(.5, 1, 8).to(half)}

    def moments(step, dtype):
        return {key: value.to(dtype) for key, value in state(step).items()}

    for step in STEPS:
        save("narrow", step, payload(step, weights(step),
                                     moments(step, half)))
    lost = weights(30, None)
    save("narrow-lost", 30, payload(30, lost, moments(30, half)))
    save("narrow-lost_unknown", 30,
         payload(30, lost, moments(30, torch.float32)))
    master = moments(30, torch.float32)
    master["fp32_param"] = lost[UP].float() * 1.001
    save("narrow-master", 30, payload(30, lost, master))
    for step in STEPS:
        for name, dtype in (("vanished", torch.float16), ("tiny", half)):
            zeros = moments(step, dtype)
            zeros["exp_avg"] = zeros["exp_avg"].float()
            zeros["exp_avg_sq"].view(-1)[::3] = 0
            save(f"narrow-moment_{name}", step,
                 payload(step, weights(step), zeros))


def ranks():
    """Copies of all, and parts of matrices with whole norms."""
    for rank in range(3):
        save("copies", f"10_{rank}", payload(10))
        part = model(10, rank + 1) | {NORM: model(10)[NORM]}
        save("parts", f"10_{rank}", payload(10, part))
    other = model(10)
    other[NORM] = other[NORM] * (1 + 2 ** -20)
    save("copies-differ", "10_1", payload(10, other))
    save("parts-differ", "10_1",
         payload(10, model(10, 2) | {NORM: other[NORM]}))


def scales():
    """A scale for each of 16 lines."""
    g = torch.Generator().manual_seed(3)
    codes = (torch.randn(16, 32, generator=g) * 100).clamp(-448, 448)
    codes[:, 5] = 448
    scale = torch.rand(16, 1, generator=g) * 1e-3 + 1e-4

    def write(folder, codes, scale):
        save(folder, 10, {UP: codes.to(torch.float8_e4m3fn),
                          UP + "_scale": scale})

    write("scales", codes, scale)
    for name, value in (("nan", torch.nan), ("zero", 0), ("inf", torch.inf),
                        ("negative", -1e-3)):
        bad = scale.clone()
        bad[2, 0] = value
        write(f"scales-{name}", codes, bad)
    write("scales-wide", codes / 4, scale)


plain()
narrow()
ranks()
scales()

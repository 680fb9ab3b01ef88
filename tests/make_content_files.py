#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes testdata/content: one small model of two layers, saved in three ways.

whole/    names as Hugging Face has them, q, k and v apart, bfloat16
tp2/      the same as Megatron saves it for two tensor-parallel ranks: q, k and
          v fused by heads, gate and up fused, other names
swapped/  as whole, but gate and up of the second layer changed places, and one
          element of the output projection is another one

Needs torch. Usage: make_content_files.py FOLDER
"""

import pathlib
import sys

import torch

HIDDEN, WIDE, WORDS, HEADS, GROUPS, LAYERS, RANKS = 32, 48, 40, 4, 2, 2, 2
HEAD = HIDDEN // HEADS


def make_whole():
    def random(*shape):
        return torch.randn(*shape).bfloat16()

    made = {"model.embed_tokens.weight": random(WORDS, HIDDEN)}
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        made[at + "self_attn.q_proj.weight"] = random(HIDDEN, HIDDEN)
        made[at + "self_attn.k_proj.weight"] = random(GROUPS * HEAD, HIDDEN)
        made[at + "self_attn.v_proj.weight"] = random(GROUPS * HEAD, HIDDEN)
        made[at + "self_attn.o_proj.weight"] = random(HIDDEN, HIDDEN)
        made[at + "mlp.gate_proj.weight"] = random(WIDE, HIDDEN)
        made[at + "mlp.up_proj.weight"] = random(WIDE, HIDDEN)
        made[at + "mlp.down_proj.weight"] = random(HIDDEN, WIDE)
        made[at + "input_layernorm.weight"] = torch.ones(HIDDEN).bfloat16()
    made["model.norm.weight"] = random(HIDDEN)
    return made


def fuse(whole, at):
    """Each group: its heads of q, then k, then v."""
    q, k, v = (whole[f"{at}self_attn.{x}_proj.weight"].view(
        GROUPS, -1, HEAD, HIDDEN) for x in "qkv")
    return torch.cat([q, k, v], 1).reshape(-1, HIDDEN)


def make_rank(whole, rank):
    def part(tensor, axis):
        return tensor.chunk(RANKS, axis)[rank].clone()

    made = {"embedding.weight": part(whole["model.embed_tokens.weight"], 0)}
    for i in range(LAYERS):
        at, to = f"model.layers.{i}.", f"decoder.layers.{i}."
        gate, up = (part(whole[f"{at}mlp.{x}_proj.weight"], 0)
                    for x in ("gate", "up"))
        made[to + "linear_qkv.weight"] = part(fuse(whole, at), 0)
        made[to + "linear_proj.weight"] = part(
            whole[at + "self_attn.o_proj.weight"], 1)
        made[to + "linear_fc1.weight"] = torch.cat([gate, up])
        made[to + "linear_fc2.weight"] = part(
            whole[at + "mlp.down_proj.weight"], 1)
        made[to + "input_layernorm.weight"] = whole[
            at + "input_layernorm.weight"].clone()
    made["final_layernorm.weight"] = whole["model.norm.weight"].clone()
    return made


def make_swapped(whole):
    made = {name: tensor.clone() for name, tensor in whole.items()}
    gate, up = (f"model.layers.1.mlp.{x}_proj.weight" for x in ("gate", "up"))
    made[gate], made[up] = made[up], made[gate]
    made["model.layers.1.self_attn.o_proj.weight"][3, 4] += 1
    return made


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(14)
    whole = make_whole()
    files = {"whole/model.pt": whole, "swapped/model.pt": make_swapped(whole)}
    for rank in range(RANKS):
        files[f"tp2/mp_rank_{rank:02}/model.pt"] = make_rank(whole, rank)
    for name, made in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        torch.save(made, folder / name)


if __name__ == "__main__":
    main()

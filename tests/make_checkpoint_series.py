#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes three steps of a tiny Llama in the layouts of five libraries.

    hf/checkpoint-N/        transformers: model.safetensors and optimizer.pt
    hf_bin/checkpoint-N/    the same as pytorch_model.bin
    dcp/step-N/             torch.distributed.checkpoint, model and optimizer
    megatron/iter_N/        Megatron-LM's legacy tree, one rank
    deepspeed/global_stepN/ a model file and ZeRO-2's optimizer of two ranks

The first three are saved by the libraries themselves; the last two by
torch.save of what theirs hold. Not shipped: to look at what the program says
and draws of them.

Needs torch, transformers and safetensors.
Usage: make_checkpoint_series.py FOLDER [STEPS [EVERY]]
"""
import pathlib
import sys

import torch
import torch.distributed.checkpoint as dcp
import transformers as tf
from safetensors.torch import save_file


def made():
    torch.manual_seed(1)
    config = tf.LlamaConfig(
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=128, vocab_size=256,
        tie_word_embeddings=False)
    model = tf.LlamaForCausalLM(config).to(torch.bfloat16)
    master = {name: p.detach().float().clone().requires_grad_()
              for name, p in model.named_parameters()}
    return model, master, torch.optim.AdamW(list(master.items()), lr=3e-3)


def train(model, master, optimizer):
    text = torch.randint(0, 16, (8, 33)) ** 2
    model(input_ids=text, labels=text).loss.backward()
    for name, p in model.named_parameters():
        master[name].grad = p.grad.float()
        p.grad = None
    optimizer.step()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(master[name])


def save_hf(folder, step, model, optimizer):
    at = folder / "hf" / f"checkpoint-{step}"
    at.mkdir(parents=True)
    weights = {k: v.contiguous() for k, v in model.state_dict().items()}
    save_file(weights, at / "model.safetensors", {"format": "pt"})
    torch.save(optimizer.state_dict(), at / "optimizer.pt")
    at = folder / "hf_bin" / f"checkpoint-{step}"
    at.mkdir(parents=True)
    torch.save(model.state_dict(), at / "pytorch_model.bin")
    torch.save(optimizer.state_dict(), at / "optimizer.pt")


def save_dcp(folder, step, model, master, optimizer):
    state = {name: optimizer.state[p] for name, p in master.items()}
    dcp.save({"model": model.state_dict(), "optimizer": {"state": state}},
             checkpoint_id=folder / "dcp" / f"step-{step}", no_dist=True)


MEGATRON = (("model.embed_tokens", "embedding.word_embeddings"),
            ("model.layers", "encoder.layers"), ("lm_head", "output_layer"),
            ("model.norm", "encoder.final_norm"),
            ("self_attn.o_proj", "self_attention.dense"),
            ("self_attn", "self_attention"),
            ("post_attention_layernorm", "post_attention_norm"),
            ("input_layernorm", "input_norm"),
            ("down_proj", "dense_4h_to_h"), ("up_proj", "dense_h_to_4h"))


def save_megatron(folder, step, model, optimizer):
    at = folder / "megatron" / f"iter_{step:07}" / "mp_rank_00"
    at.mkdir(parents=True)
    tree = {}
    for name, value in model.state_dict().items():
        for old, new in MEGATRON:
            name = name.replace(old, new)
        part, name = name.split(".", 1)
        tree.setdefault(part, {})[name] = value
    torch.save({"args": None, "checkpoint_version": 3.0, "iteration": step,
                "model": {"language_model": tree},
                "optimizer": {"optimizer": optimizer.state_dict()}},
               at / "model_optim_rng.pt")


def save_deepspeed(folder, step, model, master, optimizer):
    at = folder / "deepspeed" / f"global_step{step}"
    at.mkdir(parents=True)
    torch.save({"module": model.state_dict(), "global_steps": step,
                "dp_world_size": 2}, at / "mp_rank_00_model_states.pt")

    def flat(values):
        return torch.cat([v.detach().reshape(-1) for v in values]).chunk(2)

    params = list(master.values())
    weights = flat(params)
    moments = [flat([optimizer.state[p][word] for p in params])
               for word in ("exp_avg", "exp_avg_sq")]
    for rank in range(2):
        state = {"step": torch.tensor(float(step)),
                 "exp_avg": moments[0][rank], "exp_avg_sq": moments[1][rank]}
        torch.save({"optimizer_state_dict": {
            "zero_stage": 2,
            "base_optimizer_state": {"state": {0: state}, "param_groups": [
                {"lr": 3e-3, "params": [0]}]},
            "single_partition_of_fp32_groups": [weights[rank].clone()]}},
            at / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")


def main():
    folder = pathlib.Path(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    model, master, optimizer = made()
    for step in range(1, steps * every + 1):
        train(model, master, optimizer)
        if step % every:
            continue
        save_hf(folder, step, model, optimizer)
        save_dcp(folder, step, model, master, optimizer)
        save_megatron(folder, step, model, optimizer)
        save_deepspeed(folder, step, model, master, optimizer)


if __name__ == "__main__":
    main()

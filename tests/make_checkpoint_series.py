#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes three steps of a tiny Llama in the layouts of five libraries.

    hf/checkpoint-N/        transformers: model.safetensors and optimizer.pt
    hf_bin/checkpoint-N/    the same as pytorch_model.bin
    dcp/step-N/             torch.distributed.checkpoint, model and optimizer
    megatron/iter_N/        Megatron-LM's legacy tree: 2 ranks by 2 stages
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


def megatron_names(values):
    """Of values by the names of transformers, those of Megatron Core."""
    embedding = values["model.embed_tokens.weight"]
    of = {"embedding.word_embeddings.weight": embedding,
          "decoder.final_layernorm.weight": values["model.norm.weight"],
          "output_layer.weight": values["lm_head.weight"]}
    layers = 1 + max(int(k.split(".")[2]) for k in values if "layers" in k)
    for i in range(layers):
        def take(*names):
            return torch.cat([values[f"model.layers.{i}.{n}.weight"]
                              for n in names])
        qkv = [f"self_attn.{x}_proj" for x in "qkv"]
        gated = ["mlp.gate_proj", "mlp.up_proj"]
        at = f"decoder.layers.{i}"
        of.update({
            f"{at}.input_layernorm.weight": take("input_layernorm"),
            f"{at}.self_attention.linear_qkv.weight": take(*qkv),
            f"{at}.self_attention.linear_proj.weight":
                take("self_attn.o_proj"),
            f"{at}.pre_mlp_layernorm.weight": take("post_attention_layernorm"),
            f"{at}.mlp.linear_fc1.weight": take(*gated),
            f"{at}.mlp.linear_fc2.weight": take("mlp.down_proj")})
    return of, layers


def megatron_part(whole, layers, tensor, stage):
    """What rank `tensor` of 2 has of stage `stage` of 2."""
    part = {}
    for name, value in whole.items():
        words = name.split(".")
        if "layers" in words:
            layer = int(words[2]) - stage * layers // 2
            if not 0 <= layer < layers // 2:
                continue
            words[2] = str(layer)
        elif stage != (words[0] != "embedding"):
            continue
        if words[-2] in ("linear_proj", "linear_fc2"):
            value = value.chunk(2, 1)[tensor].clone()
        elif "layernorm" not in words[-2]:
            value = value.chunk(2, 0)[tensor].clone()
        part[".".join(words)] = value
    return part


def save_megatron(folder, step, model, master, optimizer):
    values = [model.state_dict(), master] + [
        {n: optimizer.state[p][word] for n, p in master.items()}
        for word in ("exp_avg", "exp_avg_sq")]
    with torch.no_grad():
        whole = [megatron_names(v) for v in values]
    for tensor in range(2):
        for stage in range(2):
            parts = [megatron_part(w, layers, tensor, stage)
                     for w, layers in whole]
            state = {i: {"step": torch.tensor(float(step)),
                         "exp_avg": parts[2][n], "exp_avg_sq": parts[3][n]}
                     for i, n in enumerate(parts[0])}
            groups = [{"lr": 3e-3, "params": list(state)}]
            at = (folder / "megatron" / f"iter_{step:07}" /
                  f"mp_rank_{tensor:02}_{stage:03}")
            at.mkdir(parents=True)
            torch.save({"args": None, "checkpoint_version": 3.0,
                        "iteration": step, "model": parts[0],
                        "optimizer": {
                            "optimizer": {"state": state,
                                          "param_groups": groups},
                            "fp32_from_fp16_params": [[
                                p.detach() for p in parts[1].values()]]}},
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
        save_megatron(folder, step, model, master, optimizer)
        save_deepspeed(folder, step, model, master, optimizer)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes testdata/keys/FAMILY.txt: keys of state_dicts and what they are.

A line is KEY, layer, layer type, expert and role, joined by tabs; "-" is
absent. What a tensor is does not come from its key: the type is that of the
classes of the modules it is in, the layer its index in a ModuleList, the role
what PyTorch says (parameter or buffer). Models are tiny and made on the meta
device; no weights are loaded. Megatron-LM, torchtitan and files of older
libraries are not installed here: their keys are written out below, with what
they are by hand.

Needs torch, transformers 5 and timm. Usage: make_key_lists.py FOLDER
"""
import pathlib
import sys

import torch
import timm
import transformers as tf

TYPES = (  # the first class, from the tensor's own outwards, that has a word
    ("norm", ("Norm",)),
    ("router", ("Router", "TopK", "MoeGate")),
    ("expert", ("Experts", "SharedExpert")),
    ("embedding", ("Embedding", "PatchEmbed", "Rotary")),
    ("attention", ("Attention", "EncDec")),
    ("mlp", ("MLP", "Mlp", "MoE", "Moe", "DenseRelu", "DenseGated",
             "DenseAct", "Intermediate", "Output", "SparseMoe")),
    ("pooler", ("Pooler",)),
    ("ssm", ("Mixer",)),
)


def chain(model, name):
    """(attribute, module) from the tensor's owner outwards."""
    parts = name.split(".")[:-1]
    modules, at = [], model
    for part in parts:
        at = getattr(at, part)
        modules.append((part, at))
    return modules[::-1]


def kind(model, name):
    out = chain(model, name)
    leaf = name.split(".")[-1]
    head = {id(model.get_output_embeddings())} if hasattr(
        model, "get_output_embeddings") and model.get_output_embeddings() \
        is not None else set()
    if any(attribute in ("head", "lm_head", "classifier", "cls")
           and "Norm" not in type(module).__name__
           for attribute, module in out[-1:]) or (
               out and id(out[0][1]) in head):
        if not any("Norm" in type(m).__name__ for _, m in out[:1]):
            return "head"
    for attribute, module in out[:1]:
        if "Norm" in type(module).__name__:
            return "norm"
        if attribute in ("gate", "shared_expert_gate", "router"):
            return "router"
    attention = any("Attention" in type(module).__name__ for _, module in out)
    if attention and type(out[0][1]) in (torch.nn.Embedding, torch.nn.Linear):
        return "attention"  # also BertSelfOutput, and biases by position
    for attribute, module in out:
        if attribute in ("shared_expert", "shared_experts"):
            return "expert"
        for type_, words in TYPES:
            if any(word in type(module).__name__ for word in words):
                return type_
    if not out or leaf in ("cls_token", "pos_embed", "mask_token"):
        return "embedding"
    if any("Conv" in type(module).__name__ for _, module in out[:1]):
        return "conv"
    if any(attribute in ("fc1", "fc2") for attribute, _ in out[:1]):
        return "mlp"
    return "?"


def layer(model, name):
    at, number = model, -1
    for part in name.split(".")[:-1]:
        inside = isinstance(at, (torch.nn.ModuleList, torch.nn.Sequential))
        experts = "Experts" in type(at).__name__
        at = getattr(at, part)
        if inside and not experts and number < 0:
            number = int(part)
    return number


def role(model, name, buffers):
    leaf = name.split(".")[-1]
    if leaf.endswith("bias"):
        return "bias"
    return "buffer" if name in buffers else "weight"


def lines(model, prefix=""):
    buffers = {name for name, _ in model.named_buffers()}
    for name in model.state_dict():
        yield "\t".join((prefix + name, str(layer(model, name)),
                         kind(model, name), "-1", role(model, name, buffers)))


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 64,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def transformers_models():
    moe = {"num_experts": 4, "num_local_experts": 4, "moe_intermediate_size":
           16, "shared_expert_intermediate_size": 16, "num_experts_per_tok": 2}
    llama = tf.LlamaConfig(**SMALL)
    yield "llama", tf.LlamaForCausalLM, llama
    yield "qwen2_moe", tf.Qwen2MoeForCausalLM, tf.Qwen2MoeConfig(
        **SMALL, **moe)
    yield "qwen3_moe", tf.Qwen3MoeForCausalLM, tf.Qwen3MoeConfig(
        **SMALL, **moe)
    yield "deepseek_v3", tf.DeepseekV3ForCausalLM, tf.DeepseekV3Config(
        **SMALL, n_routed_experts=8, n_shared_experts=1,
        first_k_dense_replace=1,
        moe_intermediate_size=16, q_lora_rank=16, kv_lora_rank=16,
        qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, n_group=2,
        topk_group=1, num_experts_per_tok=2)
    yield "mixtral", tf.MixtralForCausalLM, tf.MixtralConfig(
        **SMALL, num_local_experts=4)
    yield "gpt_oss", tf.GptOssForCausalLM, tf.GptOssConfig(
        **SMALL, num_local_experts=4, head_dim=16)
    yield "gpt2", tf.GPT2LMHeadModel, tf.GPT2Config(
        n_layer=2, n_embd=32, n_head=2, vocab_size=64, bos_token_id=0,
        eos_token_id=1)
    yield "gpt_neox", tf.GPTNeoXForCausalLM, tf.GPTNeoXConfig(
        **{k: v for k, v in SMALL.items() if "key_value" not in k})
    yield "bert", tf.BertForMaskedLM, tf.BertConfig(
        **{k: v for k, v in SMALL.items() if "key_value" not in k})
    yield "vit", tf.ViTForImageClassification, tf.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, image_size=32, patch_size=16)
    yield "t5", tf.T5ForConditionalGeneration, tf.T5Config(
        d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, vocab_size=64)
    yield "whisper", tf.WhisperForConditionalGeneration, tf.WhisperConfig(
        d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=64,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=1)


def row(key, number, type_, expert=-1, role_=None):
    leaf = key.split(".")[-1]
    role_ = role_ or ("bias" if leaf.rstrip("0123456789").endswith("bias")
                      else "weight")
    return "\t".join((key, str(number), type_, str(expert), role_))


def megatron_core():
    """Megatron-LM core 0.15: dense layer 0, experts in layer 1, optimizer."""
    yield row("embedding.word_embeddings.weight", -1, "embedding")
    yield row("embedding.position_embeddings.weight", -1, "embedding")
    for n in (0, 1):
        at = f"decoder.layers.{n}."
        for what in ("weight", "bias"):
            yield row(f"{at}self_attention.linear_proj.{what}", n, "attention")
            yield row(f"{at}self_attention.linear_qkv.layer_norm_{what}", n,
                      "norm")
            yield row(f"{at}self_attention.linear_qkv.{what}", n, "attention")
        yield row(f"{at}self_attention.q_layernorm.weight", n, "norm")
        yield row(f"{at}input_layernorm.weight", n, "norm")
    at = "decoder.layers.0."
    for what in ("weight", "bias"):
        yield row(f"{at}mlp.linear_fc1.layer_norm_{what}", 0, "norm")
        yield row(f"{at}mlp.linear_fc1.{what}", 0, "mlp")
        yield row(f"{at}mlp.linear_fc2.{what}", 0, "mlp")
    at = "decoder.layers.1."
    yield row(f"{at}pre_mlp_layernorm.weight", 1, "norm")
    yield row(f"{at}mlp.router.weight", 1, "router")
    yield row(f"{at}mlp.router.expert_bias", 1, "router")
    for expert in (0, 3):
        for fc in ("linear_fc1", "linear_fc2"):
            yield row(f"{at}mlp.experts.local_experts.{expert}.{fc}.weight", 1,
                      "expert", expert)
            yield row(f"{at}mlp.experts.{fc}.weight{expert}", 1, "expert",
                      expert)
    yield row(f"{at}mlp.shared_experts.linear_fc1.weight", 1, "expert")
    yield row("decoder.final_layernorm.weight", -1, "norm")
    yield row("output_layer.weight", -1, "head")
    for word, role_ in (("exp_avg", "moment_1"), ("exp_avg_sq", "moment_2"),
                        ("fp32_param", "master_weight")):
        yield row(f"optimizer.state.{word}.decoder.layers.1.self_attention."
                  "linear_qkv.weight", 1, "attention", -1, role_)
        yield row(f"optimizer.state.{word}.decoder.layers.1.mlp.experts."
                  "local_experts.3.linear_fc2.weight", 1, "expert", 3, role_)


def megatron_legacy():
    at = "model.language_model."
    yield row(at + "embedding.word_embeddings.weight", -1, "embedding")
    for n in (0, 1):
        layer_ = f"{at}encoder.layers.{n}."
        yield row(layer_ + "input_norm.weight", n, "norm")
        yield row(layer_ + "self_attention.query_key_value.weight", n,
                  "attention")
        yield row(layer_ + "self_attention.dense.bias", n, "attention")
        yield row(layer_ + "post_attention_norm.weight", n, "norm")
        yield row(layer_ + "mlp.dense_h_to_4h.weight", n, "mlp")
        yield row(layer_ + "mlp.dense_4h_to_h.weight", n, "mlp")
    yield row(at + "encoder.final_norm.weight", -1, "norm")
    yield row(at + "output_layer.weight", -1, "head")


def torchtitan():
    """torchtitan's Llama 3 and its experts; keys as in its DCP checkpoints."""
    yield row("tok_embeddings.weight", -1, "embedding")
    for n in (0, 1):
        for w in ("wq", "wk", "wv", "wo"):
            yield row(f"layers.{n}.attention.{w}.weight", n, "attention")
        yield row(f"layers.{n}.attention_norm.weight", n, "norm")
        yield row(f"layers.{n}.ffn_norm.weight", n, "norm")
    for w in ("w1", "w2", "w3"):
        yield row(f"layers.0.feed_forward.{w}.weight", 0, "mlp")
        yield row(f"layers.1.moe.experts.{w}", 1, "expert")
        yield row(f"layers.1.moe.shared_experts.{w}.weight", 1, "expert")
    yield row("layers.1.moe.router.gate.weight", 1, "router")
    yield row("layers.1.moe.expert_bias", 1, "mlp", -1, "bias")
    yield row("norm.weight", -1, "norm")
    yield row("output.weight", -1, "head")
    for word, role_ in (("exp_avg", "moment_1"), ("exp_avg_sq", "moment_2"),
                        ("step", "step")):
        yield row(f"optimizer.state.layers.1.attention.wq.weight.{word}", 1,
                  "attention", -1, role_)


def mixtral_files():
    """Files of before transformers 5: an expert is a module."""
    at = "model.layers.1.block_sparse_moe."
    yield row(at + "gate.weight", 1, "router")
    for expert in (0, 7):
        for w in ("w1", "w2", "w3"):
            yield row(f"{at}experts.{expert}.{w}.weight", 1, "expert", expert)


def deepseek_files():
    """The files of DeepSeek-V3, in FP8 with scales of blocks."""
    at = "model.layers.3."
    for what in ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj",
                 "o_proj"):
        yield row(f"{at}self_attn.{what}.weight", 3, "attention")
        yield row(f"{at}self_attn.{what}.weight_scale_inv", 3, "attention", -1,
                  "scale")
    yield row(at + "self_attn.q_a_layernorm.weight", 3, "norm")
    yield row(at + "self_attn.kv_a_layernorm.weight", 3, "norm")
    yield row(at + "mlp.gate.weight", 3, "router")
    yield row(at + "mlp.gate.e_score_correction_bias", 3, "router")
    for expert in (0, 255):
        for what in ("gate_proj", "up_proj", "down_proj"):
            yield row(f"{at}mlp.experts.{expert}.{what}.weight", 3, "expert",
                      expert)
            yield row(f"{at}mlp.experts.{expert}.{what}.weight_scale_inv", 3,
                      "expert", expert, "scale")
    yield row(at + "mlp.shared_experts.up_proj.weight", 3, "expert")


def wrapped():
    """Names that wrappers add, and states of optimizers with names."""
    for prefix in ("module.", "_orig_mod.", "module._orig_mod.", "model.",
                   "state_dict.", "model_state_dict.", "model.module.",
                   "_fsdp_wrapped_module."):
        yield row(prefix + "layers.4.mlp.up_proj.weight", 4, "mlp")
    yield row("model._fsdp_wrapped_module.layers.4._checkpoint_wrapped_module."
              "_fsdp_wrapped_module.self_attn.q_proj.weight", 4, "attention")
    for word, role_ in (("exp_avg", "moment_1"), ("exp_avg_sq", "moment_2"),
                        ("step", "step"), ("momentum_buffer", "moment_1"),
                        ("master_param", "master_weight")):
        yield row(f"state.model.layers.4.mlp.up_proj.weight.{word}", 4, "mlp",
                  -1, role_)
        yield row(f"optim.state.layers.4.mlp.experts.9.up_proj.weight.{word}",
                  4, "expert", 9, role_)
    yield row("layers.4.mlp.up_proj.weight.grad", 4, "mlp", -1, "gradient")
    yield row("layers.4.mlp.up_proj.weight.main_grad", 4, "mlp", -1,
              "gradient")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, rows):
        text = "".join(line + "\n" for line in rows)
        (folder / f"{name}.txt").write_text(text, encoding="ascii")

    with torch.device("meta"):
        for name, make, config in transformers_models():
            write(name, lines(make(config)))
        vit = timm.create_model("vit_tiny_patch16_224", depth=2)
        write("timm_vit", lines(vit))
        write("lightning", lines(vit, "state_dict.net."))
    for made in (megatron_core, megatron_legacy, torchtitan, mixtral_files,
                 deepseek_files, wrapped):
        write(made.__name__, made())


if __name__ == "__main__":
    main()

/* SPDX-License-Identifier: MIT */
#include "formats/param_table.h"

#include <stddef.h>

#include "data/label.h"

/*
 * Names in use in 2026, as the state_dicts of transformers, timm, torchvision,
 * Megatron-LM, DeepSpeed and torchtitan have them; the lists the tests go
 * through are in testdata/keys. Norms and routers stand inside attention and
 * mlp, so they come first; heads before embeddings for "embed_out".
 */
const struct tp_param_pattern tp_param_patterns[] = {
    {"norm", TP_PARAM_LEAF, "layer_norm_weight layer_norm_bias",
     "self_attention.linear_qkv.layer_norm_weight"},
    {"embedding", TP_PARAM_LEAF,
     "pos_embed* *_token *_tokens *_embedding *_embeddings *_embed",
     "cls_token"},
    {"norm", TP_PARAM_LAST, "*norm* ln ln_* *_ln bn*",
     "input_layernorm.weight"},
    {"router", TP_PARAM_ANYWHERE, "router* shared_expert_gate", "mlp.router"},
    {"router", TP_PARAM_LAST, "gate wg", "block_sparse_moe.gate.weight"},
    {"expert", TP_PARAM_ANYWHERE, "expert *experts *_expert",
     "mlp.experts.5.up_proj"},
    {"head", TP_PARAM_ANYWHERE,
     "lm_head* output_layer embed_out classifier predictions proj_out "
     "*_head heads",
     "lm_head.weight"},
    {"attention", TP_PARAM_LEAF, "relative_attention_bias* sinks",
     "self_attn.sinks"},
    {"embedding", TP_PARAM_ANYWHERE, "*embed* emb *_emb wte wpe rotary* shared",
     "embed_tokens.weight"},
    {"attention", TP_PARAM_ANYWHERE, "*attn* *attention* EncDecAttention",
     "self_attn.q_proj.weight"},
    {"ssm", TP_PARAM_ANYWHERE, "mixer mamba* ssm", "layers.0.mixer.in_proj"},
    {"mlp", TP_PARAM_ANYWHERE,
     "*mlp* *ffn* feed_forward* feedforward DenseReluDense intermediate "
     "output.dense *moe*",
     "mlp.up_proj.weight"},
    {"attention", TP_PARAM_LAST,
     "q_proj k_proj v_proj o_proj out_proj qkv* query key value wq wk wv",
     "layers.0.q_proj.weight"},
    {"mlp", TP_PARAM_LAST,
     "fc1 fc2 up_proj down_proj gate_proj gate_up_proj linear1 linear2 w1 w2 "
     "w3 wi wi_*",
     "layers.0.fc1.weight"},
    {"conv", TP_PARAM_ANYWHERE, "*conv*", "encoder.conv1.weight"},
    {"pooler", TP_PARAM_ANYWHERE, "*pool*", "pooler.dense.weight"},
    {"head", TP_PARAM_LAST, "head output score fc cls", "head.weight"},
    {NULL, TP_PARAM_LEAF, NULL, NULL},
};

const struct tp_param_role tp_param_roles[] = {
    {"moment_2", TP_ROLE_MOMENT_2, true,
     "exp_avg_sq* max_exp_avg_sq square_avg exp_inf", "state.0.exp_avg_sq"},
    {"moment_1", TP_ROLE_MOMENT_1, true, "exp_avg* momentum_buffer",
     "state.0.exp_avg"},
    {"master_weight", TP_ROLE_MASTER, true,
     "fp32_param* master_param master_weight fp32_from_* fp32_flat_groups "
     "single_partition_of_fp32_groups",
     "optimizer.state.fp32_param.NAME"},
    {"gradient", TP_ROLE_GRADIENT, true, "grad main_grad wgrad",
     "q_proj.weight.grad"},
    {"step", TP_ROLE_COUNTER, true, "step", "state.0.step"},
    {"buffer", TP_ROLE_COUNTER, false, "num_batches_tracked",
     "bn1.num_batches_tracked"},
    {"buffer", TP_ROLE_BUFFER, false,
     "running_mean running_var *inv_freq *position_ids "
     "*_index *_cached masked_bias *mask freqs_cis g_idx weight_shape "
     "_extra_state tokens_per_expert local_tokens_per_expert*",
     "bn1.running_mean"},
    {"weight", TP_ROLE_WEIGHT, false, "logit_scale* layer_scale* scale",
     "logit_scale"},
    {"zero_point", TP_ROLE_SCALE, false, "*zero_point* qzeros", "fc1.qzeros"},
    {"scale", TP_ROLE_SCALE, false, "*_scale *_scale_* *scales *scale_inv*",
     "q_proj.weight_scale_inv"},
    {"bias", TP_ROLE_BIAS, false, "*bias* beta", "q_proj.bias"},
    {"weight", TP_ROLE_WEIGHT, false,
     "*weight* gamma A_log D sinks *_token *_tokens pos_embed* *_embed "
     "*_embedding *_embeddings experts.*_proj experts.w* "
     "*_packed *_blocks lora_*",
     "q_proj.weight"},
    {NULL, 0, false, NULL, NULL},
};

const struct tp_param_wrappers tp_param_wrappers = {
    "_orig_mod _fsdp_wrapped_module _checkpoint_wrapped_module "
    "_forward_module",
    "module model state_dict model_state_dict model_state",
};

const char *tp_param_place_word(enum tp_param_place place)
{
    static const char *const words[] = {[TP_PARAM_ANYWHERE] =
                                            "in the path of the module",
                                        [TP_PARAM_LAST] = "its last word",
                                        [TP_PARAM_LEAF] = "the parameter"};
    return words[place];
}

/* SPDX-License-Identifier: MIT */
#include "replay/op_family.h"

const char *const tp_op_family_words[TP_OP_FAMILIES] = {
    "elementwise", "products",   "attention", "norms",
    "softmax",     "reductions", "pooling",   "movement"};

/* Kernels that do more than to move elements. */
static const struct {
    tp_kernel_fn *run;
    enum tp_op_family family;
} kernels[] = {
    {tp_run_point, TP_OP_POINT},
    {tp_run_divide, TP_OP_POINT},
    {tp_run_gelu, TP_OP_POINT},
    {tp_run_invert, TP_OP_POINT},
    {tp_run_nan_to_num, TP_OP_POINT},
    {tp_run_rotary, TP_OP_POINT},
    {tp_run_swiglu, TP_OP_POINT},
    {tp_run_linear, TP_OP_PRODUCT},
    {tp_run_bilinear, TP_OP_PRODUCT},
    {tp_run_matmul, TP_OP_PRODUCT},
    {tp_run_reversed_matmul, TP_OP_PRODUCT},
    {tp_run_outer, TP_OP_PRODUCT},
    {tp_run_einsum, TP_OP_PRODUCT},
    {tp_run_addmm, TP_OP_PRODUCT},
    {tp_run_baddbmm, TP_OP_PRODUCT},
    {tp_run_addbmm, TP_OP_PRODUCT},
    {tp_run_addmv, TP_OP_PRODUCT},
    {tp_run_addr, TP_OP_PRODUCT},
    {tp_run_conv, TP_OP_PRODUCT},
    {tp_run_grouped, TP_OP_PRODUCT},
    {tp_run_attention, TP_OP_ATTENTION},
    {tp_run_npu_attention, TP_OP_ATTENTION},
    {tp_run_core_attention, TP_OP_ATTENTION},
    {tp_run_layer_norm, TP_OP_NORM},
    {tp_run_rms_norm, TP_OP_NORM},
    {tp_run_group_norm, TP_OP_NORM},
    {tp_run_batch_norm, TP_OP_NORM},
    {tp_run_instance_norm, TP_OP_NORM},
    {tp_run_npu_rms_norm, TP_OP_NORM},
    {tp_run_normalize, TP_OP_NORM},
    {tp_run_softmax, TP_OP_SOFTMAX},
    {tp_run_softmin, TP_OP_SOFTMAX},
    {tp_run_scaled_softmax, TP_OP_SOFTMAX},
    {tp_run_log_softmax, TP_OP_SOFTMAX},
    {tp_run_cross_entropy, TP_OP_SOFTMAX},
    {tp_run_nll, TP_OP_SOFTMAX},
    {tp_run_pair_loss, TP_OP_SOFTMAX},
    {tp_run_sum, TP_OP_REDUCTION},
    {tp_run_norm, TP_OP_REDUCTION},
    {tp_run_variance, TP_OP_REDUCTION},
    {tp_run_cumsum, TP_OP_REDUCTION},
    {tp_run_cumprod, TP_OP_REDUCTION},
    {tp_run_cosine, TP_OP_REDUCTION},
    {tp_run_logsumexp, TP_OP_REDUCTION},
    {tp_run_extreme, TP_OP_REDUCTION},
    {tp_run_prod, TP_OP_REDUCTION},
    {tp_run_pool, TP_OP_POOL},
    {tp_run_interpolate, TP_OP_POOL},
};

enum tp_op_family tp_op_family_of(const struct tp_operator *row)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].run == row->run)
            return kernels[i].family;
    return TP_OP_MOVE;
}

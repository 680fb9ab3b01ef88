/* SPDX-License-Identifier: MIT */
/* ATen/autocast_mode.h of torch 2.15, without what only ATen calls (names
 * that begin with "_"). tests/oracle/amp_ops.py compares the two. */
#include "check/amp_ops.h"

#include <string.h>

const char tp_amp_version[] = "2.15";

const struct tp_amp_op tp_amp_ops[] = {
    {"acos", TP_AMP_FP32},
    {"addbmm", TP_AMP_LOWER},
    {"addcdiv", TP_AMP_PROMOTE},
    {"addcmul", TP_AMP_PROMOTE},
    {"addmm", TP_AMP_LOWER},
    {"addmv", TP_AMP_LOWER},
    {"addr", TP_AMP_LOWER},
    {"asin", TP_AMP_FP32},
    {"atan2", TP_AMP_PROMOTE},
    {"baddbmm", TP_AMP_LOWER},
    {"bilinear", TP_AMP_PROMOTE},
    {"binary_cross_entropy", TP_AMP_BANNED},
    {"binary_cross_entropy_with_logits", TP_AMP_FP32},
    {"bmm", TP_AMP_LOWER},
    {"cdist", TP_AMP_FP32},
    {"chain_matmul", TP_AMP_LOWER},
    {"conv1d", TP_AMP_LOWER},
    {"conv2d", TP_AMP_LOWER},
    {"conv3d", TP_AMP_LOWER},
    {"conv_tbc", TP_AMP_LOWER},
    {"conv_transpose1d", TP_AMP_LOWER},
    {"conv_transpose2d", TP_AMP_LOWER},
    {"conv_transpose3d", TP_AMP_LOWER},
    {"convolution", TP_AMP_LOWER},
    {"cosh", TP_AMP_FP32},
    {"cosine_embedding_loss", TP_AMP_FP32},
    {"cosine_similarity", TP_AMP_FP32},
    {"cross", TP_AMP_PROMOTE},
    {"cumprod", TP_AMP_FP32},
    {"cumsum", TP_AMP_FP32},
    {"dist", TP_AMP_FP32},
    {"dot", TP_AMP_PROMOTE},
    {"einsum", TP_AMP_LOWER},
    {"erfinv", TP_AMP_FP32},
    {"exp", TP_AMP_FP32},
    {"expm1", TP_AMP_FP32},
    {"frobenius_norm", TP_AMP_FP32},
    {"grid_sampler", TP_AMP_PROMOTE},
    {"group_norm", TP_AMP_FP32},
    {"gru_cell", TP_AMP_LOWER},
    {"hinge_embedding_loss", TP_AMP_FP32},
    {"huber_loss", TP_AMP_FP32},
    {"index_put", TP_AMP_PROMOTE},
    {"kl_div", TP_AMP_FP32},
    {"l1_loss", TP_AMP_FP32},
    {"layer_norm", TP_AMP_FP32},
    {"linalg_matrix_norm", TP_AMP_FP32},
    {"linalg_multi_dot", TP_AMP_LOWER},
    {"linalg_vecdot", TP_AMP_LOWER},
    {"linalg_vector_norm", TP_AMP_FP32},
    {"linear", TP_AMP_LOWER},
    {"log", TP_AMP_FP32},
    {"log10", TP_AMP_FP32},
    {"log1p", TP_AMP_FP32},
    {"log2", TP_AMP_FP32},
    {"log_softmax", TP_AMP_FP32},
    {"logsumexp", TP_AMP_FP32},
    {"lstm_cell", TP_AMP_LOWER},
    {"margin_ranking_loss", TP_AMP_FP32},
    {"matmul", TP_AMP_LOWER},
    {"mm", TP_AMP_LOWER},
    {"mse_loss", TP_AMP_FP32},
    {"multi_margin_loss", TP_AMP_FP32},
    {"multilabel_margin_loss", TP_AMP_FP32},
    {"mv", TP_AMP_LOWER},
    {"native_layer_norm", TP_AMP_FP32},
    {"nll_loss", TP_AMP_FP32},
    {"nll_loss2d", TP_AMP_FP32},
    {"norm", TP_AMP_FP32},
    {"nuclear_norm", TP_AMP_FP32},
    {"pdist", TP_AMP_FP32},
    {"poisson_nll_loss", TP_AMP_FP32},
    {"pow", TP_AMP_FP32},
    {"prelu", TP_AMP_LOWER},
    {"prod", TP_AMP_FP32},
    {"reciprocal", TP_AMP_FP32},
    {"renorm", TP_AMP_FP32},
    {"rms_norm", TP_AMP_FP32},
    {"rnn_relu_cell", TP_AMP_LOWER},
    {"rnn_tanh_cell", TP_AMP_LOWER},
    {"rsqrt", TP_AMP_FP32},
    {"scaled_dot_product_attention", TP_AMP_LOWER},
    {"scatter_add", TP_AMP_PROMOTE},
    {"sinh", TP_AMP_FP32},
    {"smooth_l1_loss", TP_AMP_FP32},
    {"soft_margin_loss", TP_AMP_FP32},
    {"softmax", TP_AMP_FP32},
    {"softplus", TP_AMP_FP32},
    {"sum", TP_AMP_FP32},
    {"tan", TP_AMP_FP32},
    {"tensordot", TP_AMP_PROMOTE},
    {"triplet_margin_loss", TP_AMP_FP32},
    {"upsample_bicubic2d", TP_AMP_FP32},
    {"upsample_bilinear2d", TP_AMP_FP32},
    {"upsample_linear1d", TP_AMP_FP32},
    {"upsample_nearest1d", TP_AMP_FP32},
    {"upsample_nearest2d", TP_AMP_FP32},
    {"upsample_nearest3d", TP_AMP_FP32},
    {"upsample_trilinear3d", TP_AMP_FP32},
    {"vdot", TP_AMP_PROMOTE},
    {NULL, TP_AMP_NONE}};

enum tp_amp_policy tp_amp_policy_of(const char *name, size_t length)
{
    size_t low = 0, high = sizeof tp_amp_ops / sizeof *tp_amp_ops - 1;
    while (low < high && length > 0) {
        size_t middle = low + (high - low) / 2;
        const char *other = tp_amp_ops[middle].name;
        int order = (unsigned char)*name - (unsigned char)*other;
        if (order == 0)
            order = strncmp(name, other, length);
        if (order == 0 && other[length] == '\0')
            return tp_amp_ops[middle].policy;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return TP_AMP_NONE;
}

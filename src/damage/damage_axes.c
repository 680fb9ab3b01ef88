/* SPDX-License-Identifier: MIT */
/*
 * Savers write no names of axes. What is assumed here:
 *   activations      [tokens, features], [tokens, batch, features] or [batch,
 *                    tokens, features]: the batch is the axis as long as the
 *                    batch size or, without one, the shorter one;
 *   attention        [batch, heads, tokens, head_dim] or with the two in the
 *                    middle exchanged: there are fewer heads than tokens; or
 *                    heads side by side in the last axis;
 *   probabilities    [batch, heads, query, key];
 *   weights          of three axes: the first is the experts'.
 * Where two readings are as good, none is taken.
 */
#include "damage/damage_axes.h"

#include <string.h>

#include "base/text.h"

/* Columns of a head in models of today; 80 and 96 are of some with 2560 or
 * 3072 features. */
static const int64_t head_dims[] = {256, 128, 96, 80, 64, 32};

enum { HEAD_DIMS = sizeof head_dims / sizeof *head_dims };

static bool is_attention(const struct tp_label *label)
{
    static const char *const names[] = {
        "q",           "k",     "v",           "query",
        "key",         "value", "query_layer", "key_layer",
        "value_layer", "qkv",   "attn_output", "attention_output",
        NULL};
    return (label->roles & TP_ROLE_ATTENTION) ||
           strstr(label->layer_type, "att") ||
           strstr(label->layer_type, "Att") ||
           !strcmp(label->component, "FA") ||
           tp_text_is_one_of(label->tensor_name, names);
}

static bool is_head_dim(int64_t length)
{
    for (int i = 0; i < HEAD_DIMS; i++) {
        if (length == head_dims[i])
            return true;
    }
    return false;
}

/* The axis of tokens of [a, b, features]. */
static int tokens_of_three(const int64_t *shape, int64_t batch)
{
    if (batch > 0 && (shape[0] == batch) != (shape[1] == batch))
        return shape[0] == batch ? 1 : 0;
    if (shape[0] == shape[1])
        return -1;
    return shape[0] > shape[1] ? 0 : 1;
}

static void set_attention(const int64_t *shape, int ndim, bool probabilities,
                          struct tp_damage_axes *axes)
{
    axes->heads_in_last = !probabilities && ndim < 4;
    if (ndim != 4)
        return;
    axes->features = -1;
    if (probabilities) {
        axes->heads = 1;
        axes->tokens = 2;
    } else if (is_head_dim(shape[3]) && shape[1] != shape[2]) {
        axes->heads = shape[1] < shape[2] ? 1 : 2;
        axes->tokens = 3 - axes->heads;
    }
}

struct tp_damage_axes tp_damage_axes_of(const struct tp_damage_plan *plan,
                                        const struct tp_label *label)
{
    const unsigned activation =
        TP_ROLE_ACTIVATION | TP_ROLE_GRAD_OUTPUT | TP_ROLE_GRAD_INPUT;
    const int64_t *shape = plan->tensor_shape;
    const int ndim = plan->tensor_ndim;
    struct tp_damage_axes axes = {-1, -1, -1, -1, false};
    if (!label)
        return axes;
    const bool probabilities = label->roles & TP_ROLE_ATTENTION;
    if ((label->roles & TP_ROLE_WEIGHT) && !probabilities) {
        axes.experts = ndim == 3 ? 0 : -1;
    } else if (label->roles & activation) {
        axes.features = ndim > 1 ? ndim - 1 : -1;
        if (ndim == 2)
            axes.tokens = 0;
        else if (ndim == 3)
            axes.tokens = tokens_of_three(shape, label->batch_size);
    }
    if (is_attention(label))
        set_attention(shape, ndim, probabilities && ndim == 4, &axes);
    return axes;
}

int64_t tp_damage_head_dim(int64_t first, int64_t end, int64_t length)
{
    int64_t best = 0;
    for (int i = 0; i < HEAD_DIMS; i++) {
        const int64_t dim = head_dims[i];
        if (length % dim || length < 2 * dim || first % dim || end % dim)
            continue;
        if (end - first == dim)
            return dim;
        best = best ? best : dim;
    }
    return best;
}

/* SPDX-License-Identifier: MIT */
/*
 * Normalisation: y = (x - mean) s w + b with s = 1/sqrt(var + eps) over a set,
 * off by (norm.c has es and ed)
 *
 *     |w| (|x - mean| es + ed s) + 3 u (|x| + |mean|) s |w| + 2 u |b|
 */
#include "replay/operators.h"

#include <math.h>

#include "replay/norm.h"

static void normalize(const struct tp_norm *norm,
                      const struct tp_norm_scale *scale, int64_t at,
                      struct tp_array *output)
{
    const int64_t k = tp_norm_place(norm, at);
    const double w = tp_norm_element(norm->weight, k, 1);
    const double b = tp_norm_element(norm->bias, k, 0);
    const double x = norm->input->value[at];
    const double size = fabs(x) + fabs(scale->mean), d = x - scale->mean;
    const double ed = tp_norm_deviation_bound(norm, scale, x);
    const double y = d * scale->scale;
    output->value[at] = y * w + b;
    output->bound[at] =
        fabs(w) *
            (fabs(d) * scale->scale_bound + ed * scale->scale +
             3 * norm->unit * size * scale->scale + norm->rounding * fabs(y)) +
        2 * norm->unit * fabs(b);
}

static void normalize_all(const struct tp_norm *norm, struct tp_array *output)
{
    for (int64_t i = 0; i < norm->layout.sets && norm->input->count; i++) {
        struct tp_norm_set set;
        struct tp_norm_scale scale;
        tp_norm_scale_of(norm, i, &set, &scale);
        TP_NORM_SET(&set, at)
        {
            normalize(norm, &scale, at, output);
        }
    }
}

static enum tp_status run(struct tp_replay_call *replay, tp_norm_bind_fn *bind,
                          struct tp_error *err)
{
    struct tp_norm norm = {.input = NULL};
    struct tp_array *output;
    enum tp_status status = bind(replay, &norm, err);
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, norm.input->dims,
                                        norm.input->shape, &output, err);
    if (status == TP_OK)
        normalize_all(&norm, output);
    return status;
}

TP_KERNEL(tp_run_layer_norm)
{
    (void)row;
    return run(replay, tp_norm_bind_layer, err);
}

TP_KERNEL(tp_run_rms_norm)
{
    (void)row;
    return run(replay, tp_norm_bind_rms, err);
}

TP_KERNEL(tp_run_group_norm)
{
    (void)row;
    return run(replay, tp_norm_bind_group, err);
}

TP_KERNEL(tp_run_batch_norm)
{
    (void)row;
    return run(replay, tp_norm_bind_batch, err);
}

TP_KERNEL(tp_run_instance_norm)
{
    (void)row;
    return run(replay, tp_norm_bind_instance, err);
}

/* Beside the result 1 / sqrt(mean square + eps), of each row. */
TP_KERNEL(tp_run_npu_rms_norm)
{
    struct tp_norm norm = {.input = NULL};
    struct tp_array *roots;
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status = run(replay, tp_norm_bind_npu_rms, err);
    (void)row;
    if (status == TP_OK)
        status = tp_norm_bind_npu_rms(replay, &norm, err);
    if (status != TP_OK || !tp_replay_result(replay, 1))
        return status;
    const int dims = norm.input->dims;
    for (int i = 0; i < dims; i++)
        shape[i] = i < dims - norm.weight->dims ? norm.input->shape[i] : 1;
    status = tp_replay_make_bounded(replay, dims, shape, &roots, err);
    for (int64_t i = 0; status == TP_OK && i < roots->count; i++) {
        struct tp_norm_set set;
        struct tp_norm_scale scale;
        tp_norm_scale_of(&norm, i, &set, &scale);
        roots->value[i] = scale.scale;
        roots->bound[i] = scale.scale_bound;
    }
    return status;
}

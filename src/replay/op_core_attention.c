/* SPDX-License-Identifier: MIT */
/*
 * Megatron's core attention, as tensor_saver has it: Q, K, V are [s, b, heads,
 * d], the result [s, b, heads * d], and the probabilities, if they were saved,
 * [b, heads, s, keys]; these are the attention to a unit matrix. Nobody saves
 * whether it is causal: what fits the saved result better is taken, and has to
 * fit half of it, as dropout and other masks, which nobody saves either, fit
 * nothing. Cost: the attention twice or three times.
 */
#include "replay/operators.h"

#include <math.h>
#include <string.h>

#include "replay/attention.h"

struct core {
    struct tp_replay_call *call;
    struct tp_attention attention;
    struct tp_array unit;  /* [keys, keys]                                  */
    bool weighed;          /* the dump has the probabilities                */
    struct tp_array saved; /* its result                                    */
};

static enum tp_status find_side(const struct tp_replay_call *call,
                                const char *name,
                                struct tp_attention_side *side,
                                struct tp_error *err)
{
    int64_t strides[TP_LIMIT_DIMS];
    enum tp_status status = tp_arg_tensor(call, name, &side->array, err);
    if (status == TP_OK && side->array->dims != 4)
        status = tp_replay_fail_shapes(err);
    if (status != TP_OK)
        return status;
    tp_array_strides(side->array, strides);
    side->row = strides[0];
    side->stack = strides[1];
    side->head = strides[2];
    return TP_OK;
}

static bool fit(struct tp_attention *a)
{
    const int64_t *q = a->q.array->shape, *k = a->k.array->shape,
                  *v = a->v.array->shape;
    a->stacks = q[1];
    a->heads = q[2];
    a->shared = k[2] > 0 ? q[2] / k[2] : 0;
    a->rows = q[0];
    a->keys = k[0];
    a->width = q[3];
    a->depth = v[3];
    a->scale = 1 / sqrt((double)a->width);
    return a->keys > 0 && a->shared > 0 && a->shared * k[2] == a->heads &&
           k[1] == q[1] && k[3] == q[3] && v[0] == k[0] && v[1] == k[1] &&
           v[2] == k[2];
}

static enum tp_status make_unit(struct core *c, struct tp_error *err)
{
    const int64_t keys = c->attention.keys, shape[2] = {keys, keys};
    enum tp_status status = tp_array_make(&c->unit, 2, shape, err);
    for (int64_t i = 0; status == TP_OK && i < keys; i++)
        c->unit.value[i * (keys + 1)] = 1;
    return status;
}

static enum tp_status load(struct core *c, struct tp_error *err)
{
    struct tp_attention *a = &c->attention;
    const struct tp_dump_item *item = tp_replay_result(c->call, c->weighed);
    enum tp_status status =
        item ? tp_array_read(item, &c->saved, err) : tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = find_side(c->call, "query", &a->q, err);
    if (status == TP_OK)
        status = find_side(c->call, "key", &a->k, err);
    if (status == TP_OK)
        status = find_side(c->call, "value", &a->v, err);
    if (status == TP_OK && !fit(a))
        status = tp_replay_fail_shapes(err);
    a->unit = c->call->unit;
    a->own = c->call->own;
    return status == TP_OK && c->weighed ? make_unit(c, err) : status;
}

static enum tp_status run_weights(struct core *c, struct tp_error *err)
{
    struct tp_attention a = c->attention;
    const int64_t shape[4] = {a.stacks, a.heads, a.rows, a.keys};
    const struct tp_attention_side at = {NULL, a.heads * a.rows * a.keys,
                                         a.rows * a.keys, a.keys};
    struct tp_array *output;
    a.v = (struct tp_attention_side){&c->unit, 0, 0, a.keys};
    a.depth = a.keys;
    enum tp_status status =
        tp_replay_make_bounded(c->call, 4, shape, &output, err);
    return status == TP_OK ? tp_attention_run(&a, &at, output, err) : status;
}

static enum tp_status run_output(struct core *c, struct tp_error *err)
{
    const struct tp_attention *a = &c->attention;
    const int64_t size = a->heads * a->depth;
    const int64_t shape[3] = {a->rows, a->stacks, size};
    const struct tp_attention_side at = {NULL, size, a->depth,
                                         a->stacks * size};
    struct tp_array *output;
    enum tp_status status =
        tp_replay_make_bounded(c->call, 3, shape, &output, err);
    return status == TP_OK ? tp_attention_run(a, &at, output, err) : status;
}

/* The share of the saved result that the one made last is near to: within eight
 * roundings of its dtype, of an element and of all by their root mean square.
 */
static double share_near(const struct core *c)
{
    const struct tp_array *out = &c->call->outputs[c->call->output_count - 1];
    const double u = 8 * c->call->own;
    double size = 0;
    int64_t near = 0;
    if (out->count != c->saved.count || out->count == 0)
        return 0;
    for (int64_t i = 0; i < out->count; i++)
        if (isfinite(out->value[i]))
            size += out->value[i] * out->value[i];
    size = sqrt(size / (double)out->count);
    for (int64_t i = 0; i < out->count; i++) {
        const double made = out->value[i], saved = c->saved.value[i];
        near += (isnan(made) && isnan(saved)) || made == saved ||
                fabs(made - saved) <= u * (fabs(made) + size);
    }
    return (double)near / (double)out->count;
}

/* Makes the results, causal or not, and how near they come. */
static enum tp_status run(struct core *c, bool causal, double *share,
                          struct tp_error *err)
{
    enum tp_status status = TP_OK;
    tp_replay_outputs_clear(c->call);
    c->attention.causal = causal;
    if (c->weighed)
        status = run_weights(c, err);
    if (status == TP_OK)
        status = run_output(c, err);
    if (status == TP_OK)
        *share = share_near(c);
    return status;
}

TP_KERNEL(tp_run_core_attention)
{
    struct core c = {.call = replay,
                     .weighed = tp_replay_result(replay, 1) != NULL};
    double causal = 0, full = 0;
    (void)row;
    enum tp_status status = load(&c, err);
    if (status == TP_OK)
        status = run(&c, false, &full, err);
    if (status == TP_OK)
        status = run(&c, true, &causal, err);
    if (status == TP_OK && full > causal)
        status = run(&c, false, &full, err);
    if (status == TP_OK && !replay->anew && fmax(full, causal) < 0.5)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "neither causal nor full attention without dropout "
                         "gives half of its result, and its mask and dropout "
                         "were not saved");
    tp_array_clear(&c.unit);
    tp_array_clear(&c.saved);
    return status;
}

/* --- the rows ------------------------------------------------------------- */

const struct tp_operator tp_saved_operators[] = {
    {.names = "linear_dgrad",
     .signature = "input,other",
     .run = tp_run_matmul,
     .parameters = ""},
    {.names = "core_attention",
     .signature = "query,key,value",
     .run = tp_run_core_attention,
     .parameters = ""},
    {.names = NULL}};

const struct tp_operator *tp_saved_operator_of(struct tp_msprobe_part name)
{
    for (const struct tp_operator *row = tp_saved_operators; row->names; row++)
        if (name.length == strlen(row->names) &&
            !memcmp(name.at, row->names, name.length))
            return row;
    return tp_operator_of(name);
}

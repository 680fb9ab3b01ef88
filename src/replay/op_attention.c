/* SPDX-License-Identifier: MIT */
/*
 * softmax(Q K^T scale + mask) V, one row of Q at a time: memory is one row of
 * scores. The bound of a score is that of a product of k terms, those of
 * probabilities as in softmax_math.h; fused kernels round probabilities to the
 * tensors' dtype before they meet V: own sum(p |v|); the sum over keys adds
 * gamma sum(p |v|). A row that masks every key is NaN in one implementation
 * and 0 in another, so its call is not replayed.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/softmax_math.h"

struct attention {
    const struct tp_replay_call *replay;
    const struct tp_array *q, *k, *v, *mask; /* mask: NULL, none             */
    struct tp_array *output;
    int64_t rows, keys, width, depth; /* L, S, E of Q and K, E of V          */
    double scale;
    bool causal;
    double *score, *bound; /* [keys]                                        */
    struct tp_array *weights; /* probabilities, too; NULL: not wanted        */
};

/* Where the matrices of a stack begin; in elements. */
struct place {
    int64_t q, k, v, mask, output;
    int64_t mask_row, mask_key; /* steps                                    */
};

static double score_of(const struct attention *a, const struct place *place,
                       int64_t row, int64_t key, double *bound)
{
    const double *q = a->q->value + place->q + row * a->width;
    const double *k = a->k->value + place->k + key * a->width;
    double sum = 0, magnitude = 0;
    for (int64_t i = 0; i < a->width; i++) {
        sum += q[i] * k[i];
        magnitude += fabs(q[i] * k[i]);
    }
    const double gamma = tp_replay_gamma(a->replay, (double)a->width + 3);
    *bound = gamma * magnitude * fabs(a->scale);
    double score = sum * a->scale;
    if (a->causal && key > row)
        score = -INFINITY;
    if (!a->mask)
        return score;
    const double m = a->mask->value[place->mask + row * place->mask_row +
                                    key * place->mask_key];
    if (a->mask->dtype == TP_BOOL)
        return m != 0 ? score : -INFINITY;
    *bound += a->replay->unit * (fabs(m) < INFINITY ? fabs(m) : 0);
    return score + m;
}

/* One row of the result; false: every key is masked. */
static bool run_row(const struct attention *a, const struct place *place,
                    int64_t row)
{
    bool any = false;
    for (int64_t key = 0; key < a->keys; key++) {
        a->score[key] = score_of(a, place, row, key, &a->bound[key]);
        any |= a->score[key] != -INFINITY;
    }
    const struct tp_softmax_line line = {a->score, a->bound, a->keys, 1,
                                         a->replay->unit};
    double *out = a->output->value + place->output + row * a->depth;
    double *off = a->output->bound + place->output + row * a->depth;
    if (!any)
        return false;
    /* The bounds of scores are read while those of probabilities are made. */
    tp_softmax_line(&line, a->score + a->keys, a->bound + a->keys);
    const double share =
        a->replay->own + tp_replay_gamma(a->replay, (double)a->keys + 2);
    if (a->weights) {
        const int64_t at = place->output / a->depth + row;
        memcpy(a->weights->value + at * a->keys, a->score + a->keys,
               (size_t)a->keys * sizeof *a->score);
        memcpy(a->weights->bound + at * a->keys, a->bound + a->keys,
               (size_t)a->keys * sizeof *a->bound);
    }
    for (int64_t key = 0; key < a->keys; key++) {
        const double p = a->score[a->keys + key];
        const double *v = a->v->value + place->v + key * a->depth;
        if (p == 0)
            continue;
        for (int64_t i = 0; i < a->depth; i++) {
            out[i] += p * v[i];
            off[i] += (a->bound[a->keys + key] + share * p) * fabs(v[i]);
        }
    }
    return true;
}

/* --- shapes --------------------------------------------------------------- */

static bool fit(struct attention *a)
{
    const int dims = a->q->dims;
    if (dims < 2 || a->k->dims != dims || a->v->dims != dims)
        return false;
    for (int i = 0; i < dims - 2; i++)
        if (a->k->shape[i] != a->v->shape[i] || a->k->shape[i] < 1 ||
            (a->k->shape[i] != a->q->shape[i] &&
             (i != dims - 3 || a->q->shape[i] % a->k->shape[i])))
            return false;
    a->rows = a->q->shape[dims - 2];
    a->keys = a->k->shape[dims - 2];
    a->width = a->q->shape[dims - 1];
    a->depth = a->v->shape[dims - 1];
    return a->k->shape[dims - 1] == a->width &&
           a->v->shape[dims - 2] == a->keys && a->keys > 0;
}

/* Each head of K serves as many of Q as there are more of these. */
static int64_t shared_stack(const struct attention *a, int64_t stack)
{
    const int axis = a->q->dims - 3;
    if (axis < 0)
        return stack;
    const int64_t heads = a->q->shape[axis], own = a->k->shape[axis];
    return stack / heads * own + stack % heads / (heads / own);
}

/* Strides of the mask for the scores' shape. */
static bool fit_mask(const struct attention *a, int64_t *strides)
{
    int64_t shape[TP_LIMIT_DIMS];
    for (int i = 0; i < a->q->dims; i++)
        shape[i] = a->q->shape[i];
    shape[a->q->dims - 1] = a->keys;
    return !a->mask || tp_array_broadcast(a->mask, a->q->dims, shape, strides);
}

static enum tp_status run_stacks(struct attention *a, struct tp_error *err)
{
    int64_t strides[TP_LIMIT_DIMS] = {0};
    const int dims = a->q->dims;
    struct tp_array_walk walk = {.dims = dims - 2, .shape = a->q->shape};
    if (!fit_mask(a, strides))
        return tp_replay_fail_shapes(err);
    for (int i = 0; i < dims - 2; i++)
        walk.strides[0][i] = strides[i];
    const int64_t size = a->rows * a->depth;
    const int64_t count = size ? a->output->count / size : 0;
    for (int64_t stack = 0; stack < count; stack++) {
        const int64_t shared = shared_stack(a, stack);
        const struct place place = {stack * a->rows * a->width,
                                    shared * a->keys * a->width,
                                    shared * a->keys * a->depth,
                                    walk.at[0],
                                    stack * size,
                                    strides[dims - 2],
                                    strides[dims - 1]};
        for (int64_t row = 0; row < a->rows; row++)
            if (!run_row(a, &place, row))
                return tp_fail(err, TP_E_UNSUPPORTED, -1,
                               "a row of its mask hides every key");
        tp_array_walk_next(&walk);
    }
    return TP_OK;
}

static enum tp_status bind(struct tp_replay_call *replay, struct attention *a,
                           struct tp_error *err)
{
    int64_t shape[TP_LIMIT_DIMS];
    enum tp_status status = tp_arg_tensor(replay, "query", &a->q, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "key", &a->k, err);
    if (status == TP_OK)
        status = tp_arg_tensor(replay, "value", &a->v, err);
    if (status == TP_OK && !fit(a))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK && tp_arg_real(replay, "dropout_p", 0) != 0)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1, "it drops at random");
    if (status != TP_OK)
        return status;
    a->mask = tp_arg_array(replay, "attn_mask");
    a->causal = tp_arg_integer(replay, "is_causal", 0);
    a->scale = tp_arg_real(replay, "scale", 1 / sqrt((double)a->width));
    for (int i = 0; i < a->q->dims; i++)
        shape[i] = a->q->shape[i];
    shape[a->q->dims - 1] = a->depth;
    return tp_replay_make_bounded(replay, a->q->dims, shape, &a->output, err);
}

static enum tp_status run(struct attention *a, struct tp_error *err)
{
    const size_t room = 2 * (size_t)a->keys;
    a->score = calloc(room, sizeof *a->score);
    a->bound = calloc(room, sizeof *a->bound);
    enum tp_status status =
        a->score && a->bound ? run_stacks(a, err) : tp_fail_memory(err);
    free(a->score);
    free(a->bound);
    return status;
}

TP_KERNEL(tp_run_attention)
{
    struct attention a = {.replay = replay};
    (void)row;
    enum tp_status status = bind(replay, &a, err);
    if (status != TP_OK)
        return status;
    return run(&a, err);
}

/* --- Megatron's core attention -------------------------------------------- */

/*
 * Q, K, V are [s, b, heads, d], the result [s, b, heads * d]; probabilities,
 * if they were saved, [b, heads, s, keys]. Nobody saves whether it is causal:
 * what fits the saved result better is taken, and has to fit half of it, as
 * dropout and other masks, which nobody saves either, fit nothing.
 */

/* A copy with its axes in another order. */
static enum tp_status permute(const struct tp_array *from, const int *axes,
                              struct tp_array *to, struct tp_error *err)
{
    int64_t shape[TP_LIMIT_DIMS], strides[TP_LIMIT_DIMS];
    struct tp_array_walk walk = {.dims = from->dims, .shape = shape};
    tp_array_strides(from, strides);
    for (int i = 0; i < from->dims; i++) {
        shape[i] = from->shape[axes[i]];
        walk.strides[0][i] = strides[axes[i]];
    }
    to->dtype = from->dtype;
    enum tp_status status = tp_array_make(to, from->dims, shape, err);
    for (int64_t i = 0; status == TP_OK && i < to->count; i++) {
        to->value[i] = from->value[walk.at[0]];
        tp_array_walk_next(&walk);
    }
    return status;
}

struct core {
    struct tp_replay_call *replay;
    struct tp_array in[3];        /* q, k, v: [b, heads, s, d]              */
    struct tp_array weights, out; /* [b, heads, s, keys], [b, heads, s, d]  */
    bool weighed; /* the dump has the probabilities                        */
};

static void clear_core(struct core *c)
{
    for (int i = 0; i < 3; i++)
        tp_array_clear(&c->in[i]);
    tp_array_clear(&c->weights);
    tp_array_clear(&c->out);
}

static enum tp_status load_core(struct core *c, struct tp_error *err)
{
    static const char *const names[3] = {"query", "key", "value"};
    static const int axes[4] = {1, 2, 0, 3};
    enum tp_status status = TP_OK;
    for (int i = 0; i < 3 && status == TP_OK; i++) {
        const struct tp_array *array;
        status = tp_arg_tensor(c->replay, names[i], &array, err);
        if (status == TP_OK && array->dims != 4)
            status = tp_replay_fail_shapes(err);
        if (status == TP_OK)
            status = permute(array, axes, &c->in[i], err);
    }
    return status;
}

/* Makes weights and out. */
static enum tp_status run_core(struct core *c, bool causal,
                               struct tp_error *err)
{
    struct attention a = {.replay = c->replay,
                          .q = &c->in[0],
                          .k = &c->in[1],
                          .v = &c->in[2],
                          .output = &c->out,
                          .weights = c->weighed ? &c->weights : NULL,
                          .causal = causal};
    int64_t shape[4];
    tp_array_clear(&c->weights);
    tp_array_clear(&c->out);
    if (!fit(&a))
        return tp_replay_fail_shapes(err);
    a.scale = 1 / sqrt((double)a.width);
    for (int i = 0; i < 4; i++)
        shape[i] = a.q->shape[i];
    shape[3] = a.depth;
    enum tp_status status = tp_array_make(&c->out, 4, shape, err);
    if (status == TP_OK)
        status = tp_array_bounds(&c->out, err);
    shape[3] = a.keys;
    if (status == TP_OK && c->weighed)
        status = tp_array_make(&c->weights, 4, shape, err);
    if (status == TP_OK && c->weighed)
        status = tp_array_bounds(&c->weights, err);
    return status == TP_OK ? run(&a, err) : status;
}

/* Adds out as the next result. */
static enum tp_status give_core(struct core *c, struct tp_error *err)
{
    const int64_t *from = c->out.shape; /* b, heads, s, d                   */
    const int64_t shape[3] = {from[2], from[0], from[1] * from[3]};
    struct tp_array *weights, *out;
    enum tp_status status = TP_OK;
    if (c->weighed) {
        status = tp_replay_make_bounded(c->replay, 4, c->weights.shape,
                                        &weights, err);
        if (status == TP_OK) {
            const size_t size = (size_t)weights->count * sizeof(double);
            memcpy(weights->value, c->weights.value, size);
            memcpy(weights->bound, c->weights.bound, size);
        }
    }
    if (status == TP_OK)
        status = tp_replay_make_bounded(c->replay, 3, shape, &out, err);
    for (int64_t i = 0; status == TP_OK && i < c->out.count; i++) {
        const int64_t d = i % from[3], s = i / from[3] % from[2],
                      head = i / from[3] / from[2] % from[1],
                      b = i / from[3] / from[2] / from[1];
        const int64_t at = ((s * from[0] + b) * from[1] + head) * from[3] + d;
        out->value[at] = c->out.value[i];
        out->bound[at] = c->out.bound[i];
    }
    return status;
}

/* The share of a saved result that the one made last is near to: within eight
 * roundings of its dtype, of an element and of all by their root mean square.
 */
static double share_near(const struct core *c, const struct tp_array *saved)
{
    const struct tp_array *out =
        &c->replay->outputs[c->replay->output_count - 1];
    const double u = 8 * c->replay->own;
    double size = 0;
    int64_t near = 0;
    if (out->count != saved->count || out->count == 0)
        return 0;
    for (int64_t i = 0; i < out->count; i++)
        size += out->value[i] * out->value[i];
    size = sqrt(size / (double)out->count);
    for (int64_t i = 0; i < out->count; i++)
        near += fabs(out->value[i] - saved->value[i]) <=
                u * (fabs(out->value[i]) + size);
    return (double)near / (double)out->count;
}

/* Runs it, and how near it comes. */
static enum tp_status try_core(struct core *c, bool causal,
                               const struct tp_array *saved, double *share,
                               struct tp_error *err)
{
    tp_replay_outputs_clear(c->replay);
    enum tp_status status = run_core(c, causal, err);
    if (status == TP_OK)
        status = give_core(c, err);
    if (status == TP_OK)
        *share = share_near(c, saved);
    return status;
}

TP_KERNEL(tp_run_core_attention)
{
    struct core c = {.replay = replay,
                     .weighed = tp_replay_result(replay, 1) != NULL};
    const struct tp_dump_item *item = tp_replay_result(replay, c.weighed);
    struct tp_array saved = {.dims = 0};
    double causal = 0, full = 0;
    (void)row;
    enum tp_status status =
        item ? tp_array_read(item, &saved, err) : tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = load_core(&c, err);
    if (status == TP_OK)
        status = try_core(&c, false, &saved, &full, err);
    if (status == TP_OK)
        status = try_core(&c, true, &saved, &causal, err);
    if (status == TP_OK && full > causal)
        status = try_core(&c, false, &saved, &full, err);
    if (status == TP_OK && !replay->anew && fmax(full, causal) < 0.5)
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "neither causal nor full attention without dropout "
                         "gives half of its result, and its mask and dropout "
                         "were not saved");
    clear_core(&c);
    tp_array_clear(&saved);
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * Attention as torch has it, [...][heads][rows][width], and as torch_npu has
 * it, whose layout says where stacks, heads and rows are (attention.h). Of
 * sequences that lie one below the other, TND, each is an attention of its own.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/attention.h"
#include "replay/backward.h"

/* Axes of a tensor, -1: it has none, and its lengths there. */
struct axes {
    int stack, head, row;
};

static int64_t length_of(const struct tp_array *array, int axis)
{
    return axis < 0 ? 1 : array->shape[axis];
}

static void set_side(struct tp_attention_side *side,
                     const struct tp_array *array, struct axes axes)
{
    int64_t strides[TP_LIMIT_DIMS];
    tp_array_strides(array, strides);
    side->array = array;
    side->stack = axes.stack < 0 ? 0 : strides[axes.stack];
    side->head = axes.head < 0 ? 0 : strides[axes.head];
    side->row = strides[axes.row];
}

static enum tp_status find_sides(const struct tp_replay_call *call,
                                 struct tp_attention *a, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(call, "query", &a->q.array, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "key", &a->k.array, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "value", &a->v.array, err);
    a->unit = call->unit;
    a->own = call->own;
    return status;
}

/* --- scaled_dot_product_attention ----------------------------------------- */

/* Lengths in front of the heads; those of all three are the same. */
static bool fit_stacks(struct tp_attention *a)
{
    const int dims = a->q.array->dims;
    a->stacks = 1;
    for (int i = 0; i < dims - 3; i++) {
        a->stacks *= a->q.array->shape[i];
        if (a->k.array->shape[i] != a->q.array->shape[i] ||
            a->v.array->shape[i] != a->q.array->shape[i])
            return false;
    }
    return true;
}

/* A side [...][heads][rows][width]. */
static void set_torch_side(struct tp_attention_side *side)
{
    const struct tp_array *array = side->array;
    const int dims = array->dims;
    side->row = array->shape[dims - 1];
    side->head = side->row * array->shape[dims - 2];
    side->stack = side->head * (dims > 2 ? array->shape[dims - 3] : 1);
}

static bool fit_torch(struct tp_attention *a)
{
    const struct tp_array *q = a->q.array, *k = a->k.array, *v = a->v.array;
    const int dims = q->dims;
    if (dims < 2 || k->dims != dims || v->dims != dims || !fit_stacks(a))
        return false;
    a->heads = dims > 2 ? q->shape[dims - 3] : 1;
    const int64_t own = dims > 2 ? k->shape[dims - 3] : 1;
    a->shared = own > 0 ? a->heads / own : 1;
    a->rows = q->shape[dims - 2];
    a->keys = k->shape[dims - 2];
    a->width = q->shape[dims - 1];
    a->depth = v->shape[dims - 1];
    set_torch_side(&a->q);
    set_torch_side(&a->k);
    set_torch_side(&a->v);
    return k->shape[dims - 1] == a->width && v->shape[dims - 2] == a->keys &&
           a->keys > 0 && a->width > 0 &&
           (dims < 3 || v->shape[dims - 3] == own) &&
           a->heads == a->shared * own;
}

static bool fit_mask(struct tp_attention *a)
{
    a->dims = a->q.array->dims;
    for (int i = 0; i < a->dims - 1; i++)
        a->shape[i] = a->q.array->shape[i];
    a->shape[a->dims - 1] = a->keys;
    return tp_attention_fit(a, &a->mask);
}

static enum tp_status bind_torch(const struct tp_replay_call *call,
                                 struct tp_attention *a, struct tp_error *err)
{
    enum tp_status status = find_sides(call, a, err);
    if (status == TP_OK && tp_arg_real(call, "dropout_p", 0) != 0)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "it drops at random");
    if (status != TP_OK)
        return status;
    a->mask.array = tp_arg_array(call, "attn_mask");
    a->causal = tp_arg_integer(call, "is_causal", 0);
    if (!fit_torch(a) || !fit_mask(a))
        return tp_replay_fail_shapes(err);
    a->scale = tp_arg_real(call, "scale", 1 / sqrt((double)a->width));
    return TP_OK;
}

/* How the result lies. */
static struct tp_attention_side torch_result(const struct tp_attention *a)
{
    return (struct tp_attention_side){NULL, a->heads * a->rows * a->depth,
                                      a->rows * a->depth, a->depth};
}

TP_KERNEL(tp_run_attention)
{
    struct tp_attention a = {.causal = false};
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = bind_torch(replay, &a, err);
    if (status != TP_OK)
        return status;
    const int dims = a.q.array->dims;
    for (int i = 0; i < dims; i++)
        shape[i] = a.q.array->shape[i];
    shape[dims - 1] = a.depth;
    status = tp_replay_make_bounded(replay, dims, shape, &output, err);
    const struct tp_attention_side at = torch_result(&a);
    return status == TP_OK ? tp_attention_run(&a, &at, output, err) : status;
}

/* --- npu_fusion_attention ------------------------------------------------- */

/* The axes of a layout; H is of all heads, D of one. */
static bool axes_of(const char *layout, struct axes *axes)
{
    static const struct {
        const char *name;
        struct axes axes;
    } layouts[] = {{"BSH", {0, -1, 1}},
                   {"SBH", {1, -1, 0}},
                   {"BSND", {0, 2, 1}},
                   {"BNSD", {0, 1, 2}}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (!strcmp(layouts[i].name, layout)) {
            *axes = layouts[i].axes;
            return true;
        }
    return false;
}

/* A side of a layout and so many heads; their width. 0: they do not fit. */
static int64_t set_npu_side(struct tp_attention_side *side, struct axes axes,
                            int64_t heads)
{
    const struct tp_array *array = side->array;
    const int dims = axes.head < 0 ? 3 : 4;
    if (array->dims != dims || heads < 1)
        return 0;
    const int64_t last = array->shape[dims - 1];
    set_side(side, array, axes);
    if (axes.head >= 0)
        return array->shape[axes.head] == heads ? last : 0;
    side->head = last / heads;
    return last % heads ? 0 : last / heads;
}

/* Heads of K: as many as their own axis has, or as fit the width of Q. */
static int64_t heads_of(const struct tp_array *array, struct axes axes,
                        int64_t width)
{
    return axes.head >= 0 ? array->shape[axes.head]
                          : array->shape[array->dims - 1] / width;
}

static bool fit_npu(struct tp_attention *a, struct axes axes, int64_t heads)
{
    const int dims = axes.head < 0 ? 3 : 4;
    a->heads = heads;
    a->width = set_npu_side(&a->q, axes, heads);
    if (a->width == 0 || a->k.array->dims != dims || a->v.array->dims != dims)
        return false;
    const int64_t own = heads_of(a->k.array, axes, a->width);
    if (own < 1 || heads % own || set_npu_side(&a->k, axes, own) != a->width)
        return false;
    a->depth = set_npu_side(&a->v, axes, own);
    a->shared = heads / own;
    a->stacks = length_of(a->q.array, axes.stack);
    a->rows = length_of(a->q.array, axes.row);
    a->keys = length_of(a->k.array, axes.row);
    return a->depth > 0 && a->keys > 0 &&
           length_of(a->k.array, axes.stack) == a->stacks &&
           length_of(a->v.array, axes.stack) == a->stacks &&
           length_of(a->v.array, axes.row) == a->keys;
}

/* Terms are of [rows][keys], or with heads and stacks in front of these. */
static bool fit_terms(struct tp_attention *a)
{
    const int64_t shape[4] = {a->stacks, a->heads, a->rows, a->keys};
    a->dims = 4;
    memcpy(a->shape, shape, sizeof shape);
    return tp_attention_fit(a, &a->mask) && tp_attention_fit(a, &a->bias);
}

/* What a sparse mode hides; torch_npu documents them. */
static bool set_sparse(const struct tp_replay_call *call,
                       struct tp_attention *a)
{
    const int64_t mode = tp_arg_integer(call, "sparse_mode", 0);
    const int64_t next = tp_arg_integer(call, "next_tockens", INT32_MAX);
    const int64_t before = tp_arg_integer(call, "pre_tockens", INT32_MAX);
    a->causal = mode == 2 || mode == 3;
    a->ahead = mode == 3 ? a->keys - a->rows : 0;
    if (a->causal) { /* the mask is a pattern of its own                     */
        a->mask.array = NULL;
        return true;
    }
    if (mode == 0 && a->mask.array && next < a->keys) {
        a->causal = true;
        a->ahead = next;
    }
    return mode == 1 || (mode == 0 && (!a->mask.array || before >= a->rows) &&
                         (!a->causal || a->rows == a->keys));
}

static enum tp_status bind_npu(const struct tp_replay_call *call,
                               struct tp_attention *a, struct axes *axes,
                               struct tp_error *err)
{
    enum tp_status status = find_sides(call, a, err);
    if (status != TP_OK)
        return status;
    if (!axes_of(tp_arg_text(call, "input_layout", ""), axes))
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "its layout is not replayed");
    if (tp_arg_real(call, "keep_prob", 1) != 1)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "it drops at random");
    if (!fit_npu(a, *axes, tp_arg_integer(call, "head_num", 0)))
        return tp_replay_fail_shapes(err);
    a->mask.array = tp_arg_array(call, "atten_mask");
    a->bias.array = tp_arg_array(call, "pse");
    a->hides = TP_ATTENTION_TRUE;
    a->scale = tp_arg_real(call, "scale", 1);
    if (!set_sparse(call, a))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its sparse mode is not replayed");
    return fit_terms(a) ? TP_OK : tp_replay_fail_shapes(err);
}

/* --- TND: sequences one below the other ----------------------------------- */

/* Where the sequences of [tokens][heads][width] end. */
struct sequences {
    int64_t count;
    int64_t *rows, *keys; /* ends                                           */
};

static bool is_packed(const struct tp_replay_call *call)
{
    return !strcmp(tp_arg_text(call, "input_layout", ""), "TND");
}

/* Ends that rise up to all tokens. */
static bool read_ends(const struct tp_replay_call *call, const char *name,
                      int64_t all, int64_t count, int64_t *ends)
{
    int64_t before = 0;
    if (tp_arg_numbers(call, name, ends, count) != count)
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (ends[i] < before)
            return false;
        before = ends[i];
    }
    return before == all;
}

static enum tp_status find_sequences(const struct tp_replay_call *call,
                                     const struct tp_attention *a,
                                     struct sequences *s, struct tp_error *err)
{
    s->count = tp_arg_numbers(call, "actual_seq_qlen", NULL, 0);
    s->rows = calloc(2 * (size_t)s->count + 1, sizeof *s->rows);
    if (!s->rows)
        return tp_fail_memory(err);
    s->keys = s->rows + s->count;
    return s->count > 0 &&
                   read_ends(call, "actual_seq_qlen", a->q.array->shape[0],
                             s->count, s->rows) &&
                   read_ends(call, "actual_seq_kvlen", a->k.array->shape[0],
                             s->count, s->keys)
               ? TP_OK
               : tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the lengths of its sequences are not those of its "
                         "tensors");
}

static bool fit_packed(const struct tp_replay_call *call,
                       struct tp_attention *a)
{
    const struct tp_array *q = a->q.array, *k = a->k.array, *v = a->v.array;
    static const struct axes axes = {-1, 1, 0};
    if (q->dims != 3 || k->dims != 3 || v->dims != 3 || k->shape[1] < 1)
        return false;
    set_side(&a->q, q, axes);
    set_side(&a->k, k, axes);
    set_side(&a->v, v, axes);
    a->stacks = 1;
    a->heads = q->shape[1];
    a->shared = a->heads / k->shape[1];
    a->width = q->shape[2];
    a->depth = v->shape[2];
    return a->heads == tp_arg_integer(call, "head_num", 0) &&
           a->shared * k->shape[1] == a->heads && a->shared > 0 &&
           k->shape[2] == a->width && v->shape[0] == k->shape[0] &&
           v->shape[1] == k->shape[1] && a->width > 0 && a->depth > 0;
}

static enum tp_status bind_packed(const struct tp_replay_call *call,
                                  struct tp_attention *a, struct sequences *s,
                                  struct tp_error *err)
{
    const int64_t mode = tp_arg_integer(call, "sparse_mode", 0);
    enum tp_status status = find_sides(call, a, err);
    if (status != TP_OK)
        return status;
    if (tp_arg_real(call, "keep_prob", 1) != 1)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "it drops at random");
    if (tp_arg_array(call, "pse") ||
        (tp_arg_array(call, "atten_mask") && mode != 2 && mode != 3))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its mask or bias is not replayed with this layout");
    if (!fit_packed(call, a))
        return tp_replay_fail_shapes(err);
    a->hides = TP_ATTENTION_TRUE;
    a->scale = tp_arg_real(call, "scale", 1);
    return find_sequences(call, a, s, err);
}

/* A tensor from a token on. */
static struct tp_array from_token(const struct tp_array *array, int64_t token)
{
    struct tp_array part = *array;
    const int64_t at = token * array->shape[1] * array->shape[2];
    part.value += at;
    if (part.bound)
        part.bound += at;
    return part;
}

/* What a sequence is run on. */
struct packed {
    const struct tp_replay_call *call;
    const struct tp_attention *all;
    const struct tp_array *given; /* the gradient; NULL: forward            */
    struct tp_array *made[3];     /* the result, or gradients               */
};

static enum tp_status run_sequence(const struct packed *p,
                                   const struct sequences *s, int64_t number,
                                   struct tp_error *err)
{
    static const struct axes axes = {-1, 1, 0};
    struct tp_attention a = *p->all;
    struct tp_attention_side at;
    const int64_t row = number ? s->rows[number - 1] : 0;
    const int64_t key = number ? s->keys[number - 1] : 0;
    const struct tp_array q = from_token(a.q.array, row);
    const struct tp_array k = from_token(a.k.array, key);
    const struct tp_array v = from_token(a.v.array, key);
    a.q.array = &q;
    a.k.array = &k;
    a.v.array = &v;
    a.rows = s->rows[number] - row;
    a.keys = s->keys[number] - key;
    if (!set_sparse(p->call, &a))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its sparse mode is not replayed");
    if (!fit_terms(&a) || (a.keys == 0 && a.rows > 0))
        return tp_replay_fail_shapes(err);
    struct tp_array first = from_token(p->made[0], row);
    if (!p->given) {
        set_side(&at, &first, axes);
        return tp_attention_run(&a, &at, &first, err);
    }
    const struct tp_array given = from_token(p->given, row);
    struct tp_array of_k = from_token(p->made[1], key);
    struct tp_array of_v = from_token(p->made[2], key);
    struct tp_array *const gradients[3] = {&first, &of_k, &of_v};
    set_side(&at, &given, axes);
    return tp_attention_gradients(&a, &at, gradients, err);
}

static enum tp_status run_packed(struct tp_replay_call *replay,
                                 struct tp_error *err)
{
    struct tp_attention a = {.causal = false};
    struct sequences s = {.rows = NULL};
    struct packed packed = {.call = replay, .all = &a};
    enum tp_status status = bind_packed(replay, &a, &s, err);
    const int64_t shape[3] = {status == TP_OK ? a.q.array->shape[0] : 0,
                              a.heads, a.depth};
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, 3, shape, &packed.made[0], err);
    for (int64_t i = 0; i < s.count && status == TP_OK; i++)
        status = run_sequence(&packed, &s, i, err);
    free(s.rows);
    return status;
}

static enum tp_status back_packed(struct tp_backward *backward,
                                  const struct tp_array *given,
                                  struct tp_error *err)
{
    struct tp_attention a = {.causal = false};
    struct sequences s = {.rows = NULL};
    struct tp_array *next;
    struct packed packed = {
        .call = backward->forward, .all = &a, .given = given};
    enum tp_status status = bind_packed(backward->forward, &a, &s, err);
    if (status == TP_OK &&
        (given->dims != 3 || given->shape[0] != a.q.array->shape[0] ||
         given->shape[1] != a.heads || given->shape[2] != a.depth))
        status = tp_replay_fail_shapes(err);
    const struct tp_array *const sides[3] = {a.q.array, a.k.array, a.v.array};
    for (int i = 0; i < 3 && status == TP_OK; i++)
        status = tp_backward_make_like(backward, sides[i], &next, err);
    for (int i = 0; i < 3 && status == TP_OK; i++)
        packed.made[i] = &backward->made[i];
    for (int64_t i = 0; i < s.count && status == TP_OK; i++)
        status = run_sequence(&packed, &s, i, err);
    free(s.rows);
    return status;
}

/* --- one shape for all ---------------------------------------------------- */

/* The result lies as Q, with the depth of V. */
static int npu_shape(const struct tp_attention *a, struct axes axes,
                     int64_t *shape)
{
    const int dims = a->q.array->dims;
    for (int i = 0; i < dims; i++)
        shape[i] = a->q.array->shape[i];
    shape[dims - 1] = axes.head < 0 ? a->heads * a->depth : a->depth;
    return dims;
}

/* What stands beside the attention are sums of the kernel's own: not judged. */
TP_KERNEL(tp_run_npu_attention)
{
    struct tp_attention a = {.causal = false};
    struct tp_attention_side at;
    struct axes axes;
    struct tp_array *output;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    if (is_packed(replay))
        return run_packed(replay, err);
    enum tp_status status = bind_npu(replay, &a, &axes, err);
    if (status != TP_OK)
        return status;
    const int dims = npu_shape(&a, axes, shape);
    status = tp_replay_make_bounded(replay, dims, shape, &output, err);
    if (status != TP_OK)
        return status;
    set_side(&at, output, axes);
    if (axes.head < 0)
        at.head = a.depth;
    return tp_attention_run(&a, &at, output, err);
}

/* --- gradients: (query, key, value) --------------------------------------- */

static enum tp_status back(struct tp_backward *backward,
                           const struct tp_attention *a,
                           const struct tp_attention_side *given,
                           struct tp_error *err)
{
    struct tp_array *next, *gradients[3];
    const struct tp_array *sides[3] = {a->q.array, a->k.array, a->v.array};
    enum tp_status status = TP_OK;
    for (int i = 0; i < 3 && status == TP_OK; i++)
        status = tp_backward_make_like(backward, sides[i], &next, err);
    for (int i = 0; i < 3; i++)
        gradients[i] = &backward->made[i];
    return status == TP_OK ? tp_attention_gradients(a, given, gradients, err)
                           : status;
}

/* The node of the last product, of probabilities and V. */
static enum tp_status back_product(struct tp_backward *backward,
                                   const struct tp_attention *a,
                                   const struct tp_attention_side *given,
                                   struct tp_error *err)
{
    struct tp_array *next;
    enum tp_status status =
        tp_backward_make(backward, a->dims, a->shape, &next, err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, a->v.array, &next, err);
    if (status != TP_OK)
        return status;
    struct tp_array *const gradients[3] = {&backward->made[0], NULL,
                                           &backward->made[1]};
    return tp_attention_gradients(a, given, gradients, err);
}

/* Without a fused kernel the node is that of the last product; of stacks, that
 * is the view of it. */
TP_BACKWARD(tp_back_attention)
{
    struct tp_attention a = {.causal = false};
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK && tp_backward_arity(backward) == 1)
        return tp_backward_view(backward, given, 0, err);
    if (status == TP_OK)
        status = bind_torch(backward->forward, &a, err);
    if (status != TP_OK)
        return status;
    if (given->count != a.stacks * a.heads * a.rows * a.depth)
        return tp_replay_fail_shapes(err);
    struct tp_attention_side at = torch_result(&a);
    at.array = given;
    return tp_backward_arity(backward) == 2
               ? back_product(backward, &a, &at, err)
               : back(backward, &a, &at, err);
}

TP_BACKWARD(tp_back_npu_attention)
{
    struct tp_attention a = {.causal = false};
    struct tp_attention_side at;
    struct axes axes;
    int64_t shape[TP_LIMIT_DIMS];
    const struct tp_array *given;
    (void)row;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK && is_packed(backward->forward))
        return back_packed(backward, given, err);
    if (status == TP_OK)
        status = bind_npu(backward->forward, &a, &axes, err);
    if (status != TP_OK)
        return status;
    const int dims = npu_shape(&a, axes, shape);
    if (given->dims != dims ||
        memcmp(given->shape, shape, (size_t)dims * sizeof *shape) != 0)
        return tp_replay_fail_shapes(err);
    set_side(&at, given, axes);
    if (axes.head < 0)
        at.head = a.depth;
    return back(backward, &a, &at, err);
}

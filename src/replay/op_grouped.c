/* SPDX-License-Identifier: MIT */
/*
 * npu_grouped_matmul, the products of a mixture of experts: rows of X in
 * groups, each times a matrix of its own, plus a bias; or what is summed over
 * in groups, which gives a matrix for each. By rows X is one tensor whose rows
 * `group_list` shares out, or one for each group; weights are matrices or one
 * stack of these; results are one for each group or, by split_item, one below
 * the other. Each group is a contraction (contract.h) of stretches of these
 * tensors, no element is copied. Gradients: (x..., weight..., bias...).
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>

#include "replay/backward.h"
#include "replay/contract.h"

/* Tensors of a list, or a tensor that has one for each group. */
struct list {
    const struct tp_array **arrays;
    size_t count;
};

struct grouped {
    struct list x, weight, bias;
    int64_t groups;
    int64_t *ends; /* of the groups' rows, all of X below one another       */
    bool joined;   /* one result                                            */
};

static void clear(struct grouped *g)
{
    free(g->x.arrays);
    free(g->weight.arrays);
    free(g->bias.arrays);
    free(g->ends);
}

static enum tp_status find_list(const struct tp_replay_call *call,
                                const char *name, struct list *list,
                                struct tp_error *err)
{
    list->arrays = malloc((call->call->count + 1) * sizeof *list->arrays);
    if (!list->arrays)
        return tp_fail_memory(err);
    list->count = tp_arg_arrays(call, name, list->arrays);
    return TP_OK;
}

static int64_t length_at(const struct tp_array *array, int from_last)
{
    return array->dims > from_last ? array->shape[array->dims - 1 - from_last]
                                   : 1;
}

static int64_t rows_of(const struct tp_array *x)
{
    const int64_t width = length_at(x, 0);
    return width ? x->count / width : 0;
}

/* --- which rows are of which group ---------------------------------------- */

/* Ends that the group list has, or whose distances it has; whether they are so
 * many, up to `all`. */
static bool read_ends(const struct tp_replay_call *call, int64_t all,
                      int64_t groups, int64_t *ends)
{
    const int64_t type = tp_arg_integer(call, "group_list_type", 0);
    int64_t before = 0;
    if (tp_arg_numbers(call, "group_list", ends, groups) != groups ||
        type < 0 || type > 1)
        return false;
    for (int64_t i = 0; i < groups; i++) {
        if (ends[i] < 0 || ends[i] > all)
            return false;
        ends[i] += type ? before : 0;
        if (ends[i] < before)
            return false;
        before = ends[i];
    }
    return before == all;
}

/* Of as many tensors as groups, each has its rows. */
static bool set_ends(const struct tp_replay_call *call, struct grouped *g)
{
    int64_t end = 0;
    if (g->x.count == 1 && (g->groups != 1 || tp_arg(call, "group_list")))
        return read_ends(call, rows_of(g->x.arrays[0]), g->groups, g->ends);
    if ((int64_t)g->x.count != g->groups)
        return false;
    for (int64_t i = 0; i < g->groups; i++)
        g->ends[i] = end += rows_of(g->x.arrays[i]);
    return true;
}

static int64_t first_row(const struct grouped *g, int64_t group)
{
    return group ? g->ends[group - 1] : 0;
}

static int64_t rows_in(const struct grouped *g, int64_t group)
{
    return g->ends[group] - first_row(g, group);
}

/* --- stretches ------------------------------------------------------------ */

/* Elements from `first` on, as a tensor of their own. */
static struct tp_array stretch(const struct tp_array *array, int64_t first,
                               int64_t count)
{
    struct tp_array part = {.dtype = array->dtype,
                            .dims = 1,
                            .shape = {count},
                            .count = count,
                            .value = array->value + first};
    part.bound = array->bound ? array->bound + first : NULL;
    return part;
}

/* The part of a group in tensors of so many columns, whose rows are X's. */
static struct tp_array rows_part(const struct grouped *g,
                                 const struct tp_array *array, bool all,
                                 int64_t group, int64_t columns)
{
    return stretch(array, all ? first_row(g, group) * columns : 0,
                   rows_in(g, group) * columns);
}

/* The part of a group in weights or biases. */
static struct tp_array weight_part(const struct tp_array *array, bool all,
                                   int64_t groups, int64_t group)
{
    const int64_t size = all ? array->count / groups : array->count;
    return stretch(array, all ? group * size : 0, size);
}

static const struct tp_array *item(const struct list *list, int64_t group)
{
    return list->arrays[list->count == 1 ? 0 : group];
}

static int64_t width_of(const struct grouped *g, int64_t group)
{
    return length_at(item(&g->x, group), 0);
}

static int64_t depth_of(const struct grouped *g, int64_t group)
{
    return length_at(item(&g->weight, group), 0);
}

/* --- arguments ------------------------------------------------------------ */

static bool fit_list(const struct grouped *g, const struct list *list,
                     int64_t group, int64_t size)
{
    const bool all = list->count == 1;
    if (!all && (int64_t)list->count != g->groups)
        return false;
    return item(list, group)->count == size * (all ? g->groups : 1);
}

static bool fit(const struct grouped *g)
{
    for (int64_t i = 0; i < g->groups; i++) {
        const int64_t k = width_of(g, i), n = depth_of(g, i);
        if (!fit_list(g, &g->weight, i, k * n) ||
            length_at(item(&g->weight, i), 1) != k ||
            (g->bias.count && !fit_list(g, &g->bias, i, n)) ||
            (g->joined && n != depth_of(g, 0)))
            return false;
    }
    return true;
}

/* Whether it multiplies numbers as they are. */
static bool is_plain(const struct tp_replay_call *call)
{
    static const char *const others[] = {"scale",           "offset",
                                         "antiquant_scale", "antiquant_offset",
                                         "per_token_scale", "activation_input"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tp_arg_array(call, others[i]))
            return false;
    const int64_t split = tp_arg_integer(call, "split_item", 0);
    return split >= 0 && split <= 3 && tp_arg_integer(call, "act_type", 0) == 0;
}

static enum tp_status fail_form(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "with scales, an activation or groups of columns it is not "
                   "replayed");
}

static enum tp_status bind(const struct tp_replay_call *call, struct grouped *g,
                           struct tp_error *err)
{
    if (!is_plain(call) || tp_arg_integer(call, "group_type", -1) > 0)
        return fail_form(err);
    enum tp_status status = find_list(call, "x", &g->x, err);
    if (status == TP_OK)
        status = find_list(call, "weight", &g->weight, err);
    if (status == TP_OK)
        status = find_list(call, "bias", &g->bias, err);
    if (status != TP_OK)
        return status;
    if (g->x.count == 0 || g->weight.count == 0)
        return tp_replay_fail_shapes(err);
    const struct tp_array *first = g->weight.arrays[0];
    if (first->count == 0)
        return tp_replay_fail_shapes(err);
    g->groups = g->weight.count == 1 && first->dims == 3
                    ? first->shape[0]
                    : (int64_t)g->weight.count;
    g->joined = tp_arg_integer(call, "split_item", 0) > 1;
    g->ends = calloc((size_t)g->groups + 1, sizeof *g->ends);
    if (!g->ends)
        return tp_fail_memory(err);
    return g->groups > 0 && set_ends(call, g) && fit(g)
               ? TP_OK
               : tp_replay_fail_shapes(err);
}

/* --- products ------------------------------------------------------------- */

/* Lengths of the left, right and summed axis, and their steps in each side. */
struct steps {
    int64_t length[3], left[3], right[3], output[3];
};

static enum tp_status multiply(const struct tp_array *left,
                               const struct tp_array *right,
                               struct tp_array *output,
                               const struct steps *steps, double unit,
                               struct tp_error *err)
{
    struct tp_contraction c = {
        .left = left, .right = right, .output = output, .unit = unit};
    for (int i = 0; i < 3; i++)
        c.axes[c.count++] =
            (struct tp_contract_axis){steps->length[i], steps->left[i],
                                      steps->right[i], steps->output[i], i < 2};
    return tp_contract(&c, err);
}

static enum tp_status run_group(const struct tp_replay_call *replay,
                                const struct grouped *g, int64_t group,
                                const struct tp_array *output,
                                struct tp_error *err)
{
    const int64_t k = width_of(g, group), n = depth_of(g, group);
    const struct tp_array x =
        rows_part(g, item(&g->x, group), g->x.count == 1, group, k);
    const struct tp_array weight = weight_part(
        item(&g->weight, group), g->weight.count == 1, g->groups, group);
    struct tp_array part = rows_part(g, output, g->joined, group, n);
    const struct steps steps = {
        {rows_in(g, group), n, k}, {k, 0, 1}, {0, 1, n}, {n, 1, 0}};
    enum tp_status status =
        multiply(&x, &weight, &part, &steps, replay->unit, err);
    if (status == TP_OK && g->bias.count && n) {
        const struct tp_array bias = weight_part(
            item(&g->bias, group), g->bias.count == 1, g->groups, group);
        tp_add_bias(replay, &bias, &part);
    }
    return status;
}

/* --- groups of what is summed --------------------------------------------- */

/* One X [m][k] and one weight [k][n], whose k the group list shares out: a
 * matrix [m][n] for each group, as gradients of a mixture's weights are. */
struct summed {
    const struct tp_array *x, *weight;
    int64_t groups, *ends;
    int64_t m, k, n;
};

static bool is_summed(const struct tp_replay_call *call)
{
    return tp_arg_integer(call, "group_type", -1) == 2;
}

static enum tp_status bind_summed(const struct tp_replay_call *call,
                                  struct summed *s, struct tp_error *err)
{
    if (!is_plain(call) || tp_arg_array(call, "bias"))
        return fail_form(err);
    enum tp_status status = tp_arg_tensor(call, "x", &s->x, err);
    if (status == TP_OK)
        status = tp_arg_tensor(call, "weight", &s->weight, err);
    if (status != TP_OK)
        return status;
    s->groups = tp_arg_numbers(call, "group_list", NULL, 0);
    s->ends = calloc((size_t)s->groups + 1, sizeof *s->ends);
    if (!s->ends)
        return tp_fail_memory(err);
    s->m = length_at(s->x, 1);
    s->k = length_at(s->x, 0);
    s->n = length_at(s->weight, 0);
    return s->x->dims == 2 && s->weight->dims == 2 && s->groups > 0 &&
                   s->weight->shape[0] == s->k &&
                   read_ends(call, s->k, s->groups, s->ends)
               ? TP_OK
               : tp_replay_fail_shapes(err);
}

/* Where a group begins, and how long it is. */
static int64_t first_of(const struct summed *s, int64_t group, int64_t *length)
{
    const int64_t first = group ? s->ends[group - 1] : 0;
    *length = s->ends[group] - first;
    return first;
}

static enum tp_status run_summed(struct tp_replay_call *replay,
                                 struct tp_error *err)
{
    struct summed s = {.ends = NULL};
    struct tp_array *output;
    enum tp_status status = bind_summed(replay, &s, err);
    const int64_t shape[3] = {s.groups, s.m, s.n};
    if (status == TP_OK)
        status = tp_replay_make_bounded(replay, 3, shape, &output, err);
    for (int64_t i = 0; i < s.groups && status == TP_OK; i++) {
        int64_t length;
        const int64_t first = first_of(&s, i, &length);
        const struct tp_array x = stretch(s.x, first, s.m * s.k - first);
        const struct tp_array weight =
            stretch(s.weight, first * s.n, length * s.n);
        struct tp_array part = stretch(output, i * s.m * s.n, s.m * s.n);
        const struct steps steps = {
            {s.m, s.n, length}, {s.k, 0, 1}, {0, 1, s.n}, {s.n, 1, 0}};
        status = multiply(&x, &weight, &part, &steps, replay->unit, err);
    }
    free(s.ends);
    return status;
}

static enum tp_status back_summed_group(struct tp_backward *backward,
                                        const struct summed *s, int64_t group,
                                        const struct tp_array *came,
                                        struct tp_error *err)
{
    int64_t length;
    const int64_t first = first_of(s, group, &length);
    const double unit = backward->call->unit;
    const struct tp_array given =
        stretch(came, group * s->m * s->n, s->m * s->n);
    const struct tp_array x = stretch(s->x, first, s->m * s->k - first);
    const struct tp_array weight =
        stretch(s->weight, first * s->n, length * s->n);
    struct tp_array dx =
        stretch(&backward->made[0], first, s->m * s->k - first);
    struct tp_array dw =
        stretch(&backward->made[1], first * s->n, length * s->n);
    const struct steps of_x = {
        {s->m, length, s->n}, {s->n, 0, 1}, {0, s->n, 1}, {s->k, 1, 0}};
    const struct steps of_w = {
        {length, s->n, s->m}, {1, 0, s->k}, {0, 1, s->n}, {s->n, 1, 0}};
    if (length == 0)
        return TP_OK;
    enum tp_status status = multiply(&given, &weight, &dx, &of_x, unit, err);
    return status == TP_OK ? multiply(&x, &given, &dw, &of_w, unit, err)
                           : status;
}

static enum tp_status back_summed(struct tp_backward *backward,
                                  struct tp_error *err)
{
    struct summed s = {.ends = NULL};
    struct tp_array *next;
    const struct tp_array *given;
    enum tp_status status = tp_backward_single(backward, &given, err);
    if (status == TP_OK)
        status = bind_summed(backward->forward, &s, err);
    if (status == TP_OK && given->count != s.groups * s.m * s.n)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, s.x, &next, err);
    if (status == TP_OK)
        status = tp_backward_make_like(backward, s.weight, &next, err);
    for (int64_t i = 0; i < s.groups && status == TP_OK; i++)
        status = back_summed_group(backward, &s, i, given, err);
    free(s.ends);
    return status;
}

/* --- groups of rows ------------------------------------------------------- */

/* The shape of a result: that of X, or the rows of a group. */
static int shape_of(const struct grouped *g, int64_t group, int64_t *shape)
{
    const struct tp_array *x = item(&g->x, group);
    shape[0] = g->joined ? g->ends[g->groups - 1] : rows_in(g, group);
    shape[1] = depth_of(g, group);
    if (g->joined || g->x.count == 1)
        return 2;
    for (int i = 0; i < x->dims; i++)
        shape[i] = x->shape[i];
    shape[x->dims - 1] = depth_of(g, group);
    return x->dims;
}

TP_KERNEL(tp_run_grouped)
{
    struct grouped g = {.groups = 0};
    struct tp_array *output = NULL;
    int64_t shape[TP_LIMIT_DIMS];
    (void)row;
    if (is_summed(replay))
        return run_summed(replay, err);
    enum tp_status status = bind(replay, &g, err);
    for (int64_t i = 0; i < g.groups && status == TP_OK; i++) {
        if (i == 0 || !g.joined)
            status = tp_replay_make_bounded(replay, shape_of(&g, i, shape),
                                            shape, &output, err);
        if (status == TP_OK)
            status = run_group(replay, &g, i, output, err);
    }
    clear(&g);
    return status;
}

/* --- gradients ------------------------------------------------------------ */

static enum tp_status make_gradients(struct tp_backward *backward,
                                     const struct list *list,
                                     struct tp_error *err)
{
    struct tp_array *next;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < list->count && status == TP_OK; i++)
        status = tp_backward_make_like(backward, list->arrays[i], &next, err);
    return status;
}

/* Sums of the rows that came. */
static void add_rows(const struct tp_array *given, int64_t n, double unit,
                     struct tp_array *bias)
{
    const double gamma = unit * (double)(n ? given->count / n : 0);
    for (int64_t i = 0; i < given->count; i++) {
        bias->value[i % n] += given->value[i];
        bias->bound[i % n] += gamma * fabs(given->value[i]);
    }
}

/* The gradient of what a group has of a list. */
static struct tp_array *made_of(struct tp_array *made, const struct list *list,
                                int64_t group)
{
    return &made[list->count == 1 ? 0 : group];
}

static enum tp_status back_group(struct tp_backward *backward,
                                 const struct grouped *g, int64_t group,
                                 struct tp_error *err)
{
    const int64_t k = width_of(g, group), n = depth_of(g, group);
    const int64_t rows = rows_in(g, group);
    const double unit = backward->call->unit;
    const struct tp_array *came =
        tp_backward_given(backward, g->joined ? 0 : (size_t)group);
    if (!came)
        return TP_OK;
    if (came->count != n * (g->joined ? g->ends[g->groups - 1] : rows))
        return tp_replay_fail_shapes(err);
    const bool alone = g->x.count == 1, stack = g->weight.count == 1;
    const struct tp_array given = rows_part(g, came, g->joined, group, n);
    const struct tp_array x = rows_part(g, item(&g->x, group), alone, group, k);
    const struct tp_array weight =
        weight_part(item(&g->weight, group), stack, g->groups, group);
    struct tp_array *made = backward->made;
    struct tp_array dx =
        rows_part(g, made_of(made, &g->x, group), alone, group, k);
    made += g->x.count;
    struct tp_array dw =
        weight_part(made_of(made, &g->weight, group), stack, g->groups, group);
    made += g->weight.count;
    const struct steps of_x = {{rows, k, n}, {n, 0, 1}, {0, n, 1}, {k, 1, 0}};
    const struct steps of_w = {{k, n, rows}, {1, 0, k}, {0, 1, n}, {n, 1, 0}};
    enum tp_status status = multiply(&given, &weight, &dx, &of_x, unit, err);
    if (status == TP_OK)
        status = multiply(&x, &given, &dw, &of_w, unit, err);
    if (status == TP_OK && g->bias.count) {
        struct tp_array db = weight_part(made_of(made, &g->bias, group),
                                         g->bias.count == 1, g->groups, group);
        add_rows(&given, n, unit, &db);
    }
    return status;
}

TP_BACKWARD(tp_back_grouped)
{
    struct grouped g = {.groups = 0};
    (void)row;
    if (is_summed(backward->forward))
        return back_summed(backward, err);
    enum tp_status status = bind(backward->forward, &g, err);
    if (status == TP_OK)
        status = make_gradients(backward, &g.x, err);
    if (status == TP_OK)
        status = make_gradients(backward, &g.weight, err);
    if (status == TP_OK)
        status = make_gradients(backward, &g.bias, err);
    for (int64_t i = 0; i < g.groups && status == TP_OK; i++)
        status = back_group(backward, &g, i, err);
    clear(&g);
    return status;
}

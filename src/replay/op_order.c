/* SPDX-License-Identifier: MIT */
/*
 * What takes elements by their rank along an axis: sort and topk the first
 * ones, kthvalue, median and nanmedian one, argsort their places; cummax and
 * cummin the extreme so far. A line is sorted by value, then by place; NaN is
 * beyond all numbers, as torch has it. Results are exact. Indices are made, as
 * gradients follow them, but not judged: of equal values torch may take
 * another; those of argsort are, where no values of a line are equal. A
 * selection would do for one element, in linear time; sorting serves them all.
 * Cost: n log n of each line; memory: one line.
 */
#include "replay/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

struct entry {
    double value;
    int64_t at;
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    const int numbers = isnan(a->value) - isnan(b->value);
    const int values = numbers ? numbers : tp_order_double(a->value, b->value);
    return values ? values : tp_order_int64(a->at, b->at);
}

/* Lines of a tensor, and the ranks of each that become those of results. */
struct ranks {
    const struct tp_array *input;
    int axis; /* -1: all of it is one line                                  */
    int64_t length, inner;
    int64_t first, count; /* ranks, from the least element on               */
    bool falling;         /* from the largest one on                        */
    bool middle, skips;   /* the median, and of numbers only                */
    struct tp_array *values, *indices; /* NULL: there are none              */
};

static void set_lines(struct ranks *r)
{
    r->length = r->axis < 0          ? r->input->count
                : r->input->dims > 0 ? r->input->shape[r->axis]
                                     : 1;
    r->inner = 1;
    for (int i = r->axis + 1; r->axis >= 0 && i < r->input->dims; i++)
        r->inner *= r->input->shape[i];
}

/* The rank of a median: the lower one of two; of a line with NaN it is NaN. */
static int64_t middle_of(const struct ranks *r, const struct entry *line)
{
    int64_t numbers = r->length;
    while (numbers > 0 && isnan(line[numbers - 1].value))
        numbers--;
    if (!r->skips)
        return numbers < r->length ? numbers : (numbers - 1) / 2;
    return numbers ? (numbers - 1) / 2 : 0;
}

static void run_line(const struct ranks *r, int64_t number, struct entry *line)
{
    const int64_t outer = number / r->inner, at = number % r->inner;
    const double *from = r->input->value + outer * r->length * r->inner + at;
    for (int64_t i = 0; i < r->length; i++)
        line[i] = (struct entry){from[i * r->inner], i};
    qsort(line, (size_t)r->length, sizeof *line, compare);
    const int64_t first = r->middle ? middle_of(r, line) : r->first;
    for (int64_t i = 0; i < r->count; i++) {
        const int64_t rank = first + i;
        const struct entry *entry =
            &line[r->falling ? r->length - 1 - rank : rank];
        const int64_t to = (outer * r->count + i) * r->inner + at;
        r->values->value[to] = entry->value;
        if (r->indices)
            r->indices->value[to] = (double)entry->at;
    }
}

/* Makes the results, whose shape is known, and indices if the dump has them. */
static enum tp_status run(struct tp_replay_call *replay, struct ranks *r,
                          int dims, const int64_t *shape, struct tp_error *err)
{
    enum tp_status status =
        tp_replay_make(replay, dims, shape, &r->values, err);
    if (status == TP_OK && tp_replay_result(replay, replay->output_count))
        status = tp_replay_make_indices(replay, &r->values, &r->indices, err);
    if (status != TP_OK || r->values->count == 0)
        return status;
    struct entry *line = malloc(((size_t)r->length + 1) * sizeof *line);
    if (!line)
        return tp_fail_memory(err);
    for (int64_t i = 0; i < r->values->count / r->count; i++)
        run_line(r, i, line);
    free(line);
    return TP_OK;
}

static enum tp_status begin(const struct tp_replay_call *replay,
                            struct ranks *r, struct tp_error *err)
{
    enum tp_status status = tp_arg_tensor(replay, "input", &r->input, err);
    if (status == TP_OK)
        status = tp_arg_axis(replay, "dim", -1, r->input->dims, &r->axis, err);
    if (status == TP_OK)
        set_lines(r);
    return status;
}

/* topk(k, dim, largest), and sort(dim, descending) of as many as there are. */
TP_KERNEL(tp_run_topk)
{
    struct ranks r = {.count = 0};
    int64_t shape[TP_LIMIT_DIMS];
    const bool sorts = !strncmp(row->names, "sort", 4);
    const struct tp_dump_item *item = tp_replay_result(replay, 0);
    enum tp_status status = begin(replay, &r, err);
    if (status != TP_OK)
        return status;
    r.falling =
        tp_arg_integer(replay, sorts ? "descending" : "largest", !sorts);
    memcpy(shape, r.input->shape, sizeof shape);
    r.count = r.length;
    if (!sorts && item && item->has_shape && item->dims == r.input->dims)
        r.count = tp_arg_integer(replay, "k",
                                 item->dims ? item->shape[r.axis] : r.length);
    if (r.count < 0 || r.count > r.length)
        return tp_replay_fail_result(err);
    if (r.input->dims)
        shape[r.axis] = r.count;
    return run(replay, &r, r.input->dims, shape, err);
}

/* One element of each line, whose axis is kept or not. */
static enum tp_status run_one(struct tp_replay_call *replay, struct ranks *r,
                              struct tp_error *err)
{
    int64_t shape[TP_LIMIT_DIMS];
    int dims = 0;
    const bool keep = tp_arg_integer(replay, "keepdim", 0);
    for (int i = 0; i < r->input->dims; i++)
        if (i != r->axis || keep)
            shape[dims++] = i == r->axis ? 1 : r->input->shape[i];
    r->count = 1;
    return r->length == 0 && r->input->dims ? tp_replay_fail_result(err)
                                            : run(replay, r, dims, shape, err);
}

/* kthvalue(k, dim, keepdim), of the least. */
TP_KERNEL(tp_run_kthvalue)
{
    struct ranks r = {.count = 1};
    (void)row;
    enum tp_status status = begin(replay, &r, err);
    if (status != TP_OK)
        return status;
    r.first = tp_arg_integer(replay, "k", 0) - 1;
    return r.first < 0 || r.first >= r.length ? tp_replay_fail_result(err)
                                              : run_one(replay, &r, err);
}

/* median(dim, keepdim), without an axis that of all elements. */
TP_KERNEL(tp_run_median)
{
    struct ranks r = {.middle = true,
                      .skips = !strncmp(replay->call->name.path.at, "nan", 3)};
    (void)row;
    if (tp_arg(replay, "dim")) {
        enum tp_status status = begin(replay, &r, err);
        return status == TP_OK ? run_one(replay, &r, err) : status;
    }
    enum tp_status status = tp_arg_tensor(replay, "input", &r.input, err);
    if (status != TP_OK)
        return status;
    r.axis = -1;
    r.count = 1;
    set_lines(&r);
    if (r.length)
        return run(replay, &r, 0, NULL, err);
    status = tp_replay_make(replay, 0, NULL, &r.values, err);
    if (status == TP_OK)
        r.values->value[0] = NAN;
    return status;
}

/* Whether values of a sorted line are equal: several orders are right. */
static bool has_equals(const struct entry *line, int64_t length)
{
    for (int64_t i = 1; i < length; i++)
        if (!(line[i - 1].value < line[i].value) &&
            !(isnan(line[i].value) && !isnan(line[i - 1].value)))
            return true;
    return false;
}

/* argsort(dim, descending). */
TP_KERNEL(tp_run_argsort)
{
    struct ranks r = {.count = 0};
    struct tp_array *places;
    (void)row;
    enum tp_status status = begin(replay, &r, err);
    if (status == TP_OK)
        status = tp_replay_make(replay, r.input->dims, r.input->shape, &places,
                                err);
    if (status != TP_OK || places->count == 0)
        return status;
    const bool falling = tp_arg_integer(replay, "descending", 0) != 0;
    struct entry *line = malloc((size_t)r.length * sizeof *line);
    if (!line)
        return tp_fail_memory(err);
    for (int64_t i = 0; i < places->count / r.length; i++) {
        const int64_t first = i / r.inner * r.length * r.inner + i % r.inner;
        for (int64_t k = 0; k < r.length; k++)
            line[k] = (struct entry){r.input->value[first + k * r.inner], k};
        qsort(line, (size_t)r.length, sizeof *line, compare);
        places->loose |= has_equals(line, r.length);
        for (int64_t k = 0; k < r.length; k++)
            places->value[first + k * r.inner] =
                (double)line[falling ? r.length - 1 - k : k].at;
    }
    free(line);
    return TP_OK;
}

/* cummax(dim) and cummin: of equals the last, from a NaN on NaN. */
TP_KERNEL(tp_run_running)
{
    struct ranks r = {.count = 0};
    struct tp_array *values, *indices = NULL;
    const bool most = !strcmp(row->names, "cummax");
    enum tp_status status = begin(replay, &r, err);
    if (status == TP_OK)
        status = tp_replay_make(replay, r.input->dims, r.input->shape, &values,
                                err);
    if (status == TP_OK && tp_replay_result(replay, 1))
        status = tp_replay_make_indices(replay, &values, &indices, err);
    for (int64_t i = 0; status == TP_OK && i < values->count; i++) {
        const int64_t place = i / r.inner % r.length;
        const double x = r.input->value[i];
        const double so_far = place ? values->value[i - r.inner] : x;
        const bool taken = isnan(x) || (most ? x >= so_far : x <= so_far);
        values->value[i] = taken ? x : so_far;
        if (indices)
            indices->value[i] =
                taken ? (double)place : indices->value[i - r.inner];
    }
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * Padding, flipping, rolling and repeating: index i of an axis of the result
 * is index from[i] of the input's axis, or a constant where that is -1, each
 * axis by a list of its own. One walk over the result; a list per axis.
 */
#include "replay/operators.h"

#include <stdlib.h>
#include <string.h>

#include "replay/backward.h"

/* The lists of all axes. */
struct sources {
    const struct tp_array *input;
    const struct tp_dump_item *dumped; /* the result                        */
    int64_t shape[TP_LIMIT_DIMS]; /* of the result                          */
    int64_t *from[TP_LIMIT_DIMS];
    double constant;
};

static void clear(struct sources *sources)
{
    for (int i = 0; sources->input && i < sources->input->dims; i++)
        free(sources->from[i]);
}

/* A list of `length` indices for an axis, as many as the dump has. */
static enum tp_status make_list(struct sources *sources, int axis,
                                int64_t length, struct tp_error *err)
{
    const struct tp_dump_item *dumped = sources->dumped;
    if (dumped->dims != sources->input->dims || dumped->shape[axis] != length)
        return tp_replay_fail_shapes(err);
    sources->from[axis] =
        calloc((size_t)length + 1, sizeof *sources->from[axis]);
    sources->shape[axis] = length;
    return sources->from[axis] ? TP_OK : tp_fail_memory(err);
}

/* Each index itself. */
static enum tp_status keep_axis(struct sources *sources, int axis,
                                struct tp_error *err)
{
    const int64_t n = sources->input->shape[axis];
    enum tp_status status = make_list(sources, axis, n, err);
    for (int64_t k = 0; status == TP_OK && k < n; k++)
        sources->from[axis][k] = k;
    return status;
}

static enum tp_status begin(const struct tp_replay_call *replay,
                            const struct tp_array *input,
                            struct sources *sources, struct tp_error *err)
{
    *sources =
        (struct sources){.input = input, .dumped = tp_replay_result(replay, 0)};
    return sources->dumped && sources->dumped->has_shape
               ? TP_OK
               : tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the dump does not say what it gave");
}

/* The same with all axes as they are. */
static enum tp_status begin_all(const struct tp_replay_call *replay,
                                const struct tp_array *input,
                                struct sources *sources, struct tp_error *err)
{
    enum tp_status status = begin(replay, input, sources, err);
    for (int i = 0; status == TP_OK && i < input->dims; i++)
        status = keep_axis(sources, i, err);
    return status;
}

static void fill(const struct sources *sources, struct tp_array *output)
{
    int64_t own[TP_LIMIT_DIMS];
    struct tp_array_walk walk = {.dims = output->dims, .shape = output->shape};
    tp_array_strides(sources->input, own);
    for (int64_t at = 0; at < output->count; at++) {
        int64_t from = 0;
        for (int i = 0; i < output->dims && from >= 0; i++) {
            const int64_t index = sources->from[i][walk.index[i]];
            from = index < 0 ? -1 : from + index * own[i];
        }
        output->value[at] =
            from < 0 ? sources->constant : sources->input->value[from];
        tp_array_walk_next(&walk);
    }
}

/* The result of lists that were made, which are freed. */
static enum tp_status finish(struct tp_replay_call *replay,
                             struct sources *sources, enum tp_status status,
                             struct tp_error *err)
{
    struct tp_array *output;
    if (status == TP_OK)
        status = tp_replay_make(replay, sources->input->dims, sources->shape,
                                &output, err);
    if (status == TP_OK)
        fill(sources, output);
    clear(sources);
    return status;
}

static int64_t modulo(int64_t a, int64_t n)
{
    return n > 0 ? (a % n + n) % n : 0;
}

/* --- padding -------------------------------------------------------------- */

/* Where index `k` of an axis of `n` comes from that lies beyond it. */
static int64_t beyond(const char *mode, int64_t k, int64_t n)
{
    if (!strcmp(mode, "constant"))
        return -1;
    if (!strcmp(mode, "replicate"))
        return k < 0 ? 0 : n - 1;
    if (!strcmp(mode, "circular"))
        return modulo(k, n);
    return k < 0 ? -k : 2 * (n - 1) - k;
}

static bool is_mode(const char *mode)
{
    static const char *const modes[] = {"constant", "reflect", "replicate",
                                        "circular"};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(mode, modes[i]))
            return true;
    return false;
}

static enum tp_status pad_axis(struct sources *sources, int axis,
                               const char *mode, int64_t before, int64_t behind,
                               struct tp_error *err)
{
    const int64_t n = sources->input->shape[axis];
    const int64_t most = TP_LIMIT_REPLAY_VALUES;
    if (n > most || before < -n || behind < -n || before > most ||
        behind > most)
        return tp_replay_fail_shapes(err);
    enum tp_status status = make_list(sources, axis, before + n + behind, err);
    for (int64_t i = 0; status == TP_OK && i < sources->shape[axis]; i++) {
        const int64_t k = i - before;
        const int64_t from = k >= 0 && k < n ? k : beyond(mode, k, n);
        if (from >= n || (from < 0 && strcmp(mode, "constant") != 0))
            return tp_replay_fail_shapes(err);
        sources->from[axis][i] = from;
    }
    return status;
}

/* pad(input, pad, mode, value): pairs of lengths from the last axis on. */
TP_KERNEL(tp_run_pad)
{
    const struct tp_array *input;
    struct sources sources = {.input = NULL};
    int64_t pads[TP_LIMIT_DIMS];
    const char *mode = tp_arg_text(replay, "mode", "constant");
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK && !is_mode(mode))
        status = tp_fail(err, TP_E_UNSUPPORTED, -1, "its mode is not known");
    if (status == TP_OK)
        status = begin(replay, input, &sources, err);
    const int count = tp_arg_integers(replay, "pad", pads);
    if (status == TP_OK && (count == 0 || count % 2 || count / 2 > input->dims))
        status = tp_replay_fail_shapes(err);
    sources.constant = tp_arg_real(replay, "value", 0);
    for (int i = 0; status == TP_OK && i < count / 2; i++)
        status = pad_axis(&sources, input->dims - 1 - i, mode, pads[2 * i],
                          pads[2 * i + 1], err);
    for (int i = 0; status == TP_OK && i < input->dims - count / 2; i++)
        status = keep_axis(&sources, i, err);
    return finish(replay, &sources, status, err);
}

/* --- order ---------------------------------------------------------------- */

/* The axes that an argument names. Returns how many; -1: there is no such. */
static int axes_of(const struct tp_replay_call *replay, const char *name,
                   int dims, int64_t *axes)
{
    const int count = tp_arg_integers(replay, name, axes);
    for (int i = 0; i < count; i++) {
        axes[i] += axes[i] < 0 ? dims : 0;
        if (axes[i] < 0 || axes[i] >= dims)
            return -1;
    }
    return count;
}

TP_KERNEL(tp_run_flip)
{
    const struct tp_array *input;
    struct sources sources = {.input = NULL};
    int64_t axes[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = begin_all(replay, input, &sources, err);
    const int count =
        status == TP_OK ? axes_of(replay, "dims", input->dims, axes) : 0;
    if (count < 0)
        status = tp_replay_fail_shapes(err);
    for (int i = 0; i < count; i++)
        for (int64_t k = 0, n = input->shape[axes[i]]; k < n; k++)
            sources.from[axes[i]][k] = n - 1 - k;
    return finish(replay, &sources, status, err);
}

static void roll_values(const struct tp_array *input, int64_t shift,
                        struct tp_array *output)
{
    for (int64_t i = 0; i < input->count; i++)
        output->value[i] = input->value[modulo(i - shift, input->count)];
}

/* roll(input, shifts, dims); without dims over all elements in their order. */
TP_KERNEL(tp_run_roll)
{
    const struct tp_array *input;
    struct tp_array *output;
    struct sources sources = {.input = NULL};
    int64_t axes[TP_LIMIT_DIMS], shifts[TP_LIMIT_DIMS];
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status == TP_OK)
        status = begin_all(replay, input, &sources, err);
    const int count =
        status == TP_OK ? axes_of(replay, "dims", input->dims, axes) : 0;
    const int shifted = tp_arg_integers(replay, "shifts", shifts);
    if (status == TP_OK && (shifted == 0 || (count != shifted && count != 0)))
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK && count == 0) {
        clear(&sources);
        status =
            tp_replay_make(replay, input->dims, input->shape, &output, err);
        if (status == TP_OK)
            roll_values(input, shifts[0], output);
        return status;
    }
    for (int i = 0; status == TP_OK && i < count; i++) {
        int64_t *from = sources.from[axes[i]];
        for (int64_t k = 0, n = input->shape[axes[i]]; k < n; k++)
            from[k] = modulo(from[k] - shifts[i], n);
    }
    return finish(replay, &sources, status, err);
}

/* --- repeating ------------------------------------------------------------ */

/* How often index k of the axis is repeated. */
static int64_t times_of(const struct tp_array *repeats, int64_t number,
                        int64_t k)
{
    if (!repeats)
        return number;
    const double times = repeats->value[repeats->count == 1 ? 0 : k];
    return times >= 0 && times <= TP_LIMIT_REPLAY_VALUES ? (int64_t)times : -1;
}

static enum tp_status repeat_axis(struct sources *sources, int axis,
                                  const struct tp_array *repeats,
                                  int64_t number, struct tp_error *err)
{
    const int64_t n = sources->input->shape[axis];
    int64_t length = 0;
    if (repeats && repeats->count != 1 && repeats->count != n)
        return tp_replay_fail_shapes(err);
    for (int64_t k = 0; k < n; k++) {
        const int64_t times = times_of(repeats, number, k);
        if (times < 0 || times > TP_LIMIT_REPLAY_VALUES - length)
            return tp_replay_fail_shapes(err);
        length += times;
    }
    enum tp_status status = make_list(sources, axis, length, err);
    for (int64_t k = 0, at = 0; status == TP_OK && k < n; k++)
        for (int64_t i = times_of(repeats, number, k); i > 0; i--)
            sources->from[axis][at++] = k;
    return status;
}

/* repeat_interleave(input, repeats, dim); without dim of all elements in their
 * order. */
TP_KERNEL(tp_run_interleave)
{
    const struct tp_array *input;
    struct sources sources = {.input = NULL};
    int axis = 0;
    const struct tp_array *repeats = tp_arg_array(replay, "repeats");
    const int64_t number = tp_arg_integer(replay, "repeats", -1);
    (void)row;
    enum tp_status status = tp_arg_tensor(replay, "input", &input, err);
    if (status != TP_OK)
        return status;
    struct tp_array line = *input;
    if (!tp_arg(replay, "dim")) {
        line.dims = 1;
        line.shape[0] = input->count;
    } else
        status = tp_arg_axis(replay, "dim", 0, input->dims, &axis, err);
    if (status == TP_OK && line.dims == 0)
        status = tp_replay_fail_shapes(err);
    if (status == TP_OK)
        status = begin(replay, &line, &sources, err);
    for (int i = 0; status == TP_OK && i < line.dims; i++)
        status = i == axis ? repeat_axis(&sources, axis, repeats, number, err)
                           : keep_axis(&sources, i, err);
    return finish(replay, &sources, status, err);
}

/* By a number it is a view behind copies, whose node gives the gradient in the
 * shape of these: the axis and behind it that of the copies. */
TP_BACKWARD(tp_back_interleave)
{
    const struct tp_array *input;
    const struct tp_dump_item *item = tp_backward_item(backward, 0);
    enum tp_status status =
        tp_arg_tensor(backward->forward, "input", &input, err);
    if (status != TP_OK)
        return status;
    const bool view = tp_arg(backward->forward, "dim")
                          ? item && item->dims == input->dims + 1
                          : item && item->dims == 2;
    return !tp_arg_array(backward->forward, "repeats") && view
               ? tp_back_same(backward, row, err)
               : tp_back_move(backward, row, err);
}

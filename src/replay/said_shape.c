/* SPDX-License-Identifier: MIT */
/*
 * The rules by which torch makes a shape of arguments, one small function an
 * operator, from the integers that the dump has of them. An alternative, to
 * make results of the said shape and compare them with the dump, would give
 * memory to whatever a damaged dump says. Cost: the axes of a tensor.
 */
#include "replay/said_shape.h"

#include <stdlib.h>
#include <string.h>

/* Whether the call is x, or x_ in place. */
static bool is(const struct tp_replay_call *replay, const char *name)
{
    const struct tp_msprobe_part *path = &replay->call->name.path;
    const size_t length = strlen(name);
    return path->length >= length && !memcmp(path->at, name, length) &&
           (path->length == length ||
            (path->length == length + 1 && path->at[length] == '_'));
}

static bool is_integers(const struct tp_dump_item *item)
{
    if (item->kind != TP_DUMP_VALUE || !item->value)
        return false;
    if (item->value->kind == TP_JSON_INTEGER)
        return true;
    if (item->value->kind != TP_JSON_LIST)
        return false;
    for (const struct tp_json *at = item->value->first; at; at = at->next)
        if (at->kind != TP_JSON_INTEGER)
            return false;
    return true;
}

/* The integers of an argument; -1: some of it is not said. */
static int said(const struct tp_replay_call *replay, const char *name,
                int64_t *list)
{
    for (size_t i = 0; i < replay->call->count; i++)
        if (tp_arg_is(replay, i, name) &&
            !is_integers(&replay->place->items[replay->call->first + i]))
            return -1;
    return tp_arg_integers(replay, name, list);
}

/* Of the first of some names that there is; "" ends them. */
static int said_of(const struct tp_replay_call *replay,
                   const char *const names[4], int64_t *list)
{
    int count = 0;
    for (int i = 0; i < 4 && count == 0 && names[i][0]; i++)
        count = said(replay, names[i], list);
    return count;
}

bool tp_said_same(const struct tp_array *a, const struct tp_array *b)
{
    if (a->dims != b->dims)
        return false;
    for (int i = 0; i < a->dims; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

static bool has_lengths(const struct tp_array *output, int dims,
                        const int64_t *shape)
{
    if (output->dims != dims)
        return false;
    for (int i = 0; i < dims; i++)
        if (shape[i] != output->shape[i])
            return false;
    return true;
}

/* --- views ---------------------------------------------------------------- */

static bool said_sizes(const struct tp_array *output, int count,
                       const int64_t *list)
{
    if (count != output->dims)
        return false;
    for (int i = 0; i < count; i++)
        if (list[i] != output->shape[i] && list[i] != -1)
            return false;
    return true;
}

/* view(dtype) reads bits as another number. */
static bool said_reshape(const struct tp_replay_call *replay,
                         const struct tp_array *input,
                         const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS];
    const int count = said_of(
        replay, (const char *const[4]){"dims", "shape", "size", ""}, list);
    return input->dtype == output->dtype &&
           (count <= 0 || said_sizes(output, count, list));
}

static bool said_other(const struct tp_replay_call *replay,
                       const struct tp_array *output)
{
    const struct tp_array *other = tp_arg_array(replay, "dims");
    if (!other)
        other = tp_arg_array(replay, "other");
    return !other || tp_said_same(other, output);
}

/* unflatten(dim, sizes). */
static bool said_unflatten(const struct tp_replay_call *replay,
                           const struct tp_array *input,
                           const struct tp_array *output)
{
    int64_t all[2 * TP_LIMIT_DIMS], sizes[TP_LIMIT_DIMS];
    const int first =
        said_of(replay, (const char *const[4]){"dims", "dim", "", ""}, all);
    const int more = first < 0 ? 0 : said(replay, "sizes", sizes);
    if (first <= 0 || more < 0 || first + more < 2)
        return true;
    for (int i = 0; i < more; i++)
        all[first + i] = sizes[i];
    const int count = first + more - 1;
    const int64_t axis = all[0] < 0 ? all[0] + input->dims : all[0];
    if (axis < 0 || axis >= input->dims ||
        output->dims != input->dims - 1 + count)
        return false;
    for (int i = 0; i < output->dims; i++) {
        const int64_t own = i - axis;
        const int64_t length = own < 0        ? input->shape[i]
                               : own >= count ? input->shape[i - count + 1]
                                              : all[1 + own];
        if (length != output->shape[i] &&
            !(own >= 0 && own < count && length == -1))
            return false;
    }
    return true;
}

/* Without axes all of length 1 go. */
static bool said_squeeze(const struct tp_replay_call *replay,
                         const struct tp_array *input,
                         const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS], shape[TP_LIMIT_DIMS];
    bool marked[TP_LIMIT_DIMS] = {false};
    const int count =
        said_of(replay, (const char *const[4]){"dims", "dim", "", ""}, list);
    int dims = 0;
    if (count < 0)
        return true;
    for (int i = 0; i < count && input->dims; i++) {
        const int64_t axis = list[i] < 0 ? list[i] + input->dims : list[i];
        if (axis < 0 || axis >= input->dims)
            return false;
        marked[axis] = true;
    }
    for (int i = 0; i < input->dims; i++)
        if (input->shape[i] != 1 || (count && !marked[i]))
            shape[dims++] = input->shape[i];
    return has_lengths(output, dims, shape);
}

static bool said_unsqueeze(const struct tp_replay_call *replay,
                           const struct tp_array *input,
                           const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS];
    const int count =
        said_of(replay, (const char *const[4]){"dims", "dim", "", ""}, list);
    const int dims = input->dims + 1;
    if (count != 1)
        return true;
    const int64_t axis = list[0] < 0 ? list[0] + dims : list[0];
    if (axis < 0 || axis >= dims || output->dims != dims)
        return false;
    for (int i = 0; i < dims; i++)
        if (output->shape[i] != (i == axis  ? 1
                                 : i < axis ? input->shape[i]
                                            : input->shape[i - 1]))
            return false;
    return true;
}

/* flatten(start_dim=0, end_dim=-1). */
static bool said_flatten(const struct tp_replay_call *replay,
                         const struct tp_array *input,
                         const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS], ends[2], shape[TP_LIMIT_DIMS];
    const int count = said(replay, "dims", list);
    int dims = 0;
    if (count < 0 || input->dims == 0)
        return input->dims != 0 || output->dims == 1;
    ends[0] = tp_arg_integer(replay, "start_dim", count > 0 ? list[0] : 0);
    ends[1] = tp_arg_integer(replay, "end_dim", count > 1 ? list[1] : -1);
    for (int i = 0; i < 2; i++)
        ends[i] += ends[i] < 0 ? input->dims : 0;
    if (ends[0] < 0 || ends[1] < ends[0] || ends[1] >= input->dims)
        return false;
    for (int i = 0; i < input->dims; i++)
        if (i <= ends[0] || i > ends[1])
            shape[dims++] = input->shape[i];
        else if (input->count) /* of which the product is no larger         */
            shape[dims - 1] *= input->shape[i];
        else
            return true;
    return has_lengths(output, dims, shape);
}

bool tp_said_view(const struct tp_replay_call *replay,
                  const struct tp_array *input, const struct tp_array *output)
{
    if (is(replay, "reshape") || is(replay, "view"))
        return said_reshape(replay, input, output);
    if (is(replay, "view_as") || is(replay, "reshape_as"))
        return said_other(replay, output);
    if (is(replay, "unflatten"))
        return said_unflatten(replay, input, output);
    if (is(replay, "squeeze"))
        return said_squeeze(replay, input, output);
    if (is(replay, "unsqueeze"))
        return said_unsqueeze(replay, input, output);
    if (is(replay, "flatten"))
        return said_flatten(replay, input, output);
    return is(replay, "ravel") ? output->dims == 1
                               : tp_said_same(input, output);
}

/* --- repeats -------------------------------------------------------------- */

/* -1 keeps the length of the input. */
bool tp_said_expand(const struct tp_replay_call *replay,
                    const struct tp_array *input, const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS];
    const int ahead = output->dims - input->dims;
    const int count = said_of(
        replay, (const char *const[4]){"dims", "size", "sizes", ""}, list);
    if (count <= 0)
        return !is(replay, "expand_as") || said_other(replay, output);
    for (int i = 0; i < count && i < output->dims; i++)
        if (list[i] == -1 &&
            (i < ahead || output->shape[i] != input->shape[i - ahead]))
            return false;
    return said_sizes(output, count, list);
}

/* repeat has a number for each axis of the result, tile may have fewer. */
bool tp_said_repeat(const struct tp_replay_call *replay,
                    const struct tp_array *input, const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS];
    const int ahead = output->dims - input->dims;
    const int count = said_of(
        replay, (const char *const[4]){"dims", "repeats", "sizes", ""}, list);
    const int fewer = output->dims - count;
    if (count <= 0)
        return true;
    if (fewer < 0 || (fewer > 0 && (!is(replay, "tile") || ahead > 0)))
        return false;
    for (int i = 0; i < output->dims; i++) {
        const int64_t times = i < fewer ? 1 : list[i - fewer];
        const int64_t own = i < ahead ? 1 : input->shape[i - ahead];
        if (times < 0 ||
            (own ? output->shape[i] % own || output->shape[i] / own != times
                 : output->shape[i] != 0))
            return false;
    }
    return true;
}

/* --- parts ---------------------------------------------------------------- */

static int64_t part_of(int64_t n, int64_t number, int64_t size)
{
    const int64_t before = size > 0 ? n / size : 0;
    return size <= 0         ? 0
           : number < before ? size
                             : (number == before ? n % size : 0);
}

/* The end of part `number` of tensor_split by places. */
static int64_t place_of(const int64_t *list, int count, int64_t number,
                        int64_t n)
{
    if (number < 0 || number >= count)
        return number < 0 ? 0 : n;
    const int64_t place = list[number] < 0 && list[number] >= -n
                              ? list[number] + n
                              : list[number];
    return place < 0 ? 0 : place > n ? n : place;
}

/* Whether an argument is a list. */
static bool is_list(const struct tp_replay_call *replay, const char *name)
{
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item =
            &replay->place->items[replay->call->first + i];
        if (tp_arg_is(replay, i, name))
            return strchr(item->argument, '.') ||
                   (item->value && item->value->kind == TP_JSON_LIST);
    }
    return false;
}

bool tp_said_part(const struct tp_replay_call *replay, int64_t n,
                  int64_t number, int64_t length)
{
    static const char *const names[] = {
        "sizes",  "split_size_or_sections", "split_size",
        "chunks", "indices_or_sections",    "sections",
        "indices"};
    int64_t list[TP_LIMIT_DIMS];
    int count = 0;
    bool several = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && count == 0; i++) {
        count = said(replay, names[i], list);
        several = is_list(replay, names[i]);
    }
    if (count <= 0 || count == TP_LIMIT_DIMS) /* more are not known         */
        return true;
    if (is(replay, "tensor_split") && several) {
        const int64_t begin = place_of(list, count, number - 1, n);
        const int64_t end = place_of(list, count, number, n);
        return length == (end > begin ? end - begin : 0);
    }
    if (several)
        return number < count && length == list[number];
    if (is(replay, "tensor_split"))
        return list[0] > 0 && number < list[0] &&
               length == n / list[0] + (number < n % list[0]);
    if (!is(replay, "chunk"))
        return length == part_of(n, number, list[0]);
    return list[0] > 0 && number < list[0] &&
           length == part_of(n, number, n / list[0] + (n % list[0] > 0));
}

/* --- constants ------------------------------------------------------------ */

bool tp_said_constant(const struct tp_replay_call *replay,
                      const struct tp_array *output)
{
    int64_t list[TP_LIMIT_DIMS];
    const struct tp_array *like = tp_arg_array(replay, "size");
    const int count = said(replay, "size", list);
    if (!like)
        like = tp_arg_array(replay, "input");
    if (like)
        return tp_said_same(like, output);
    return count <= 0 || has_lengths(output, count, list);
}

/* --- axes ----------------------------------------------------------------- */

void tp_said_each(const struct tp_replay_call *replay, const char *name,
                  int axes, int64_t *list)
{
    for (int i = 0; i < axes; i++)
        list[i] = -1;
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item =
            &replay->place->items[replay->call->first + i];
        if (!tp_arg_is(replay, i, name) || !is_integers(item))
            continue;
        const char *point = strchr(item->argument, '.');
        const struct tp_json *value = item->value;
        const bool one = value->kind == TP_JSON_INTEGER;
        int64_t at = point ? strtol(point + 1, NULL, 10) : 0;
        for (int k = 0; k < axes && one && !point; k++)
            list[k] = value->integer;
        if (one && point && at >= 0 && at < axes)
            list[at] = value->integer;
        for (value = one ? NULL : value->first; value && at < axes; at++) {
            list[at] = value->integer;
            value = value->next;
        }
    }
}

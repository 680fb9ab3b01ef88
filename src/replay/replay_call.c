/* SPDX-License-Identifier: MIT */
#include "replay/replay_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* --- loading -------------------------------------------------------------- */

static const struct tp_dump_item *item_of(const struct tp_replay_call *replay,
                                          size_t i)
{
    return &replay->place->items[replay->call->first + i];
}

static bool is_result(const struct tp_dump_item *item)
{
    return item->place == TP_MSPROBE_OUTPUT;
}

/* Takes a dtype into account that a tensor of the call has. */
static void see_dtype(struct tp_replay_call *replay, enum tp_dtype dtype,
                      bool *wide, bool *narrow)
{
    const double rounding = tp_dtype_rounding(dtype);
    *wide |= dtype == TP_FLOAT64;
    *narrow |= rounding > 0 && dtype != TP_FLOAT64;
    if (rounding > replay->own)
        replay->own = rounding;
}

/* fp32, unless all that floats is fp64. */
static void set_units(struct tp_replay_call *replay)
{
    bool wide = false, narrow = false;
    double given = 1, made = 0; /* finest of arguments, coarsest of results */
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item = item_of(replay, i);
        if (item->kind != TP_DUMP_TENSOR || item->element >= TP_DTYPE_COUNT)
            continue;
        const double rounding = tp_dtype_rounding(item->element);
        if (is_result(item))
            made = fmax(made, rounding);
        else if (rounding > 0)
            given = fmin(given, rounding);
        see_dtype(replay, item->element, &wide, &narrow);
    }
    replay->cast = made > given;
    replay->unit = tp_dtype_rounding(wide && !narrow ? TP_FLOAT64 : TP_FLOAT32);
}

/* The forward call of a backward call; NULL: the dump has none. */
static const struct tp_dump_call *forward_of(const struct tp_dump_place *place,
                                             const struct tp_dump_call *call)
{
    static const char backward[] = "backward", forward[] = "forward";
    const size_t tail = sizeof backward - 1, length = strlen(call->key);
    char key[512];
    if (length < tail || length + 1 > sizeof key ||
        strcmp(call->key + length - tail, backward) != 0)
        return NULL;
    snprintf(key, sizeof key, "%.*s%s", (int)(length - tail), call->key,
             forward);
    const struct tp_dump_call *found = tp_dump_call_of(place, key);
    return found && found->known && found->name.direction == TP_FORWARD ? found
                                                                        : NULL;
}

void tp_replay_lost(const struct tp_replay_call *replay)
{
    if (replay->lost)
        *replay->lost = true;
}

void *tp_replay_room(const struct tp_replay_call *replay, int64_t count,
                     size_t size)
{
    void *room = calloc((size_t)count + 1, size);
    if (!room)
        tp_replay_lost(replay);
    return room;
}

bool tp_replay_did(const struct tp_replay_call *replay, enum tp_status status)
{
    if (status == TP_E_MEMORY)
        tp_replay_lost(replay);
    return status == TP_OK;
}

/* The forward call of a backward call, both with the coarser units. */
static enum tp_status load_forward(struct tp_replay_call *replay,
                                   struct tp_error *err)
{
    const struct tp_dump_call *call = forward_of(replay->place, replay->call);
    if (!call)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its forward call was not dumped");
    struct tp_replay_call *forward = calloc(1, sizeof *forward);
    if (!forward)
        return tp_fail_memory(err);
    *forward = (struct tp_replay_call){.place = replay->place,
                                       .call = call,
                                       .signature = replay->signature,
                                       .lost = replay->lost};
    replay->forward = forward;
    enum tp_status status = tp_replay_call_load(forward, err);
    replay->unit = fmax(replay->unit, forward->unit);
    replay->own = fmax(replay->own, forward->own);
    return status;
}

enum tp_status tp_replay_call_load(struct tp_replay_call *replay,
                                   struct tp_error *err)
{
    const size_t count = replay->call->count;
    enum tp_status status = TP_OK;
    replay->arrays = calloc(count + 1, sizeof *replay->arrays);
    if (!replay->arrays)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK; i++)
        if (!is_result(item_of(replay, i)) &&
            item_of(replay, i)->kind == TP_DUMP_TENSOR)
            status = tp_array_read(item_of(replay, i), &replay->arrays[i], err);
    set_units(replay);
    if (status == TP_OK && replay->call->name.direction == TP_BACKWARD)
        status = load_forward(replay, err);
    if (status != TP_OK)
        tp_replay_call_clear(replay);
    return status;
}

void tp_replay_outputs_clear(struct tp_replay_call *replay)
{
    for (size_t i = 0; i < replay->output_count; i++)
        tp_array_clear(&replay->outputs[i]);
    free(replay->outputs);
    replay->outputs = NULL;
    replay->output_count = replay->output_capacity = 0;
}

void tp_replay_call_clear(struct tp_replay_call *replay)
{
    for (size_t i = 0; replay->arrays && i < replay->call->count; i++)
        tp_array_clear(&replay->arrays[i]);
    tp_replay_outputs_clear(replay);
    free(replay->arrays);
    replay->arrays = NULL;
    if (replay->forward)
        tp_replay_call_clear(replay->forward);
    free(replay->forward);
    replay->forward = NULL;
}

/* --- arguments ------------------------------------------------------------ */

/* The place of a name in the signature; -1: it has only keywords. `rest`: it
 * takes all that follow. */
static int position_of(const char *signature, const char *name, bool *rest)
{
    const size_t length = strlen(name);
    int position = 0;
    for (const char *at = signature; *at; position++) {
        const size_t size = strcspn(at, ",");
        *rest = at[strcspn(at, ",=*")] == '*';
        if (strcspn(at, ",=*") == length && !strncmp(at, name, length))
            return position;
        at += size + (at[size] == ',');
    }
    return -1;
}

/* The leading number of "1" or "1.0.2"; -1: another name. `deep`: it goes on.
 */
static int leading_number(const char *argument, bool *deep)
{
    const size_t length = strspn(argument, "0123456789");
    *deep = argument[length] == '.';
    if (length == 0 || length > 6 || (argument[length] && !*deep))
        return -1;
    return (int)tp_digits_value(argument, length);
}

/* An argument that is looked for. */
struct wanted {
    const char *name;
    int position; /* -1: none                                              */
    bool rest;
};

static struct wanted want(const struct tp_replay_call *replay, const char *name)
{
    struct wanted wanted = {name, -1, false};
    wanted.position = position_of(replay->signature, name, &wanted.rest);
    return wanted;
}

/* Whether an item is an argument, or one in its list. */
static bool is_wanted(const struct tp_dump_item *item,
                      const struct wanted *wanted)
{
    bool deep;
    const size_t length = strlen(wanted->name);
    if (item->place == TP_MSPROBE_KWARGS)
        return !strncmp(item->argument, wanted->name, length) &&
               (!item->argument[length] || item->argument[length] == '.');
    if (item->place != TP_MSPROBE_INPUT || wanted->position < 0)
        return false;
    const int number = leading_number(item->argument, &deep);
    return wanted->rest ? number >= wanted->position
                        : number == wanted->position;
}

/* The item from `from` on that an argument has, or call->count. */
static size_t find_item(const struct tp_replay_call *replay,
                        const struct wanted *wanted, size_t from)
{
    while (from < replay->call->count &&
           !is_wanted(item_of(replay, from), wanted))
        from++;
    return from;
}

static size_t first_item(const struct tp_replay_call *replay, const char *name)
{
    const struct wanted wanted = want(replay, name);
    return find_item(replay, &wanted, 0);
}

bool tp_arg_is(const struct tp_replay_call *replay, size_t i, const char *name)
{
    const struct wanted wanted = want(replay, name);
    return is_wanted(item_of(replay, i), &wanted);
}

const struct tp_dump_item *tp_arg(const struct tp_replay_call *replay,
                                  const char *name)
{
    const size_t i = first_item(replay, name);
    if (i == replay->call->count || item_of(replay, i)->kind == TP_DUMP_NOTHING)
        return NULL;
    return item_of(replay, i);
}

bool tp_arg_is_hidden(const struct tp_replay_call *replay, const char *name)
{
    const size_t i = first_item(replay, name);
    return i < replay->call->count &&
           item_of(replay, i)->kind == TP_DUMP_NOTHING;
}

struct tp_array *tp_arg_array(const struct tp_replay_call *replay,
                              const char *name)
{
    const size_t i = first_item(replay, name);
    return i < replay->call->count && replay->arrays[i].value
               ? &replay->arrays[i]
               : NULL;
}

enum tp_status tp_arg_tensor(const struct tp_replay_call *replay,
                             const char *name, const struct tp_array **array,
                             struct tp_error *err)
{
    *array = tp_arg_array(replay, name);
    return *array ? TP_OK
                  : tp_fail(err, TP_E_UNSUPPORTED, -1,
                            "its argument %s is no tensor", name);
}

static const struct tp_json *value_of(const struct tp_replay_call *replay,
                                      const char *name)
{
    if (replay->override_name && !strcmp(name, replay->override_name))
        return replay->override_value;
    const struct tp_dump_item *item = tp_arg(replay, name);
    return item && item->kind == TP_DUMP_VALUE ? item->value : NULL;
}

static bool is_numeric(const struct tp_json *value)
{
    return tp_json_is_number(value) || (value && value->kind == TP_JSON_BOOL);
}

double tp_arg_real(const struct tp_replay_call *replay, const char *name,
                   double absent)
{
    const struct tp_json *value = value_of(replay, name);
    if (!is_numeric(value))
        return absent;
    return value->kind == TP_JSON_BOOL ? (double)value->integer : value->real;
}

/* No length, place or number of a call is larger, and sums of some of these
 * are numbers. */
static int64_t within_reach(int64_t integer)
{
    const int64_t most = (int64_t)1 << 60;
    return integer > most ? most : integer < -most ? -most : integer;
}

int64_t tp_arg_integer(const struct tp_replay_call *replay, const char *name,
                       int64_t absent)
{
    const struct tp_json *value = value_of(replay, name);
    return value && (value->kind == TP_JSON_INTEGER ||
                     value->kind == TP_JSON_BOOL)
               ? within_reach(value->integer)
               : absent;
}

const char *tp_arg_text(const struct tp_replay_call *replay, const char *name,
                        const char *absent)
{
    const struct tp_json *value = value_of(replay, name);
    return value && value->kind == TP_JSON_STRING ? value->text : absent;
}

/* Integers that are collected. */
struct integers {
    int64_t *list;
    int64_t count, room; /* there are; are kept                             */
};

static void add_integer(struct integers *to, int64_t integer)
{
    if (to->count < to->room)
        to->list[to->count] = within_reach(integer);
    to->count++;
}

/* Adds the integers of a value, which may be a list. */
static void add_integers(const struct tp_json *value, struct integers *to)
{
    if (value && value->kind == TP_JSON_INTEGER)
        add_integer(to, value->integer);
    if (!value || value->kind != TP_JSON_LIST)
        return;
    for (const struct tp_json *at = value->first; at; at = at->next)
        if (at->kind == TP_JSON_INTEGER)
            add_integer(to, at->integer);
}

static int64_t take_integers(const struct tp_replay_call *replay,
                             const char *name, struct integers *to)
{
    const struct wanted wanted = want(replay, name);
    for (size_t i = find_item(replay, &wanted, 0); i < replay->call->count;
         i = find_item(replay, &wanted, i + 1))
        add_integers(item_of(replay, i)->value, to);
    return to->count;
}

int tp_arg_integers(const struct tp_replay_call *replay, const char *name,
                    int64_t *list)
{
    struct integers integers = {list, 0, TP_LIMIT_DIMS};
    const int64_t count = take_integers(replay, name, &integers);
    return (int)(count < TP_LIMIT_DIMS ? count : TP_LIMIT_DIMS);
}

int64_t tp_arg_numbers(const struct tp_replay_call *replay, const char *name,
                       int64_t *list, int64_t room)
{
    struct integers integers = {list, 0, room};
    const struct tp_array *array = tp_arg_array(replay, name);
    if (!array)
        return take_integers(replay, name, &integers);
    for (int64_t i = 0; i < array->count; i++) {
        const double value = array->value[i];
        const bool fits = fabs(value) <= (double)TP_LIMIT_REPLAY_VALUES;
        add_integer(&integers, fits ? (int64_t)value : -1);
    }
    return integers.count;
}

size_t tp_arg_arrays(const struct tp_replay_call *replay, const char *name,
                     const struct tp_array **list)
{
    const struct wanted wanted = want(replay, name);
    size_t count = 0;
    for (size_t i = find_item(replay, &wanted, 0); i < replay->call->count;
         i = find_item(replay, &wanted, i + 1))
        if (replay->arrays[i].value)
            list[count++] = &replay->arrays[i];
    return count;
}

enum tp_status tp_arg_axis(const struct tp_replay_call *replay,
                           const char *name, int64_t absent, int dims,
                           int *axis, struct tp_error *err)
{
    int64_t number = tp_arg_integer(replay, name, absent);
    const int64_t most = dims > 0 ? dims : 1;
    if (number < 0)
        number += most;
    if (number < 0 || number >= most || tp_arg_is_hidden(replay, name))
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "its argument %s names no axis", name);
    *axis = (int)number;
    return TP_OK;
}

/* The part of a signature that is positional argument `number`; NULL: it has
 * no name. */
static const char *entry_of(const char *signature, int number)
{
    while (number-- > 0 && *signature) {
        signature += strcspn(signature, ",");
        signature += *signature == ',';
    }
    return *signature ? signature : NULL;
}

/* Whether a tensor is in the same list as item i. */
static bool is_among_tensors(const struct tp_replay_call *replay, size_t i)
{
    const char *argument = item_of(replay, i)->argument;
    const size_t length = strcspn(argument, ".") + 1;
    for (size_t k = 0; k < replay->call->count; k++)
        if (item_of(replay, k)->place == TP_MSPROBE_INPUT &&
            item_of(replay, k)->kind == TP_DUMP_TENSOR &&
            !strncmp(item_of(replay, k)->argument, argument, length))
            return true;
    return false;
}

/* Whether item i may be None, which is all that is known of it. */
static bool may_be_none(const struct tp_replay_call *replay, size_t i)
{
    bool deep;
    const struct tp_dump_item *item = item_of(replay, i);
    if (item->place != TP_MSPROBE_INPUT || item->kind != TP_DUMP_NOTHING)
        return true;
    const int number = leading_number(item->argument, &deep);
    const char *entry =
        number >= 0 ? entry_of(replay->signature, number) : NULL;
    if (!entry || entry[strcspn(entry, ",*")] == '*')
        return true;
    const size_t name = strcspn(entry, ",=");
    return deep ? is_among_tensors(replay, i)
                : entry[name] != '=' || !strncmp(entry + name, "=nan", 4);
}

enum tp_status tp_args_recorded(const struct tp_replay_call *replay,
                                struct tp_error *err)
{
    for (size_t i = 0; i < replay->call->count; i++)
        if (!may_be_none(replay, i))
            return tp_fail(err, TP_E_UNSUPPORTED, -1,
                           "its argument %.20s is of a kind that is not "
                           "recorded",
                           item_of(replay, i)->argument);
    return TP_OK;
}

enum tp_status tp_args_fit(const struct tp_replay_call *replay,
                           struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < replay->call->count && status == TP_OK; i++)
        if (item_of(replay, i)->has_shape)
            status = tp_array_check(item_of(replay, i)->dims,
                                    item_of(replay, i)->shape, err);
    return status;
}

enum tp_status tp_replay_fail_shapes(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "the shapes of its arguments do not fit");
}

enum tp_status tp_replay_fail_result(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "its arguments do not give the result that was dumped");
}

/* --- results -------------------------------------------------------------- */

const struct tp_dump_item *tp_replay_result(const struct tp_replay_call *replay,
                                            size_t number)
{
    for (size_t i = 0; i < replay->call->count; i++) {
        const struct tp_dump_item *item = item_of(replay, i);
        if (is_result(item) && item->kind == TP_DUMP_TENSOR && number-- == 0)
            return item;
    }
    return NULL;
}

static bool has_shape(const struct tp_dump_item *item, int dims,
                      const int64_t *shape)
{
    if (!item->has_shape || item->dims != dims)
        return false;
    for (int i = 0; i < dims; i++)
        if (item->shape[i] != shape[i])
            return false;
    return true;
}

enum tp_status tp_replay_make(struct tp_replay_call *replay, int dims,
                              const int64_t *shape, struct tp_array **output,
                              struct tp_error *err)
{
    const struct tp_dump_item *item =
        tp_replay_result(replay, replay->output_count);
    if (!item || !has_shape(item, dims, shape) ||
        item->element == TP_DTYPE_COUNT)
        return tp_replay_fail_result(err);
    enum tp_status status =
        tp_grow(&replay->outputs, &replay->output_capacity,
                replay->output_count + 1, sizeof *replay->outputs, err);
    if (status != TP_OK)
        return status;
    *output = &replay->outputs[replay->output_count++];
    (*output)->dtype = item->element;
    return tp_array_make(*output, dims, shape, err);
}

enum tp_status tp_replay_make_bounded(struct tp_replay_call *replay, int dims,
                                      const int64_t *shape,
                                      struct tp_array **output,
                                      struct tp_error *err)
{
    enum tp_status status = tp_replay_make(replay, dims, shape, output, err);
    return status == TP_OK ? tp_array_bounds(*output, err) : status;
}

enum tp_status tp_replay_make_like_dumped(struct tp_replay_call *replay,
                                          struct tp_array **output,
                                          struct tp_error *err)
{
    const struct tp_dump_item *item =
        tp_replay_result(replay, replay->output_count);
    if (!item || !item->has_shape)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "the dump does not say what it gave");
    return tp_replay_make(replay, item->dims, item->shape, output, err);
}

enum tp_status tp_replay_make_indices(struct tp_replay_call *replay,
                                      struct tp_array **elements,
                                      struct tp_array **indices,
                                      struct tp_error *err)
{
    const size_t last = replay->output_count - 1;
    const struct tp_array like = replay->outputs[last];
    enum tp_status status =
        tp_replay_make(replay, like.dims, like.shape, indices, err);
    *elements = &replay->outputs[last];
    if (status == TP_OK)
        (*indices)->loose = true;
    return status;
}

double tp_replay_gamma(const struct tp_replay_call *replay, double n)
{
    return tp_rounding_gamma(replay->unit, n);
}

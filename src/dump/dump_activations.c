/* SPDX-License-Identifier: MIT */
#include "dump/dump_activations.h"

#include <math.h>
#include <string.h>

#include "base/text_index.h"
#include "formats/torchtitan/activation_log.h"

struct reader {
    struct tp_dump_place *place;
    struct tp_text_index by_key; /* calls so far, of several the last      */
    size_t room;                 /* calls that the index can have          */
    struct tp_text name;
};

static const char *keep(struct reader *reader, const char *text)
{
    return *text ? tp_arena_text(&reader->place->arena, text, strlen(text))
                 : "";
}

/* "layers.0.wq/op_0_mm": the operator behind "op_0_", and its number. */
static void name_call(struct tp_dump_call *call, bool backward)
{
    static const char type[] = "Aten", mark[] = "/op_";
    const size_t length = strlen(call->key);
    struct tp_msprobe_name *name = &call->name;
    const char *slash = strrchr(call->key, '/');
    *name = (struct tp_msprobe_name){
        .kind = TP_MSPROBE_API,
        .direction = backward ? TP_BACKWARD : TP_FORWARD,
        .number = -1,
        .type = {type, sizeof type - 1},
        .path = {call->key, length},
        .call = {call->key, length}};
    call->known = true;
    if (!slash || strncmp(slash, mark, sizeof mark - 1) != 0)
        return;
    const char *digits = slash + sizeof mark - 1;
    const size_t n = strspn(digits, "0123456789");
    if (digits[n] != '_')
        return;
    name->number = tp_digits_value(digits, n);
    name->path.at = digits + n + 1;
    name->path.length = length - (size_t)(name->path.at - call->key);
}

static enum tp_status add_result(struct reader *reader,
                                 const struct tp_activation *from,
                                 struct tp_error *err)
{
    static const enum tp_dump_stat stats[TP_ACTIVATION_STATS] = {
        [TP_ACTIVATION_MAX] = TP_DUMP_MAX,
        [TP_ACTIVATION_MIN] = TP_DUMP_MIN,
        [TP_ACTIVATION_MEAN] = TP_DUMP_MEAN,
        [TP_ACTIVATION_NORM] = TP_DUMP_NORM};
    struct tp_dump_item *item;
    enum tp_status status = tp_dump_item_add(reader->place, &item, err);
    if (status != TP_OK)
        return status;
    const char *dot = strrchr(from->dtype, '.');
    item->kind = TP_DUMP_TENSOR;
    item->place = TP_MSPROBE_OUTPUT;
    item->argument = "0";
    item->type = "torch.Tensor";
    item->dtype = keep(reader, from->dtype);
    item->element = tp_dtype_by_name(dot ? dot + 1 : from->dtype);
    if (!item->dtype)
        return tp_fail_memory(err);
    for (int i = 0; i < TP_ACTIVATION_STATS; i++)
        if (from->has[i])
            item->stats[stats[i]] =
                (struct tp_dump_number){TP_JSON_REAL, 0, from->stats[i]};
    if (from->ndim < 0)
        return TP_OK;
    int64_t *shape = tp_arena_alloc(&reader->place->arena,
                                    (size_t)from->ndim * sizeof *shape);
    if (!shape)
        return tp_fail_memory(err);
    for (int i = 0; i < from->ndim; i++)
        shape[i] = from->shape[i];
    item->has_shape = true;
    item->dims = from->ndim;
    item->shape = shape;
    return TP_OK;
}

/* The producers that were met, as inputs. */
static enum tp_status add_inputs(struct reader *reader,
                                 struct tp_dump_call *call, const char *list,
                                 struct tp_error *err)
{
    struct tp_dump_place *place = reader->place;
    const size_t number = (size_t)(call - place->calls);
    enum tp_status status = TP_OK;
    for (int input = 0; *list && status == TP_OK; input++) {
        list += strspn(list, "; ");
        const size_t length = strcspn(list, ";");
        reader->name.length = 0;
        tp_text_bytes(&reader->name, list, length);
        if (reader->name.failed)
            return tp_fail_memory(err);
        const size_t made =
            tp_text_index_of(&reader->by_key, tp_text_get(&reader->name));
        list += length;
        if (made == TP_TEXT_NEW)
            continue;
        struct tp_dump_item *item;
        status = tp_dump_item_add(place, &item, err);
        if (status != TP_OK)
            return status;
        const struct tp_dump_call *producer = &place->calls[made];
        *item = place->items[producer->first + producer->count - 1];
        item->place = TP_MSPROBE_INPUT;
        item->argument = tp_arena_format(&place->arena, "%d", input);
        if (!item->argument)
            return tp_fail_memory(err);
        place->calls[number].count++;
    }
    return status;
}

/* A NaN that the hashes tell of, unless an input has it already. */
static enum tp_status add_hash(struct reader *reader,
                               struct tp_dump_call *call,
                               const struct tp_activation *from,
                               struct tp_error *err)
{
    struct tp_dump_place *place = reader->place;
    struct tp_dump_item *item;
    call->incomplete = from->inputs == TP_ACTIVATION_UNKNOWN;
    if (from->inputs != TP_ACTIVATION_NAN)
        return TP_OK;
    for (size_t i = 0; i < call->count; i++)
        if (isnan(place->items[call->first + i].stats[TP_DUMP_NORM].real))
            return TP_OK;
    enum tp_status status = tp_dump_item_add(place, &item, err);
    if (status != TP_OK)
        return status;
    item->kind = TP_DUMP_TENSOR;
    item->place = TP_MSPROBE_INPUT;
    item->argument = "hash";
    item->type = "torch.Tensor";
    item->stats[TP_DUMP_NORM] =
        (struct tp_dump_number){TP_JSON_REAL, 0, (double)NAN};
    call->count++;
    return TP_OK;
}

static enum tp_status add_stack(struct reader *reader,
                                struct tp_dump_call *call,
                                const char *location, struct tp_error *err)
{
    if (!*location)
        return TP_OK;
    struct tp_arena *arena = &reader->place->arena;
    struct tp_dump_stack *stack = tp_arena_alloc(arena, sizeof *stack);
    const char **lines = tp_arena_alloc(arena, sizeof *lines);
    if (!stack || !lines || !(*lines = keep(reader, location)))
        return tp_fail_memory(err);
    *stack = (struct tp_dump_stack){lines, 1};
    call->stack = stack;
    return TP_OK;
}

/* Puts the last call into the index, which is made anew, twice as large, when
 * it is full; false: no memory. */
static bool index_last(struct reader *reader)
{
    const struct tp_dump_place *place = reader->place;
    size_t i = place->call_count - 1;
    if (place->call_count > reader->room) {
        reader->room = 2 * place->call_count + 62;
        if (!tp_text_index_init(&reader->by_key, reader->room))
            return false;
        i = 0;
    }
    for (; i < place->call_count; i++)
        *tp_text_index_put(&reader->by_key, place->calls[i].key) = i;
    return true;
}

static enum tp_status add_call(void *context,
                               const struct tp_activation *from,
                               struct tp_error *err)
{
    struct reader *reader = context;
    struct tp_dump_place *place = reader->place;
    struct tp_dump_call *call;
    enum tp_status status = tp_dump_call_add(place, from->name, &call, err);
    if (status != TP_OK)
        return status;
    call->offset = from->offset;
    name_call(call, from->backward);
    status = add_stack(reader, call, from->location, err);
    if (status == TP_OK)
        status = add_inputs(reader, call, from->producers, err);
    if (status == TP_OK)
        status = add_hash(reader, call, from, err);
    if (status == TP_OK)
        status = add_result(reader, from, err);
    if (status != TP_OK)
        return status;
    call->count++;
    return index_last(reader) ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_dump_activations_read(const struct tp_bytes *bytes,
                                        struct tp_dump_place *place,
                                        struct tp_error *err)
{
    struct reader reader = {.place = place, .room = 0};
    const struct tp_activation_sink sink = {&reader, add_call};
    place->heads[TP_MSPROBE_TASK] = "statistics";
    place->heads[TP_MSPROBE_FRAMEWORK] = "pytorch";
    enum tp_status status = tp_activation_log_read(bytes, &sink, err);
    tp_text_index_clear(&reader.by_key);
    tp_text_clear(&reader.name);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "dump/dump_recover.h"

#include <string.h>

/* The name of a file without its suffix, taken apart. */
static bool parse_file(const char *name, struct tp_msprobe_name *parsed)
{
    const char *dot = strrchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : strlen(name);
    return tp_msprobe_name_parse(name, length, parsed) &&
           (parsed->place != TP_MSPROBE_CALL ||
            parsed->kind == TP_MSPROBE_VARIABLE);
}

static enum tp_status add_file(struct tp_dump_place *place,
                               const struct tp_msprobe_name *name,
                               struct tp_dump_file *file, struct tp_error *err)
{
    struct tp_dump_item *item;
    enum tp_status status = tp_dump_item_add(place, &item, err);
    if (status != TP_OK)
        return status;
    item->kind = TP_DUMP_TENSOR;
    item->place =
        name->place == TP_MSPROBE_CALL ? TP_MSPROBE_OUTPUT : name->place;
    item->argument =
        tp_arena_text(&place->arena, name->argument.at, name->argument.length);
    item->data_name = file->name;
    item->file = file->found;
    file->used = true;
    return item->argument ? TP_OK : tp_fail_memory(err);
}

/* Adds a file to the call that was added last, or to a new one. */
static enum tp_status recover_file(struct tp_dump_place *place,
                                   const struct tp_msprobe_name *name,
                                   struct tp_dump_file *file,
                                   struct tp_error *err)
{
    const char *key =
        tp_arena_text(&place->arena, name->call.at, name->call.length);
    struct tp_dump_call *call = NULL;
    enum tp_status status = TP_OK;
    if (!key)
        return tp_fail_memory(err);
    if (place->recovered)
        call = &place->calls[place->call_count - 1];
    if (!call || strcmp(call->key, key) != 0) {
        if (tp_dump_call_of(place, key))
            return TP_OK; /* dump.json has it, without this file */
        status = tp_dump_call_add(place, key, &call, err);
        place->recovered += status == TP_OK;
    }
    if (status == TP_OK)
        status = add_file(place, name, file, err);
    if (status == TP_OK)
        call->count++;
    return status;
}

enum tp_status tp_dump_recover(struct tp_dump_place *place,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < place->file_count && status == TP_OK; i++) {
        struct tp_msprobe_name name;
        struct tp_dump_file *file = &place->files[i];
        if (!file->used && parse_file(file->name, &name))
            status = recover_file(place, &name, file, err);
    }
    return status == TP_OK ? tp_dump_calls_index(place, err) : status;
}

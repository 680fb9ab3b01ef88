/* SPDX-License-Identifier: MIT */
#include "dump/dump.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

const char *const tp_dump_json_names[TP_DUMP_JSONS] = {
    "dump.json", "debug.json", "stack.json", "construct.json"};

const struct tp_dump_item tp_dump_item_none = {
    .place = TP_MSPROBE_OUTPUT,
    .argument = "",
    .type = "",
    .dtype = "",
    .element = TP_DTYPE_COUNT,
    .stats = {{TP_JSON_NULL, 0, NAN},
              {TP_JSON_NULL, 0, NAN},
              {TP_JSON_NULL, 0, NAN},
              {TP_JSON_NULL, 0, NAN}},
    .requires_grad = -1,
    .md5 = "",
    .data_name = "",
    .p2p = "",
    .peer = -1};

void tp_dump_place_init(struct tp_dump_place *place)
{
    *place = (struct tp_dump_place){.step = -1, .rank = -1, .process = -1};
    for (int i = 0; i < TP_MSPROBE_HEADS; i++)
        place->heads[i] = "";
    for (int i = 0; i < TP_DUMP_JSONS; i++)
        place->sources[i] =
            (struct tp_dump_source){.offset = -1, .problem = ""};
}

static void clear_place(struct tp_dump_place *place)
{
    free(place->calls);
    tp_text_index_clear(&place->by_key);
    free(place->items);
    free(place->nodes);
    free(place->files);
    tp_arena_clear(&place->arena);
}

void tp_dump_clear(struct tp_dump *dump)
{
    for (size_t i = 0; i < dump->place_count; i++)
        clear_place(&dump->places[i]);
    free(dump->places);
    tp_found_clear(&dump->found);
    tp_notes_clear(&dump->notes);
    tp_arena_clear(&dump->arena);
    memset(dump, 0, sizeof *dump);
}

bool tp_dump_lost(const struct tp_dump *dump)
{
    bool lost = dump->arena.failed || dump->notes.failed;
    for (size_t i = 0; i < dump->place_count; i++)
        lost |= dump->places[i].arena.failed;
    return lost;
}

const char *tp_dump_source_name(const struct tp_dump_place *place,
                                enum tp_dump_json json)
{
    return place->log && json == TP_DUMP_JSON ? place->log
                                              : tp_dump_json_names[json];
}

enum tp_status tp_dump_item_add(struct tp_dump_place *place,
                                struct tp_dump_item **item,
                                struct tp_error *err)
{
    enum tp_status status =
        tp_grow(&place->items, &place->item_capacity, place->item_count + 1,
                sizeof *place->items, err);
    if (status != TP_OK)
        return status;
    *item = &place->items[place->item_count++];
    **item = tp_dump_item_none;
    return TP_OK;
}

enum tp_status tp_dump_call_add(struct tp_dump_place *place, const char *key,
                                struct tp_dump_call **call,
                                struct tp_error *err)
{
    const char *own = tp_arena_text(&place->arena, key, strlen(key));
    enum tp_status status =
        own ? tp_grow(&place->calls, &place->call_capacity,
                      place->call_count + 1, sizeof *place->calls, err)
            : tp_fail_memory(err);
    if (status != TP_OK)
        return status;
    *call = &place->calls[place->call_count++];
    **call = (struct tp_dump_call){
        .key = own, .offset = -1, .first = place->item_count};
    (*call)->known = tp_msprobe_name_parse(own, strlen(own), &(*call)->name);
    return TP_OK;
}

enum tp_status tp_dump_calls_index(struct tp_dump_place *place,
                                   struct tp_error *err)
{
    if (!tp_text_index_init(&place->by_key, place->call_count))
        return tp_fail_memory(err);
    for (size_t i = 0; i < place->call_count; i++)
        *tp_text_index_put(&place->by_key, place->calls[i].key) = i;
    return TP_OK;
}

struct tp_dump_call *tp_dump_call_of(const struct tp_dump_place *place,
                                     const char *key)
{
    const size_t call = tp_text_index_of(&place->by_key, key);
    return call == TP_TEXT_NEW ? NULL : &place->calls[call];
}

struct tp_dump_file *tp_dump_file_of(const struct tp_dump_place *place,
                                     const char *name)
{
    size_t i;
    TP_PARTITION_POINT(i, place->file_count,
                       strcmp(place->files[i].name, name) < 0);
    return i < place->file_count && !strcmp(place->files[i].name, name)
               ? &place->files[i]
               : NULL;
}

const struct tp_dump_node *tp_dump_node_of(const struct tp_dump_place *place,
                                           const char *name)
{
    size_t i;
    TP_PARTITION_POINT(i, place->node_count,
                       strcmp(place->nodes[i].name, name) < 0);
    return i < place->node_count && !strcmp(place->nodes[i].name, name)
               ? &place->nodes[i]
               : NULL;
}

void tp_dump_item_name(const struct tp_dump_call *call,
                       const struct tp_dump_item *item, const char *keywords,
                       struct tp_text *text)
{
    const char *const words[] = {[TP_MSPROBE_CALL] = "",
                                 [TP_MSPROBE_INPUT] = "input",
                                 [TP_MSPROBE_OUTPUT] = "output",
                                 [TP_MSPROBE_KWARGS] = keywords,
                                 [TP_MSPROBE_PARAMETERS] = "parameters"};
    const bool plain = call->known && (call->name.gradient ||
                                       call->name.kind == TP_MSPROBE_VARIABLE);
    tp_text_bytes(text, call->key, strlen(call->key));
    if (!plain && *words[item->place]) {
        tp_text_bytes(text, ".", 1);
        tp_text_bytes(text, words[item->place], strlen(words[item->place]));
    }
    if (*item->argument) {
        tp_text_bytes(text, ".", 1);
        tp_text_bytes(text, item->argument, strlen(item->argument));
    }
}

void tp_dump_place_words(const struct tp_dump_place *place,
                         struct tp_text *text)
{
    if (place->step >= 0)
        tp_text_add(text, "step %" PRId64, place->step);
    if (place->rank >= 0)
        tp_text_add(text, "%srank %" PRId64, place->step >= 0 ? ", " : "",
                    place->rank);
    if (place->step < 0 && place->rank < 0)
        tp_text_printable(text, place->directory);
}

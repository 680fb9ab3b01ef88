/* SPDX-License-Identifier: MIT */
/*
 * Processes send what they read as the parts of a state: the same bytes that a
 * file of it has, not deflated, and taken where they arrive. To send rows one
 * by one would need a second way to write them. Rank 0 takes one process after
 * the other, so that it holds no more than the records of all and the words of
 * one.
 */
#include "state/state_gather.h"

#include <stdlib.h>
#include <string.h>

#include "state/state_image.h"

/* The records of this process that rank 0 has not. */
static struct tp_records own_records(const struct tp_records *records)
{
    struct tp_records own = *records;
    own.items = calloc(records->count + 1, sizeof *own.items);
    own.count = own.problem_count = 0;
    for (size_t i = 0; own.items && i < records->count; i++) {
        if (records->items[i].done && !records->items[i].elsewhere)
            own.items[own.count++] = records->items[i];
    }
    return own;
}

enum tp_status tp_state_send_image(const struct tp_world *world,
                                   const struct tp_state_image *image,
                                   struct tp_error *err)
{
    uint64_t sizes[TP_STATE_PARTS];
    for (int i = 0; i < TP_STATE_PARTS; i++)
        sizes[i] = image->parts[i].size;
    enum tp_status status =
        world->send(world->context, 0, sizes, sizeof sizes, err);
    for (int i = 0; i < TP_STATE_PARTS && status == TP_OK; i++)
        status = world->send(world->context, 0, image->parts[i].data,
                             image->parts[i].size, err);
    return status;
}

static enum tp_status send_records(const struct tp_world *world,
                                   const struct tp_records *records,
                                   struct tp_error *err)
{
    const struct tp_state_header header = {"", "", true};
    struct tp_records own = own_records(records);
    struct tp_state_image image = {.whole = true};
    enum tp_status status =
        own.items ? tp_state_encode(&header, &own, NULL, &image, err)
                  : tp_fail_memory(err);
    free(own.items);
    if (status == TP_OK)
        status = tp_state_send_image(world, &image, err);
    tp_state_image_clear(&image);
    return status;
}

enum tp_status tp_state_receive_image(const struct tp_world *world,
                                      unsigned from, struct tp_arena *arena,
                                      struct tp_state_image *image,
                                      struct tp_error *err)
{
    uint64_t sizes[TP_STATE_PARTS];
    enum tp_status status =
        world->receive(world->context, from, sizes, sizeof sizes, err);
    for (int i = 0; i < TP_STATE_PARTS && status == TP_OK; i++) {
        status = tp_state_part_make(image, i, sizes[i], arena, err);
        if (status == TP_OK)
            status = world->receive(world->context, from, image->parts[i].data,
                                    sizes[i], err);
    }
    return status;
}

static int compare_path(const void *key, const void *item)
{
    return strcmp(key, ((const struct tp_record *)item)->path);
}

/* Records of another process take the place of those that are empty here. */
static void take_records(const struct tp_records *from,
                         struct tp_records *records)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct tp_record *record = &from->items[i];
        struct tp_record *ours =
            bsearch(record->path, records->items, records->count,
                    sizeof *records->items, compare_path);
        if (!ours)
            continue;
        const char *path = ours->path;
        *ours = *record;
        ours->path = path;
    }
}

static enum tp_status receive_records(const struct tp_world *world,
                                      unsigned from, struct tp_records *records,
                                      struct tp_state *state,
                                      struct tp_error *err)
{
    struct tp_state_image image = {.whole = true};
    enum tp_status status =
        tp_state_receive_image(world, from, records->arena, &image, err);
    state->records.arena = records->arena;
    state->records.texts = records->texts;
    if (status == TP_OK)
        status = tp_state_decode(&image, state, NULL, err);
    records->texts = state->records.texts;
    state->records.texts = (struct tp_intern){.slots = NULL};
    tp_state_image_clear(&image);
    if (status == TP_OK)
        take_records(&state->records, records);
    return status;
}

enum tp_status tp_state_gather(void *gather, struct tp_records *records,
                               struct tp_error *err)
{
    struct tp_state_gather *g = gather;
    if (g->world->rank > 0)
        return send_records(g->world, records, err);
    g->states = calloc(g->world->size, sizeof *g->states);
    if (!g->states)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    for (unsigned from = 1; from < g->world->size && status == TP_OK; from++)
        status = receive_records(g->world, from, records,
                                 &g->states[g->count++], err);
    return status;
}

void tp_state_gather_clear(struct tp_state_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++)
        tp_state_clear(&gather->states[i]);
    free(gather->states);
    *gather = (struct tp_state_gather){.world = gather->world};
}

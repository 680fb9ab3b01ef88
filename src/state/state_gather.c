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

#include "base/memory.h"
#include "state/state_image.h"

/* What is said of a record beside its image: of which part of its file it is.
 */
struct part {
    uint64_t part, parts, changed;
};

static int compare_own(const void *left, const void *right)
{
    return strcmp(((const struct tp_record *)left)->path,
                  ((const struct tp_record *)right)->path);
}

/* The records of this process that rank 0 has not, by path. */
static struct tp_records own_records(const struct tp_records *records)
{
    struct tp_records own = *records;
    own.items =
        calloc(records->count + records->part_count + 1, sizeof *own.items);
    own.count = own.problem_count = 0;
    for (size_t i = 0; own.items && i < records->count; i++) {
        if (records->items[i].done && !records->items[i].elsewhere)
            own.items[own.count++] = records->items[i];
    }
    for (size_t i = 0; own.items && i < records->part_count; i++)
        own.items[own.count++] = records->parts[i];
    if (own.items && records->part_count)
        qsort(own.items, own.count, sizeof *own.items, compare_own);
    return own;
}

static enum tp_status send_parts(const struct tp_world *world,
                                 const struct tp_records *own,
                                 struct tp_error *err)
{
    struct part *parts = calloc(own->count + 1, sizeof *parts);
    if (!parts)
        return tp_fail_memory(err);
    for (size_t i = 0; i < own->count; i++) {
        const struct tp_record *record = &own->items[i];
        parts[i] = (struct part){record->part, record->parts, record->changed};
    }
    const enum tp_status status =
        world->send(world->context, 0, parts, own->count * sizeof *parts, err);
    free(parts);
    return status;
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
    if (status == TP_OK)
        status = tp_state_send_image(world, &image, err);
    if (status == TP_OK)
        status = send_parts(world, &own, err);
    free(own.items);
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

/* Records of another process take the place of those that are empty here; those
 * of parts of files are put together later. */
static enum tp_status take_record(const struct tp_record *record,
                                  const struct part *part,
                                  struct tp_records *records,
                                  struct tp_error *err)
{
    struct tp_record *ours =
        bsearch(record->path, records->items, records->count,
                sizeof *records->items, compare_path);
    if (!ours)
        return TP_OK;
    const char *path = ours->path;
    if (part->parts) {
        if (tp_grow(&records->parts, &records->part_capacity,
                    records->part_count + 1, sizeof *records->parts,
                    err) != TP_OK)
            return TP_E_MEMORY;
        ours = &records->parts[records->part_count++];
    }
    *ours = *record;
    ours->path = path;
    ours->part = (size_t)part->part;
    ours->parts = (size_t)part->parts;
    ours->changed = part->changed != 0;
    return TP_OK;
}

static enum tp_status take_records(const struct tp_world *world, unsigned from,
                                   const struct tp_records *its,
                                   struct tp_records *records,
                                   struct tp_error *err)
{
    struct part *parts = calloc(its->count + 1, sizeof *parts);
    enum tp_status status =
        parts ? world->receive(world->context, from, parts,
                               its->count * sizeof *parts, err)
              : tp_fail_memory(err);
    for (size_t i = 0; i < its->count && status == TP_OK; i++)
        status = take_record(&its->items[i], &parts[i], records, err);
    free(parts);
    return status;
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
        status = take_records(world, from, &state->records, records, err);
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

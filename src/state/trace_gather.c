/* SPDX-License-Identifier: MIT */
#include "state/trace_gather.h"

#include <stdlib.h>
#include <string.h>

#include "state/state_gather.h"
#include "state/state_image.h"
#include "state/trace_state.h"
#include "trace/trace_lists.h"

static enum tp_status send_records(const struct tp_world *world,
                                   const struct tp_trace_records *records,
                                   struct tp_error *err)
{
    const struct tp_state_header header = {"", "", true};
    struct tp_trace_records own = *records;
    struct tp_state_image image;
    own.problem_count = 0; /* rank 0 found the files */
    enum tp_status status = tp_trace_state_encode(&header, &own, &image, err);
    if (status == TP_OK)
        status = tp_state_send_image(world, &image, err);
    tp_state_image_clear(&image);
    return status;
}

static int compare_path(const void *key, const void *item)
{
    return strcmp(key, ((const struct tp_trace_record *)item)->path);
}

/* Records of another process take the place of those that are empty here. */
static void take_records(struct tp_trace_records *from,
                         struct tp_trace_records *records)
{
    for (size_t i = 0; i < from->count; i++) {
        struct tp_trace_record *record = &from->items[i];
        struct tp_trace_record *ours =
            bsearch(record->path, records->items, records->count,
                    sizeof *records->items, compare_path);
        if (!ours || ours->done)
            continue;
        record->path = ours->path;
        *ours = *record;
        record->trace = (struct tp_trace){.path = NULL};
    }
}

static enum tp_status receive_records(const struct tp_world *world,
                                      unsigned from,
                                      struct tp_trace_records *records,
                                      struct tp_error *err)
{
    struct tp_state_image image = {.traces = true};
    struct tp_trace_state state = {
        .records = {.arena = records->arena, .texts = records->texts}};
    enum tp_status status =
        tp_state_receive_image(world, from, records->arena, &image, err);
    if (status == TP_OK)
        status = tp_trace_state_decode(&image, &state, err);
    records->texts = state.records.texts;
    state.records.texts = (struct tp_intern){.slots = NULL};
    tp_state_image_clear(&image);
    if (status == TP_OK)
        take_records(&state.records, records);
    tp_trace_state_clear(&state);
    return status;
}

enum tp_status tp_trace_gather(const struct tp_world *world,
                               struct tp_trace_records *records,
                               struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (world->rank > 0)
        return send_records(world, records, err);
    for (unsigned from = 1; from < world->size && status == TP_OK; from++)
        status = receive_records(world, from, records, err);
    return status;
}

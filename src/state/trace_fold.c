/* SPDX-License-Identifier: MIT */
#include "state/trace_fold.h"

#include <stdlib.h>
#include <string.h>

#include "state/state_fold.h"
#include "trace/trace_lists.h"

/* Moves the records of both, which are in order, to `into`; of one path that of
 * `side`: a process that read a file again knows better. Their number. */
static size_t merge_records(struct tp_trace_records *known,
                            struct tp_trace_records *side,
                            struct tp_trace_record *into)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < known->count || k < side->count;) {
        const int order = i == known->count  ? 1
                          : k == side->count ? -1
                                             : strcmp(known->items[i].path,
                                                      side->items[k].path);
        if (order == 0)
            tp_trace_clear(&known->items[i].trace);
        into[count++] = order < 0 ? known->items[i] : side->items[k];
        i += order <= 0;
        k += order >= 0;
    }
    known->count = side->count = 0;
    return count;
}

static enum tp_status add_side(const char *path, struct tp_trace_state *state,
                               struct tp_error *err)
{
    struct tp_trace_records *known = &state->records;
    struct tp_trace_state side = {
        .records = {.arena = known->arena, .texts = known->texts}};
    enum tp_status status = tp_trace_state_read(path, &side, err);
    known->texts = side.records.texts;
    side.records.texts = (struct tp_intern){.slots = NULL};
    if (status == TP_OK && strcmp(side.options, state->options) != 0) {
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "it stands beside a state that was made with other "
                         "options");
        tp_error_in_file(err, path);
    }
    struct tp_trace_record *items =
        status == TP_OK
            ? calloc(known->count + side.records.count + 1, sizeof *items)
            : NULL;
    if (items) {
        const size_t count = merge_records(known, &side.records, items);
        free(known->items);
        known->items = items;
        known->count = count;
        state->whole = false;
    } else if (status == TP_OK) {
        status = tp_fail_memory(err);
    }
    tp_trace_state_clear(&side);
    return status;
}

enum tp_status tp_trace_fold(const char *path, struct tp_trace_state *state,
                             size_t *sides, struct tp_error *err)
{
    struct tp_found_list list = {0};
    enum tp_status status = tp_state_find_sides(path, &list, err);
    for (size_t i = 0; i < list.count && status == TP_OK; i++)
        status = add_side(list.files[i].path, state, err);
    *sides = list.count;
    tp_found_clear(&list);
    return status;
}

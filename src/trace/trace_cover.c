/* SPDX-License-Identifier: MIT */
#include "trace/trace_cover.h"

#include <stdlib.h>

#include "base/search.h"

enum tp_status tp_cover_make(struct tp_cover *cover, struct tp_error *err)
{
    const struct tp_intervals *set = &cover->set;
    int64_t length = 0;
    cover->before = malloc((set->count + 1) * sizeof *cover->before);
    if (!cover->before) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < set->count; i++) {
        cover->before[i] = length;
        length += set->items[i].to - set->items[i].from;
    }
    return TP_OK;
}

/* Length of the part of the set before `moment`. */
static int64_t length_before(const struct tp_cover *cover, int64_t moment)
{
    /* the first interval that starts at or after it */
    size_t next;
    TP_PARTITION_POINT(next, cover->set.count,
                       cover->set.items[next].from < moment);
    if (next == 0) {
        return 0;
    }
    const struct tp_interval last = cover->set.items[next - 1];
    const int64_t to = last.to < moment ? last.to : moment;
    return cover->before[next - 1] + (to - last.from);
}

int64_t tp_cover_within(const struct tp_cover *cover, int64_t from, int64_t to)
{
    return from < to ? length_before(cover, to) - length_before(cover, from)
                     : 0;
}

void tp_cover_clear(struct tp_cover *cover)
{
    tp_intervals_clear(&cover->set);
    free(cover->before);
    cover->before = NULL;
}

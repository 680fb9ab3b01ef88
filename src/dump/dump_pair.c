/* SPDX-License-Identifier: MIT */
#include "dump/dump_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "dump/dump_reread.h"

/* Elements are compared so many at a time. */
enum { STRETCH = 16384 };

/* One of the two while it is read. */
struct side {
    struct tp_dump_reread reading;
    struct tp_walk walk;
    unsigned char *codes; /* STRETCH elements                              */
    unsigned char *room;  /* TP_CHUNK_BYTES                                */
};

struct comparison {
    struct side from, to;
    struct side *reads; /* the one that is read                            */
    struct tp_dump_pair *pair;
    enum tp_dtype dtype;
    unsigned char before[32]; /* the element before the stretch            */
    double *values;           /* [STRETCH * 2] of `to`                     */
    /* what is known of a limit */
    double limit;           /* what all of `to` that differs is; NaN: none   */
    bool several;           /* it is not one value                           */
    double low, high;       /* of `from`, where they differ                  */
    double lowest, highest; /* of all of `to`                              */
};

static bool open_side(struct side *side, const struct tp_dump_item *item)
{
    tp_dump_reread_open(&side->reading, item);
    if (side->reading.tensor)
        tp_walk_ordered(side->reading.tensor, &side->walk);
    return side->reading.tensor;
}

static enum tp_status close_side(struct side *side)
{
    const enum tp_status status = tp_dump_reread_close(&side->reading);
    tp_dump_reread_clear(&side->reading);
    free(side->codes);
    free(side->room);
    return status;
}

static bool provide(struct comparison *work)
{
    const size_t bytes = STRETCH * tp_dtype_info(work->dtype)->size;
    return tp_provide(&work->from.codes, bytes) &&
           tp_provide(&work->from.room, TP_CHUNK_BYTES) &&
           tp_provide(&work->to.codes, bytes) &&
           tp_provide(&work->to.room, TP_CHUNK_BYTES) &&
           tp_provide(&work->values, STRETCH * 2 * sizeof *work->values);
}

/* Notes an element that differs: a limit is one value for all of them. */
static void take_difference(struct comparison *work, int64_t at, double was,
                            double is)
{
    struct tp_dump_pair *pair = work->pair;
    if (pair->differing++ == 0) {
        pair->first = at;
        work->limit = is;
    }
    pair->last = at;
    work->several |= !(is == work->limit);
    work->low = fmin(work->low, was);
    work->high = fmax(work->high, was);
    work->several |= isnan(was);
}

/* n elements from `at` on, which were read. */
static void compare_stretch(struct comparison *work, int64_t at, size_t n)
{
    const struct tp_dtype_info *info = tp_dtype_info(work->dtype);
    const size_t size = info->size;
    const unsigned char *x = work->from.codes, *y = work->to.codes;
    const unsigned char *before = at ? work->before : y;
    tp_dtype_decode(info->real, y, n * info->parts, work->values);
    for (size_t i = 0; i < n; i++) {
        const double value = work->values[i * info->parts];
        work->lowest = fmin(work->lowest, value);
        work->highest = fmax(work->highest, value);
        if (memcmp(x + i * size, y + i * size, size) != 0) {
            double was[2];
            tp_dtype_decode(info->real, x + i * size, info->parts, was);
            take_difference(work, at + (int64_t)i, was[0], value);
        } else {
            work->pair->changes += memcmp(y + i * size, before, size) != 0;
        }
        before = y + i * size;
    }
    memcpy(work->before, before, size);
}

static enum tp_status read_both(struct comparison *work, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (int64_t at = 0; at < work->pair->numel && status == TP_OK;
         at += STRETCH) {
        int64_t left = work->pair->numel - at;
        size_t n = (size_t)(left < STRETCH ? left : STRETCH);
        work->reads = &work->from;
        status = tp_walk_read(&work->from.walk, at, n, work->from.codes,
                              work->from.room, err);
        if (status != TP_OK)
            break;
        work->reads = &work->to;
        status = tp_walk_read(&work->to.walk, at, n, work->to.codes,
                              work->to.room, err);
        if (status == TP_OK)
            compare_stretch(work, at, n);
    }
    return status;
}

static enum tp_status compare(struct comparison *work, struct tp_error *err)
{
    struct tp_dump_pair *pair = work->pair;
    const struct tp_tensor *from = work->from.reading.tensor;
    const struct tp_tensor *to = work->to.reading.tensor;
    if (from->dtype != to->dtype || from->numel != to->numel)
        return TP_OK;
    work->dtype = from->dtype;
    pair->numel = from->numel;
    pair->size = tp_dtype_info(work->dtype)->size;
    if (!provide(work))
        return tp_fail_memory(err);
    enum tp_status status = read_both(work, err);
    pair->read = status == TP_OK;
    return status;
}

enum tp_status tp_dump_pair_compare(const struct tp_dump_item *from,
                                    const struct tp_dump_item *to,
                                    struct tp_dump_pair *pair,
                                    struct tp_dump_unread *unread,
                                    struct tp_arena *arena,
                                    struct tp_error *err)
{
    struct comparison work = {.pair = pair,
                              .limit = NAN,
                              .low = INFINITY,
                              .high = -INFINITY,
                              .lowest = INFINITY,
                              .highest = -INFINITY};
    *pair = (struct tp_dump_pair){.first = -1, .last = -1};
    work.reads = &work.from;
    if (open_side(&work.from, from) && open_side(&work.to, to)) {
        struct tp_error why = {.code = TP_OK};
        work.reads->reading.status = compare(&work, &why);
        work.reads->reading.why = why;
    }
    pair->clamped = pair->differing && !work.several &&
                    ((work.limit == work.lowest && work.high < work.limit) ||
                     (work.limit == work.highest && work.low > work.limit));
    const enum tp_status first = close_side(&work.from);
    const enum tp_status second = close_side(&work.to);
    free(work.values);
    if (first == TP_OK && second == TP_OK)
        return TP_OK;
    *pair = (struct tp_dump_pair){.first = -1, .last = -1};
    if (first == TP_E_MEMORY || second == TP_E_MEMORY)
        return tp_fail_memory(err);
    if (first != TP_OK)
        tp_dump_unread_add(unread, arena, from->file->path,
                           &work.from.reading.why);
    else
        tp_dump_unread_add(unread, arena, to->file->path,
                           &work.to.reading.why);
    return TP_OK;
}

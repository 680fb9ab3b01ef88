/* SPDX-License-Identifier: MIT */
#include "dump/dump_content.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"

enum {
    /* Samples by which results are found: of two tensors that differ in a
     * tenth of their elements one of eight is equal but for 10^-8. */
    KEYS = 8,
    NUMEL_LEAST = 32,
    VALUES_LEAST = 6
};

bool tp_content_tells(const struct tp_dump_print *print)
{
    return print->known && print->numel >= NUMEL_LEAST &&
           print->dtype != TP_BOOL && tp_dump_print_count(print) >= KEYS &&
           tp_dump_print_values(print) >= VALUES_LEAST;
}

bool tp_content_is_weight(const struct tp_dump_call *call,
                          const struct tp_dump_item *item)
{
    return call->known && call->name.direction == TP_FORWARD &&
           !call->name.gradient && !tp_dump_item_is_result(call, item) &&
           (item->place == TP_MSPROBE_PARAMETERS ||
            tp_dump_item_is_weight(call, item));
}

/* --- equal
 * -------------------------------------------------------------------- */

static int compare_contents(const struct tp_dump_print *a,
                            const struct tp_dump_print *b)
{
    int result = tp_order_int64(a->numel, b->numel);
    if (result == 0)
        result = tp_order_int64(a->dtype, b->dtype);
    if (result == 0)
        result = tp_order_int64(a->crc, b->crc);
    return result ? result : memcmp(a->sample, b->sample, sizeof a->sample);
}

/* An entry while it is sorted. */
struct sorted {
    const struct tp_dump_print *print;
    struct tp_content_entry entry;
};

static int compare_sorted(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    int result = compare_contents(a->print, b->print);
    if (result == 0)
        result = tp_order_size(a->entry.call, b->entry.call);
    if (result == 0)
        result = tp_order_int64(a->entry.result, b->entry.result);
    return result ? result : tp_order_size(a->entry.item, b->entry.item);
}

static enum tp_status sort_entries(struct tp_contents *contents,
                                   struct tp_error *err)
{
    const struct tp_dump_place *place = contents->place;
    const size_t most = place->item_count + 1;
    struct sorted *sorted = calloc(most, sizeof *sorted);
    contents->entries = calloc(most, sizeof *contents->entries);
    if (!sorted || !contents->entries) {
        free(sorted);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < place->item_count; i++) {
        const struct tp_dump_call *call = &place->calls[contents->call_of[i]];
        if (contents->prints[i].known)
            sorted[contents->entry_count++] =
                (struct sorted){&contents->prints[i],
                                {i, contents->call_of[i],
                                 tp_dump_item_is_result(call, &place->items[i]),
                                 tp_content_is_weight(call, &place->items[i])}};
    }
    qsort(sorted, contents->entry_count, sizeof *sorted, compare_sorted);
    for (size_t i = 0; i < contents->entry_count; i++)
        contents->entries[i] = sorted[i].entry;
    free(sorted);
    return TP_OK;
}

size_t tp_contents_equal(const struct tp_contents *contents,
                         const struct tp_dump_print *print, size_t *first)
{
    const struct tp_dump_print *prints = contents->prints;
    const struct tp_content_entry *entries = contents->entries;
    size_t i, end;
    TP_PARTITION_POINT(i, contents->entry_count,
                       compare_contents(&prints[entries[i].item], print) < 0);
    *first = i;
    for (end = i; end < contents->entry_count &&
                  !compare_contents(&prints[entries[end].item], print);)
        end++;
    return end;
}

/* --- near
 * --------------------------------------------------------------------- */

static int compare_keys(const struct tp_dump_print *a, int i,
                        const struct tp_dump_print *b, int k)
{
    int result = tp_order_int64(a->numel, b->numel);
    if (result == 0)
        result = tp_order_int64(a->dtype, b->dtype);
    if (result == 0)
        result = tp_order_int64(i, k);
    return result ? result : tp_order_int64(a->sample[i], b->sample[k]);
}

static int compare_samples(const void *left, const void *right)
{
    const struct tp_content_sample *a = left, *b = right;
    int result = compare_keys(a->print, a->k, b->print, b->k);
    return result ? result : tp_order_size(a->item, b->item);
}

static enum tp_status sort_samples(struct tp_contents *contents,
                                   struct tp_error *err)
{
    size_t sampled = 0;
    for (size_t i = 0; i < contents->entry_count; i++)
        sampled += contents->entries[i].result || contents->entries[i].weight;
    contents->samples = calloc(sampled * KEYS + 1, sizeof *contents->samples);
    if (!contents->samples)
        return tp_fail_memory(err);
    for (size_t i = 0; i < contents->entry_count; i++) {
        const struct tp_content_entry *entry = &contents->entries[i];
        const struct tp_dump_print *print = &contents->prints[entry->item];
        if ((!entry->result && !entry->weight) || !tp_content_tells(print))
            continue;
        for (int k = 0; k < KEYS; k++)
            if (print->samples >> k & 1)
                contents->samples[contents->sample_count++] =
                    (struct tp_content_sample){print, entry->item, entry->call,
                                               k, entry->weight};
    }
    qsort(contents->samples, contents->sample_count, sizeof *contents->samples,
          compare_samples);
    return TP_OK;
}

/* The best so far. */
struct best {
    size_t item, call;
    int shared;
    bool weight; /* of these only, or of results only                      */
};

static void try_samples(const struct tp_contents *contents,
                        const struct tp_dump_print *print, int k, size_t call,
                        struct best *best)
{
    const struct tp_content_sample *samples = contents->samples;
    size_t i;
    TP_PARTITION_POINT(i, contents->sample_count,
                       compare_keys(samples[i].print, samples[i].k, print, k) <
                           0);
    for (; i < contents->sample_count &&
           !compare_keys(samples[i].print, samples[i].k, print, k);
         i++) {
        const struct tp_content_sample *one = &samples[i];
        if (one->call >= call || one->weight != best->weight)
            continue;
        int shared = tp_dump_print_shared(one->print, print);
        if (shared > best->shared ||
            (shared == best->shared && one->call > best->call))
            *best = (struct best){one->item, one->call, shared, best->weight};
    }
}

size_t tp_contents_near(const struct tp_contents *contents,
                        const struct tp_dump_print *print, size_t call,
                        bool weight)
{
    struct best best = {.weight = weight};
    for (int k = 0; k < KEYS; k++)
        if (print->samples >> k & 1)
            try_samples(contents, print, k, call, &best);
    return best.shared * 10 >= tp_dump_print_count(print) * 7 && best.shared
               ? best.item
               : (size_t)-1;
}

/* --- the whole
 * ----------------------------------------------------------------- */

static enum tp_status provide(struct tp_contents *contents,
                              struct tp_error *err)
{
    const struct tp_dump_place *place = contents->place;
    contents->prints = calloc(place->item_count + 1, sizeof *contents->prints);
    contents->call_of =
        calloc(place->item_count + 1, sizeof *contents->call_of);
    if (!contents->prints || !contents->call_of)
        return tp_fail_memory(err);
    for (size_t i = 0; i < place->call_count; i++)
        for (size_t k = 0; k < place->calls[i].count; k++)
            contents->call_of[place->calls[i].first + k] = i;
    return TP_OK;
}

enum tp_status tp_contents_make(const struct tp_dump_print_from *from,
                                struct tp_contents *contents,
                                struct tp_error *err)
{
    *contents = (struct tp_contents){.place = from->place};
    enum tp_status status = provide(contents, err);
    if (status == TP_OK)
        status = tp_dump_prints_take(from, contents->prints, err);
    if (status == TP_OK)
        status = sort_entries(contents, err);
    if (status == TP_OK)
        status = sort_samples(contents, err);
    return status;
}

void tp_contents_clear(struct tp_contents *contents)
{
    free(contents->prints);
    free(contents->entries);
    free(contents->samples);
    free(contents->call_of);
    memset(contents, 0, sizeof *contents);
}

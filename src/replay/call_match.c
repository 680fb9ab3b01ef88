/* SPDX-License-Identifier: MIT */
/*
 * Two lists of calls are walked side by side. Where they part, the nearest
 * place is taken from which RUN calls are the same again; the calls before it
 * are in one run only. The longest common subsequence would be the best, at
 * the cost of n d for d differences all over the list; runs that are worth
 * comparing part in few places. Cost: n, and WINDOW^2 RUN for each parting.
 */
#include "replay/call_match.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 256, /* calls of a layer, and some                             */
    RUN = 3       /* equal calls that are no chance                         */
};

void tp_call_pairs_clear(struct tp_call_pairs *pairs)
{
    free(pairs->pairs);
    memset(pairs, 0, sizeof *pairs);
}

static bool same_part(struct tp_msprobe_part a, struct tp_msprobe_part b)
{
    return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

/* Whether two calls call the same. */
static bool same_call(const struct tp_dump_call *a,
                      const struct tp_dump_call *b)
{
    if (!a->known || !b->known)
        return !strcmp(a->key, b->key);
    return a->name.kind == b->name.kind &&
           a->name.direction == b->name.direction &&
           same_part(a->name.type, b->name.type) &&
           same_part(a->name.path, b->name.path);
}

struct lists {
    const struct tp_dump_place *a, *b;
    struct tp_call_pairs *pairs;
};

/* Whether calls are the same from here on: RUN of them, or to the end. */
static bool agree(const struct lists *lists, size_t i, size_t k)
{
    const size_t left_a = lists->a->call_count - i;
    const size_t left_b = lists->b->call_count - k;
    size_t n = left_a < left_b ? left_a : left_b;
    if (n > RUN)
        n = RUN;
    for (size_t at = 0; at < n; at++)
        if (!same_call(&lists->a->calls[i + at], &lists->b->calls[k + at]))
            return false;
    return n > 0 || left_a == left_b;
}

/* How many to skip in each list so that they agree; both ones if nowhere
 * near. */
static void find_meeting(const struct lists *lists, size_t i, size_t k,
                         size_t *skip_a, size_t *skip_b)
{
    const size_t left_a = lists->a->call_count - i;
    const size_t left_b = lists->b->call_count - k;
    *skip_a = left_a > 0;
    *skip_b = left_b > 0;
    for (size_t sum = 1; sum <= WINDOW && left_a && left_b; sum++)
        for (size_t x = 0; x <= sum; x++)
            if (x <= left_a && sum - x <= left_b &&
                agree(lists, i + x, k + sum - x)) {
                *skip_a = x;
                *skip_b = sum - x;
                return;
            }
}

static enum tp_status add_pair(struct lists *lists, size_t a, size_t b,
                               struct tp_error *err)
{
    struct tp_call_pairs *pairs = lists->pairs;
    enum tp_status status =
        tp_grow(&pairs->pairs, &pairs->capacity, pairs->count + 1,
                sizeof *pairs->pairs, err);
    if (status == TP_OK)
        pairs->pairs[pairs->count++] = (struct tp_call_pair){a, b};
    return status;
}

/* Adds calls that were skipped, each alone. */
static enum tp_status add_skipped(struct lists *lists, size_t i, size_t skip_a,
                                  size_t k, size_t skip_b, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t at = 0; at < skip_a && status == TP_OK; at++)
        status = add_pair(lists, i + at, SIZE_MAX, err);
    for (size_t at = 0; at < skip_b && status == TP_OK; at++)
        status = add_pair(lists, SIZE_MAX, k + at, err);
    return status;
}

enum tp_status tp_call_match(const struct tp_dump_place *a,
                             const struct tp_dump_place *b,
                             struct tp_call_pairs *pairs, struct tp_error *err)
{
    struct lists lists = {a, b, pairs};
    enum tp_status status = TP_OK;
    size_t i = 0, k = 0;
    while ((i < a->call_count || k < b->call_count) && status == TP_OK) {
        size_t skip_a, skip_b;
        if (i < a->call_count && k < b->call_count &&
            same_call(&a->calls[i], &b->calls[k])) {
            status = add_pair(&lists, i++, k++, err);
            continue;
        }
        find_meeting(&lists, i, k, &skip_a, &skip_b);
        status = add_skipped(&lists, i, skip_a, k, skip_b, err);
        i += skip_a;
        k += skip_b;
    }
    return status;
}

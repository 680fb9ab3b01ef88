/* SPDX-License-Identifier: MIT */
/*
 * What one or two parts leave of the whole's sum is looked up among all parts,
 * sorted by half a bag; the other half, the number of elements, and being
 * another part decide. Sums of random 64-bit numbers meet by chance once in
 * 2^64 triples, and the other half makes that 2^128: what is found is no
 * accident, though which of several copies of a part it is stays open.
 */
#include "compare/content_sum.h"

#include <stdlib.h>

#include "base/order.h"
#include "base/search.h"

static int compare_parts(const void *left, const void *right)
{
    const struct tp_content_part *a = left, *b = right;
    const int result = tp_order_uint64(a->digest.bag[0], b->digest.bag[0]);
    return result ? result : tp_order_size(a->digest.order, b->digest.order);
}

void tp_content_parts_sort(struct tp_content_part *parts, size_t count,
                           size_t *order)
{
    /* `order` of a digest is not needed here: it holds the place */
    for (size_t i = 0; i < count; i++)
        parts[i].digest.order = i;
    if (count)
        qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++)
        order[parts[i].digest.order] = i;
}

/* The part that is what is left, and that comes behind `after` as given. */
static size_t find_rest(const struct tp_content_part *rest,
                        const struct tp_content_part *parts, size_t count,
                        uint64_t after)
{
    size_t at;
    TP_PARTITION_POINT(at, count,
                       parts[at].digest.bag[0] < rest->digest.bag[0]);
    for (; at < count && parts[at].digest.bag[0] == rest->digest.bag[0]; at++)
        if (parts[at].digest.bag[1] == rest->digest.bag[1] &&
            parts[at].numel == rest->numel && parts[at].digest.order > after)
            return at;
    return SIZE_MAX;
}

static struct tp_content_part without(const struct tp_content_part *whole,
                                      const struct tp_content_part *part)
{
    struct tp_content_part rest = *whole;
    rest.digest.bag[0] -= part->digest.bag[0];
    rest.digest.bag[1] -= part->digest.bag[1];
    rest.numel -= part->numel;
    return rest;
}

static size_t find_pair(const struct tp_content_part *whole,
                        const struct tp_content_part *parts, size_t count,
                        const size_t *order, size_t *found)
{
    for (size_t i = 0; i < count; i++) {
        const struct tp_content_part rest = without(whole, &parts[order[i]]);
        found[0] = order[i];
        found[1] =
            rest.numel > 0 ? find_rest(&rest, parts, count, i) : SIZE_MAX;
        if (found[1] != SIZE_MAX)
            return 2;
    }
    return 0;
}

static size_t find_three(const struct tp_content_part *whole,
                         const struct tp_content_part *parts, size_t count,
                         const size_t *order, size_t *found)
{
    const size_t reach =
        count > TP_CONTENT_THREES ? TP_CONTENT_NEIGHBOURS : count;
    for (size_t i = 0; i < count; i++) {
        const struct tp_content_part some = without(whole, &parts[order[i]]);
        for (size_t k = i + 1; k < count && k - i < reach; k++) {
            const struct tp_content_part rest =
                without(&some, &parts[order[k]]);
            if (rest.numel <= 0)
                continue;
            found[2] = find_rest(&rest, parts, count, k);
            found[0] = order[i];
            found[1] = order[k];
            if (found[2] != SIZE_MAX)
                return 3;
        }
    }
    return 0;
}

size_t tp_content_sum_find(const struct tp_content_part *whole,
                           const struct tp_content_part *parts, size_t count,
                           const size_t *order, size_t found[TP_CONTENT_PARTS])
{
    const size_t some = find_pair(whole, parts, count, order, found);
    return some ? some : find_three(whole, parts, count, order, found);
}

/* SPDX-License-Identifier: MIT */
/*
 * A file is cut into at most four parts for each process: one that comes late
 * to it waits for no more than a quarter of its share. More would open the file
 * more often, and its directory may have millions of tensors. Where the cuts
 * are is worked out by each process from the open file, the same everywhere;
 * only how many there are has to be agreed upon.
 */
#include "tensors/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/share.h"
#include "data/dtype.h"

enum { PARTS_OF_A_PROCESS = 4 };

static size_t parts_of(uint64_t weight, uint64_t least, unsigned processes)
{
    const uint64_t most = (uint64_t)processes * PARTS_OF_A_PROCESS;
    const uint64_t parts = weight / (least ? least : 1);
    return (size_t)(parts < 1 ? 1 : parts > most ? most : parts);
}

static enum tp_status tell_weights(const struct tp_world *world,
                                   uint64_t *weights, size_t count,
                                   struct tp_error *err)
{
    const size_t size = count * sizeof *weights;
    return world->rank == 0
               ? tp_world_tell(world, weights, size, err)
               : world->receive(world->context, 0, weights, size, err);
}

enum tp_status tp_claims_make(const struct tp_world *world, uint64_t *weights,
                              size_t count, uint64_t least,
                              struct tp_claims *claims, struct tp_error *err)
{
    size_t all = 0;
    enum tp_status status = tell_weights(world, weights, count, err);
    if (status != TP_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        all += parts_of(weights[i], least, world->size);
    size_t *order = tp_share_order(weights, count);
    claims->items = calloc(all + 1, sizeof *claims->items);
    for (size_t i = 0; order && claims->items && i < count; i++) {
        const size_t file = order[i];
        const size_t parts = parts_of(weights[file], least, world->size);
        for (size_t part = 0; part < parts; part++)
            claims->items[claims->count++] =
                (struct tp_claim){file, part, parts};
    }
    free(order);
    return order && claims->items ? TP_OK : tp_fail_memory(err);
}

void tp_claims_clear(struct tp_claims *claims)
{
    free(claims->items);
    *claims = (struct tp_claims){.items = NULL};
}

/* To read a tensor costs its bytes, and as much as some more. */
static double weight_of(const struct tp_tensor *tensor)
{
    return 4096 +
           (double)tensor->numel * (double)tp_dtype_info(tensor->dtype)->size;
}

void tp_claim_range(const struct tp_claim *claim,
                    const struct tp_tensor *tensors, size_t count,
                    size_t *first, size_t *end)
{
    const double parts = (double)claim->parts;
    const double from = (double)claim->part, to = from + 1;
    double all = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        all += weight_of(&tensors[i]);
    size_t i = 0;
    while (i < count && sum * parts < from * all)
        sum += weight_of(&tensors[i++]);
    *first = i;
    while (i < count &&
           (claim->part + 1 == claim->parts || sum * parts < to * all))
        sum += weight_of(&tensors[i++]);
    *end = i;
}

/* --- joining -------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right)
{
    const struct tp_record *a = left, *b = right;
    const int order = strcmp(a->path, b->path);
    return order ? order : tp_order_size(a->part, b->part);
}

/* Whether these are all parts of one file. */
static bool are_all(const struct tp_record *parts, size_t count)
{
    bool all = count == parts[0].parts;
    for (size_t i = 0; i < count && all; i++)
        all = parts[i].part == i;
    return all;
}

/* Rows and what was skipped, in the order of the parts. A file that changed has
 * no rows, and that is said once: last by each part that saw it. */
static enum tp_status join_lists(const struct tp_record *parts, size_t count,
                                 struct tp_record *into, struct tp_error *err)
{
    size_t rows = 0, skipped = 0;
    bool changed = false, said = false;
    for (size_t i = 0; i < count; i++) {
        rows += parts[i].row_count;
        skipped += parts[i].skipped_count;
        changed = changed || parts[i].changed;
        into->refused = into->refused || parts[i].refused;
    }
    into->rows = calloc(rows + 1, sizeof *into->rows);
    into->skipped = calloc(skipped + 1, sizeof *into->skipped);
    if (!into->rows || !into->skipped)
        return tp_fail_memory(err);
    into->skipped_capacity = skipped + 1;
    for (size_t i = 0; i < count; i++) {
        const struct tp_record *part = &parts[i];
        const size_t again = part->changed && said;
        for (size_t k = 0; !changed && k < part->row_count; k++)
            into->rows[into->row_count++] = part->rows[k];
        for (size_t k = 0; k + again < part->skipped_count; k++)
            into->skipped[into->skipped_count++] = part->skipped[k];
        said = said || part->changed;
    }
    return TP_OK;
}

static enum tp_status join_file(const struct tp_record *parts, size_t count,
                                struct tp_record *record, struct tp_error *err)
{
    struct tp_record joined = parts[0];
    joined.path = record->path;
    joined.rows = NULL;
    joined.skipped = NULL;
    joined.row_count = joined.skipped_count = joined.skipped_capacity = 0;
    joined.borrowed = joined.changed = false;
    joined.part = joined.parts = 0;
    joined.done = true;
    const enum tp_status status = join_lists(parts, count, &joined, err);
    *record = joined;
    return status;
}

static int compare_path(const void *key, const void *item)
{
    return strcmp(key, ((const struct tp_record *)item)->path);
}

enum tp_status tp_claims_join(struct tp_records *records, struct tp_error *err)
{
    const struct tp_record *parts = records->parts;
    enum tp_status status = TP_OK;
    if (records->part_count)
        qsort(records->parts, records->part_count, sizeof *records->parts,
              compare_parts);
    for (size_t i = 0, end; i < records->part_count && status == TP_OK;
         i = end) {
        const char *path = parts[i].path;
        end = i + 1;
        while (end < records->part_count && strcmp(parts[end].path, path) == 0)
            end++;
        struct tp_record *record =
            bsearch(path, records->items, records->count,
                    sizeof *records->items, compare_path);
        if (!record || !are_all(&parts[i], end - i))
            status = tp_fail(err, TP_E_IO, -1,
                             "a part of %s was read by no process", path);
        else
            status = join_file(&parts[i], end - i, record, err);
    }
    return status;
}

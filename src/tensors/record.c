/* SPDX-License-Identifier: MIT */
/*
 * Records of files, and which of an earlier run still hold. A file is the same
 * when its size and the time of its last write are: what make, rsync and backup
 * programs trust, and a stat that finding files does anyway. To compare content
 * would cost the reading that is to be spared. What the system refused is read
 * again, since rights, disks and servers change without a file.
 *
 * Units (an index, a pattern, metadata of a distributed checkpoint) have rows
 * whose bytes are in other files, so one changed file undoes the unit and all
 * its files, until nothing more is undone. Cost: a walk along both sorted
 * lists, and a bisection for each tie.
 */
#include "tensors/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "base/share.h"
#include "base/text.h"

static void record_clear(struct tp_record *record)
{
    if (!record->borrowed) {
        free(record->rows);
        free(record->skipped);
    }
    memset(record, 0, sizeof *record);
}

void tp_records_clear(struct tp_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        record_clear(&records->items[i]);
    for (size_t i = 0; i < records->part_count; i++)
        record_clear(&records->parts[i]);
    free(records->items);
    free(records->parts);
    free(records->all_rows);
    free(records->all_skipped);
    free(records->problems);
    tp_intern_clear(&records->texts);
    memset(records, 0, sizeof *records);
}

enum tp_status tp_records_make(struct tp_records *records,
                               const struct tp_found_list *files,
                               struct tp_error *err)
{
    records->items = calloc(files->count + 1, sizeof *records->items);
    records->problems =
        calloc(files->problem_count + 1, sizeof *records->problems);
    if (!records->items || !records->problems)
        return tp_fail_memory(err);
    records->count = files->count;
    for (size_t i = 0; i < files->count; i++)
        records->items[i] =
            (struct tp_record){.path = files->files[i].path,
                               .size = files->files[i].size,
                               .modified = files->files[i].modified};
    for (size_t i = 0; i < files->problem_count; i++)
        records->problems[records->problem_count++] = files->problems[i];
    /* as those of several states are */
    tp_sort_text(records->problems, records->problem_count);
    return TP_OK;
}

const char *tp_records_text(struct tp_records *records, const char *text)
{
    if (tp_text_is_utf8(text))
        return tp_intern(&records->texts, records->arena, text);
    struct tp_text printable = {0};
    tp_text_printable(&printable, text);
    const char *shown =
        printable.failed ? NULL
                         : tp_intern(&records->texts, records->arena,
                                     tp_text_get(&printable));
    tp_text_clear(&printable);
    return shown;
}

enum tp_status tp_record_reserve(struct tp_record *record, size_t rows,
                                 struct tp_error *err)
{
    /* exactly: a run has 10^5 files of one tensor each */
    record->rows = calloc(rows, sizeof *record->rows);
    return record->rows || rows == 0 ? TP_OK : tp_fail_memory(err);
}

/* Skipped of its own. */
static enum tp_status own_skipped(struct tp_record *record,
                                  struct tp_error *err)
{
    const struct tp_skipped *from = record->skipped;
    if (!record->borrowed)
        return TP_OK;
    struct tp_row *rows = calloc(record->row_count + 1, sizeof *rows);
    struct tp_skipped *skipped =
        calloc(record->skipped_count + 1, sizeof *skipped);
    if (!rows || !skipped) {
        free(rows);
        free(skipped);
        return tp_fail_memory(err);
    }
    if (record->row_count)
        memcpy(rows, record->rows, record->row_count * sizeof *rows);
    if (record->skipped_count)
        memcpy(skipped, from, record->skipped_count * sizeof *skipped);
    record->rows = rows;
    record->skipped = skipped;
    record->skipped_capacity = record->skipped_count + 1;
    record->borrowed = false;
    return TP_OK;
}

enum tp_status tp_record_skip(struct tp_records *records,
                              struct tp_record *record, const char *file,
                              const struct tp_skip *skip, struct tp_error *err)
{
    const char *path = tp_records_text(records, skip->path);
    const char *reason = tp_records_text(records, skip->reason);
    if (!path || !reason)
        return tp_fail_memory(err);
    if (own_skipped(record, err) != TP_OK ||
        tp_grow(&record->skipped, &record->skipped_capacity,
                record->skipped_count + 1, sizeof *record->skipped,
                err) != TP_OK)
        return TP_E_MEMORY;
    record->refused = record->refused || skip->code == TP_E_IO;
    record->skipped[record->skipped_count++] =
        (struct tp_skipped){.file = file,
                            .path = path,
                            .reason = reason,
                            .offset = skip->offset,
                            .damage = skip->code != TP_OK,
                            .missing = skip->code == TP_E_NOT_FOUND};
    return TP_OK;
}

void tp_record_seal(struct tp_record *record)
{
    struct tp_digest digest = {{0, 0}};
    tp_digest_number(&digest, record->size);
    for (size_t i = 0; i < record->row_count; i++) {
        const struct tp_row *row = &record->rows[i];
        tp_digest_number(&digest, row->place);
        tp_digest_number(&digest, (uint64_t)row->dtype);
        tp_digest_text(&digest, row->path);
        tp_digest_text(&digest, row->shape);
        tp_digest_add(&digest, &row->numbers.quantile,
                      sizeof row->numbers.quantile);
        tp_digest_add(&digest, row->packed,
                      offsetof(struct tp_packed, bins) +
                          row->packed->bin_bytes);
    }
    for (size_t i = 0; i < record->skipped_count; i++)
        tp_digest_text(&digest, record->skipped[i].reason);
    record->digest = digest;
}

/*
 * A run of up to 1 000 tensors keeps all it may, a larger one less of each, so
 * that it keeps some 10^5 in all (48 bytes each, and a row of a table); but two
 * of the largest and two of the smallest. Halved each time, so that what a
 * larger run keeps is among what a smaller one has.
 */
size_t tp_record_dims_keep(enum tp_dims_mode mode, size_t files, size_t tensors)
{
    const double all = (double)files * (double)tensors;
    size_t keep = TP_DIM_KEPT;
    while (mode != TP_DIMS_ALL && keep > 4 &&
           (double)keep * all > 1000.0 * TP_DIM_KEPT)
        keep /= 2;
    return keep;
}

bool tp_record_fit_dims(struct tp_record *record, size_t keep)
{
    bool fits = true;
    for (size_t i = 0; i < record->row_count && keep != record->dims_keep;
         i++) {
        /* of the arena: nobody else has it */
        struct tp_dims *dims = (struct tp_dims *)record->rows[i].dims;
        for (size_t k = 0; dims && k < dims->count; k++) {
            struct tp_dim_axis *axis = &dims->axes[k];
            fits = fits && (keep < record->dims_keep || axis->kept == 0 ||
                            (int64_t)axis->kept == axis->length);
            if (keep < axis->kept)
                fits = tp_dim_axis_cut(axis, keep) && fits;
        }
    }
    if (fits)
        record->dims_keep = keep;
    return fits;
}

/* --- what still holds ----------------------------------------------------- */

/* The record of a path; NULL: there is none. */
static struct tp_record *find(const struct tp_records *records,
                              const char *path)
{
    size_t i;
    TP_PARTITION_POINT(i, records->count,
                       strcmp(records->items[i].path, path) < 0);
    return i < records->count && !strcmp(records->items[i].path, path)
               ? &records->items[i]
               : NULL;
}

/* Marks what is the same; `done` of a known record tells it from now on. */
static void compare_files(struct tp_records *known,
                          const struct tp_records *records,
                          struct tp_reused *reused)
{
    size_t k = 0;
    for (size_t i = 0; i <= records->count; i++) {
        int order = -1;
        for (; k < known->count && order < 0; k++) {
            struct tp_record *its = &known->items[k];
            order = i < records->count
                        ? strcmp(its->path, records->items[i].path)
                        : -1;
            if (order > 0)
                break;
            if (order < 0) {
                its->done = false;
                tp_reused_miss(reused, its->path);
                continue;
            }
            its->done = its->done && !its->refused &&
                        its->size == records->items[i].size &&
                        its->modified == records->items[i].modified;
        }
    }
}

/* Undoes a unit with all it describes, if any of these does not hold; whether
 * something was undone. */
static bool undo_tied(struct tp_records *known,
                      const struct tp_records *records, struct tp_record *unit)
{
    bool holds = unit->done, undone = false;
    for (size_t i = 0; i < unit->tie_count && holds; i++) {
        const struct tp_record *tied = find(known, unit->ties[i]);
        /* what was missing may be there by now */
        holds = tied ? tied->done : !find(records, unit->ties[i]);
    }
    for (size_t i = 0; i < unit->tie_count && !holds; i++) {
        struct tp_record *tied = find(known, unit->ties[i]);
        undone = undone || (tied && tied->done);
        if (tied)
            tied->done = false;
    }
    undone = undone || (unit->done && !holds);
    unit->done = holds;
    return undone;
}

void tp_records_reuse(struct tp_records *known, enum tp_dims_mode dims,
                      struct tp_records *records, struct tp_reused *reused)
{
    compare_files(known, records, reused);
    for (size_t i = 0; i < known->count; i++) {
        struct tp_record *its = &known->items[i];
        if (its->done)
            its->done = tp_record_fit_dims(
                its, tp_record_dims_keep(dims, records->count, its->tensors));
    }
    for (bool undone = true; undone;) {
        undone = false;
        for (size_t i = 0; i < known->count; i++)
            undone |= undo_tied(known, records, &known->items[i]);
    }
    for (size_t i = 0, k = 0; i < records->count; i++) {
        struct tp_record *record = &records->items[i];
        while (k < known->count &&
               strcmp(known->items[k].path, record->path) < 0)
            k++;
        struct tp_record *its = k < known->count ? &known->items[k] : NULL;
        if (its && its->done && !strcmp(its->path, record->path)) {
            const char *path = record->path;
            *record = *its;
            record->path = path;
            its->row_count = its->skipped_count = 0; /* moved */
            its->borrowed = true;
            reused->known++;
        } else {
            reused->read++;
            reused->bytes += record->size;
        }
    }
}

enum tp_status tp_records_share(const struct tp_world *world,
                                struct tp_records *records,
                                struct tp_error *err)
{
    bool *done = calloc(records->count + 1, sizeof *done);
    if (!done)
        return tp_fail_memory(err);
    for (size_t i = 0; i < records->count; i++)
        done[i] = records->items[i].done;
    enum tp_status status = tp_share_done(world, done, records->count, err);
    for (size_t i = 0; i < records->count && world->rank > 0; i++)
        records->items[i].done = records->items[i].elsewhere =
            status == TP_OK && done[i];
    free(done);
    return status;
}

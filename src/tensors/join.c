/* SPDX-License-Identifier: MIT */
/*
 * From records to a run. Whatever depends on one file alone stands in its
 * record already; here is what takes all of them, so that the records of
 * several machines, or days, give the run that one reading would have given:
 * the order of rows, what is missing of files that belong together, ranks of
 * processes, and ordinals. Cost: a copy of each row, but for those of one
 * array, which are put in order where they are, and a sort for ordinals.
 */
#include "tensors/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/reader.h"
#include "tensors/dims_table.h"
#include "tensors/dump_labels.h"
#include "tensors/lone_shards.h"
#include "tensors/quantised.h"
#include "tensors/rank_grid.h"
#include "tensors/rank_tree.h"
#include "tensors/row.h"
#include "tensors/run_notes.h"
#include "tensors/towers.h"

/* Says of how many files there is a sentence, at `place`, and the first. */
static void note_files(struct tp_run *run, const struct tp_records *records,
                       size_t place, const char *what, const char *then)
{
    size_t count = 0, first = 0;
    const char *told = NULL;
    for (size_t i = 0; i < records->count; i++) {
        const char *const *sentence =
            (const void *)((const char *)&records->items[i] + place);
        if (*sentence && count++ == 0) {
            told = *sentence;
            first = i;
        }
    }
    if (count)
        tp_run_note(run, "%s %zu file%s%s. First: %s: %s", what, count,
                    count == 1 ? "" : "s", then, run->files.files[first].path,
                    told);
}

static void add_totals(struct tp_run *run, const struct tp_record *record)
{
    for (size_t i = 0; i < record->row_count; i++)
        run->aside_count += record->rows[i].aside;
    run->row_count += record->row_count;
    run->skipped_count += record->skipped_count;
    run->files_ignored += record->ignored;
    /* a name that stands for several files is none */
    run->files_read +=
        !record->ignored && tp_format_claims(record->path) != TP_NAME_PATTERN;
    run->files_empty += record->empty;
    run->bytes_read += record->ignored ? 0 : record->size;
}

/* A file lacks others, which a sentence names. */
static enum tp_status add_missing(struct tp_records *records, size_t index,
                                  struct tp_text *missing, struct tp_error *err)
{
    if (missing->failed)
        return tp_fail_memory(err);
    if (index >= records->count || !missing->length)
        return TP_OK;
    const char *file = tp_records_text(records, records->items[index].path);
    const struct tp_skip skip = {.path = "",
                                 .code = TP_E_NOT_FOUND,
                                 .reason = tp_text_get(missing),
                                 .offset = -1};
    return file ? tp_record_skip(records, &records->items[index], file, &skip,
                                 err)
                : tp_fail_memory(err);
}

/* Names what is missing of files that belong together. */
static enum tp_status find_missing(struct tp_records *records,
                                   const struct tp_found_list *files,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    bool *lone = calloc(files->count + 1, sizeof *lone);
    if (!lone)
        return tp_fail_memory(err);
    for (size_t i = 0; i < files->count; i++)
        lone[i] = records->items[i].lone;
    for (size_t next = 0; next < files->count && status == TP_OK;) {
        struct tp_text missing = {0};
        const size_t first = tp_rank_tree_next(files, &next, &missing);
        status = add_missing(records, first, &missing, err);
        tp_text_clear(&missing);
    }
    for (size_t next = 0; next < files->count && status == TP_OK;) {
        struct tp_text missing = {0};
        const size_t first = tp_lone_shards_next(files, lone, &next, &missing);
        status = add_missing(records, first, &missing, err);
        tp_text_clear(&missing);
    }
    free(lone);
    return status;
}

static void add_problems(struct tp_run *run, const struct tp_records *records)
{
    for (size_t i = 0; i < records->problem_count; i++)
        run->skipped[i] = (struct tp_skipped){.file = "",
                                              .path = "",
                                              .reason = records->problems[i],
                                              .offset = -1,
                                              .damage = true};
    run->skipped_count += records->problem_count;
}

static enum tp_status take_digests(struct tp_run *run,
                                   const struct tp_records *records,
                                   struct tp_error *err)
{
    run->digests = calloc(records->count + 1, sizeof *run->digests);
    if (!run->digests)
        return tp_fail_memory(err);
    for (size_t i = 0; i < records->count; i++)
        run->digests[i] = records->items[i].digest;
    return TP_OK;
}

/* Rows that are all of one file, as of a checkpoint of a million tensors, are
 * taken as they stand; NULL: they are of several, or out of order. */
static struct tp_row *sole_rows(const struct tp_run *run,
                                struct tp_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        struct tp_record *record = &records->items[i];
        if (record->row_count == 0 || record->row_count != run->row_count ||
            run->aside_count || record->borrowed)
            continue;
        struct tp_row *rows = record->rows;
        for (size_t j = 0; j < record->row_count; j++)
            rows[j].source = i;
        record->rows = NULL;
        record->row_count = 0;
        return rows;
    }
    return NULL;
}

/* Whether the rows of all records are of the array of those that were loaded
 * together. */
static bool are_together(const struct tp_records *records)
{
    const uintptr_t first = (uintptr_t)records->all_rows;
    const uintptr_t end =
        first + records->all_row_count * sizeof *records->all_rows;
    bool together = records->all_row_count > 0;
    for (size_t i = 0; i < records->count && together; i++) {
        const struct tp_record *record = &records->items[i];
        const uintptr_t its = (uintptr_t)record->rows;
        together = record->row_count == 0 || (its >= first && its < end);
    }
    return together;
}

/* The place of each row of the array in the run; behind all those that are of
 * no record, since a file was in two states. */
static void find_places(const struct tp_run *run, struct tp_records *records,
                        size_t *places)
{
    size_t row = 0, aside = run->row_count;
    size_t rest = run->row_count + run->aside_count;
    for (size_t i = 0; i < records->all_row_count; i++)
        places[i] = SIZE_MAX;
    for (size_t i = 0; i < records->count; i++) {
        struct tp_record *record = &records->items[i];
        for (size_t j = 0; j < record->row_count; j++) {
            struct tp_row *its = &record->rows[j];
            its->source = i;
            places[its - records->all_rows] = its->aside ? aside++ : row++;
        }
        record->rows = NULL;
        record->row_count = 0;
    }
    for (size_t i = 0; i < records->all_row_count; i++)
        places[i] = places[i] == SIZE_MAX ? rest++ : places[i];
}

/* Rows that are all of one array, each put in its place by an exchange; NULL:
 * they are not, or there is no memory to say where they go. */
static struct tp_row *order_rows(const struct tp_run *run,
                                 struct tp_records *records)
{
    struct tp_row *rows = records->all_rows;
    size_t *places = are_together(records)
                         ? malloc(records->all_row_count * sizeof *places)
                         : NULL;
    if (!places)
        return NULL;
    find_places(run, records, places);
    for (size_t i = 0; i < records->all_row_count; i++) {
        while (places[i] != i) {
            const size_t to = places[i];
            const struct tp_row row = rows[to];
            rows[to] = rows[i];
            rows[i] = row;
            places[i] = places[to];
            places[to] = to;
        }
    }
    free(places);
    records->all_rows = NULL;
    return rows;
}

static enum tp_status take_rows(struct tp_run *run, struct tp_records *records,
                                struct tp_error *err)
{
    for (size_t i = 0; i < records->count; i++)
        add_totals(run, &records->items[i]);
    run->row_count -= run->aside_count;
    run->rows = sole_rows(run, records);
    if (!run->rows)
        run->rows = order_rows(run, records);
    if (!run->rows)
        run->rows =
            calloc(run->row_count + run->aside_count + 1, sizeof *run->rows);
    run->skipped = calloc(run->skipped_count + records->problem_count + 1,
                          sizeof *run->skipped);
    if (!run->rows || !run->skipped)
        return tp_fail_memory(err);
    size_t row = 0, aside = run->row_count, skipped = records->problem_count;
    add_problems(run, records);
    for (size_t i = 0; i < records->count; i++) {
        struct tp_record *record = &records->items[i];
        for (size_t j = 0; j < record->row_count; j++) {
            record->rows[j].source = i;
            run->rows[record->rows[j].aside ? aside++ : row++] =
                record->rows[j];
        }
        for (size_t j = 0; j < record->skipped_count; j++)
            run->skipped[skipped++] = record->skipped[j];
        if (!record->borrowed)
            free(record->rows);
        record->rows = NULL;
        record->row_count = 0;
    }
    free(records->all_rows);
    records->all_rows = NULL;
    return TP_OK;
}

enum tp_status tp_records_join(struct tp_records *records, bool dims,
                               struct tp_run *run, struct tp_error *err)
{
    enum tp_status status = find_missing(records, &run->files, err);
    if (status == TP_OK)
        status = take_digests(run, records, err);
    if (status == TP_OK)
        status = take_rows(run, records, err);
    if (status != TP_OK)
        return status;
    note_files(run, records, offsetof(struct tp_record, conflict),
               "metadata and file name disagree in", "; metadata holds");
    note_files(run, records, offsetof(struct tp_record, assumption),
               "something had to be assumed in", "");
    tp_run_note_casts(run);
    tp_row_note_unknown_types(run);
    if (dims)
        status = tp_dims_number(run, err);
    if (status == TP_OK)
        status = tp_quantised_number(run, err);
    if (status == TP_OK)
        status = tp_dump_ranks(run, records, err);
    if (status == TP_OK)
        status = tp_towers_part(run, err);
    if (status != TP_OK)
        return status;
    tp_rank_grid(run);
    return tp_run_number(run, err);
}

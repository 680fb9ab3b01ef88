/* SPDX-License-Identifier: MIT */
/*
 * Merging is joining: records of one file each are the same whoever read the
 * file, so that those of all states, sorted, give the run that one reading of
 * all files would have given. A file is told from another of the same path, of
 * another node, by its size and by the digest of its time and numbers. Ties of
 * such files are in the order of these, so that the order of the states does
 * not show.
 *
 * Alternative: to merge sorted lists while they are read, which saves a sort of
 * pointers and costs a file that is open for each state. Cost: n log n
 * comparisons of paths, most of them of neighbours.
 */
#include "state/state_merge.h"

#include <stdlib.h>
#include <string.h>

enum tp_status tp_state_merge_add(struct tp_state_merge *merge,
                                  const char *path, struct tp_memo *memo,
                                  struct tp_error *err)
{
    size_t capacity = merge->capacity;
    if (tp_grow(&merge->states, &capacity, merge->count + 1,
                sizeof *merge->states, err) != TP_OK ||
        tp_grow(&merge->paths, &merge->capacity, merge->count + 1,
                sizeof *merge->paths, err) != TP_OK)
        return TP_E_MEMORY;
    struct tp_state *state = &merge->states[merge->count];
    merge->paths[merge->count++] = path;
    state->records.arena = merge->arena;
    state->records.texts = merge->records.texts; /* words are shared */
    enum tp_status status = tp_state_read(path, state, memo, err);
    merge->records.texts = state->records.texts;
    state->records.texts = (struct tp_intern){.slots = NULL};
    if (status == TP_OK && !state->whole) {
        status = tp_fail(err, TP_E_UNSUPPORTED, -1,
                         "the run that wrote this state did not come to its "
                         "end: give it the same command, and it goes on");
        tp_error_in_file(err, path);
    }
    merge->casts = state->casts > merge->casts ? state->casts : merge->casts;
    return status;
}

static int compare_records(const void *left, const void *right)
{
    const struct tp_record *a = left, *b = right;
    int order = strcmp(a->path, b->path);
    if (order == 0)
        order = (a->size > b->size) - (a->size < b->size);
    return order ? order : tp_digest_compare(&a->digest, &b->digest);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What was found of the files, each sentence once. */
static enum tp_status merge_problems(struct tp_state_merge *merge,
                                     struct tp_error *err)
{
    struct tp_records *records = &merge->records;
    size_t count = 0;
    for (size_t i = 0; i < merge->count; i++)
        count += merge->states[i].records.problem_count;
    records->problems = calloc(count + 1, sizeof *records->problems);
    if (!records->problems)
        return tp_fail_memory(err);
    size_t all = 0;
    for (size_t i = 0; i < merge->count; i++) {
        const struct tp_records *its = &merge->states[i].records;
        for (size_t k = 0; k < its->problem_count; k++)
            records->problems[all++] = its->problems[k];
    }
    qsort(records->problems, all, sizeof *records->problems, compare_texts);
    for (size_t i = 0; i < all; i++) {
        const char *text = records->problems[i];
        const size_t last = records->problem_count - 1;
        if (records->problem_count == 0 ||
            strcmp(records->problems[last], text) != 0)
            records->problems[records->problem_count++] = text;
    }
    return TP_OK;
}

/* Leaves one of those that are the same. */
static void drop_copies(struct tp_state_merge *merge)
{
    struct tp_records *records = &merge->records;
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        const struct tp_record *record = &records->items[i];
        if (kept && compare_records(&records->items[kept - 1], record) == 0) {
            merge->first_twice =
                merge->twice++ ? merge->first_twice : record->path;
            continue;
        }
        records->items[kept++] = *record;
    }
    records->count = kept;
}

enum tp_status tp_state_merge_records(struct tp_state_merge *merge,
                                      enum tp_dims_mode dims,
                                      struct tp_error *err)
{
    struct tp_records *records = &merge->records;
    size_t count = 0;
    for (size_t i = 0; i < merge->count; i++)
        count += merge->states[i].records.count;
    records->arena = merge->arena;
    records->items = calloc(count + 1, sizeof *records->items);
    if (!records->items)
        return tp_fail_memory(err);
    for (size_t i = 0; i < merge->count; i++) {
        const struct tp_records *its = &merge->states[i].records;
        if (its->count)
            memcpy(records->items + records->count, its->items,
                   its->count * sizeof *its->items);
        records->count += its->count;
    }
    qsort(records->items, records->count, sizeof *records->items,
          compare_records);
    drop_copies(merge);
    for (size_t i = 0; i < records->count; i++) {
        struct tp_record *record = &records->items[i];
        /* what a part of the files keeps is no less than what all do */
        tp_record_fit_dims(
            record, tp_record_dims_keep(dims, records->count, record->tensors));
    }
    return merge_problems(merge, err);
}

enum tp_status tp_state_merge_files(const struct tp_state_merge *merge,
                                    struct tp_found_list *files,
                                    struct tp_error *err)
{
    const struct tp_records *records = &merge->records;
    if (tp_grow(&files->files, &files->capacity, records->count + 1,
                sizeof *files->files, err) != TP_OK)
        return TP_E_MEMORY;
    for (size_t i = 0; i < records->count; i++) {
        const struct tp_record *record = &records->items[i];
        char *path = strdup(record->path);
        if (!path)
            return tp_fail_memory(err);
        files->files[files->count++] =
            (struct tp_found){path, record->size, record->modified};
    }
    return TP_OK;
}

void tp_state_merge_clear(struct tp_state_merge *merge)
{
    tp_records_clear(&merge->records);
    for (size_t i = 0; i < merge->count; i++)
        tp_state_clear(&merge->states[i]);
    free(merge->states);
    free(merge->paths);
    memset(merge, 0, sizeof *merge);
}

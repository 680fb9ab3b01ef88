/* SPDX-License-Identifier: MIT */
#include "state/trace_state_merge.h"

#include <stdlib.h>
#include <string.h>

#include "state/state_texts.h"
#include "trace/trace_lists.h"

static enum tp_status read_one(struct tp_trace_merge *merge, const char *path,
                               struct tp_error *err)
{
    struct tp_trace_records *all = &merge->records;
    struct tp_trace_state *state = &merge->states[merge->count++];
    state->records =
        (struct tp_trace_records){.arena = all->arena, .texts = all->texts};
    enum tp_status status = tp_trace_state_read(path, state, err);
    all->texts = state->records.texts;
    state->records.texts = (struct tp_intern){.slots = NULL};
    if (status != TP_OK || state->whole)
        return status;
    tp_fail(err, TP_E_UNSUPPORTED, -1,
            "the run that wrote this state did not come to its end, or is "
            "under way: the same command goes on");
    tp_error_in_file(err, path);
    return TP_E_UNSUPPORTED;
}

enum tp_status tp_trace_merge_read(struct tp_trace_merge *merge,
                                   const char *const *paths, size_t count,
                                   struct tp_arena *arena,
                                   const volatile sig_atomic_t *stop,
                                   struct tp_error *err)
{
    merge->states = calloc(count + 1, sizeof *merge->states);
    merge->records.arena = arena;
    enum tp_status status = merge->states ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < count && status == TP_OK; i++)
        status = stop && *stop
                     ? tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted")
                     : read_one(merge, paths[i], err);
    return status;
}

static int compare_records(const void *left, const void *right)
{
    return tp_trace_record_compare(
        *(const struct tp_trace_record *const *)left,
        *(const struct tp_trace_record *const *)right);
}

/* Moves all but copies of those before; the states keep the copies. */
static void take_records(struct tp_trace_merge *merge,
                         struct tp_trace_record *const *ordered, size_t count)
{
    struct tp_trace_records *records = &merge->records;
    for (size_t i = 0; i < count; i++) {
        struct tp_trace_record *last = &records->items[records->count];
        if (records->count &&
            tp_trace_record_compare(last - 1, ordered[i]) == 0) {
            if (merge->twice++ == 0)
                merge->first_twice = ordered[i]->path;
            last[-1].named |= ordered[i]->named;
            continue;
        }
        *last = *ordered[i];
        ordered[i]->trace = (struct tp_trace){.path = NULL};
        records->count++;
    }
}

static enum tp_status merge_files(struct tp_trace_merge *merge,
                                  struct tp_error *err)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < merge->count; i++)
        count += merge->states[i].records.count;
    merge->records.items = calloc(count + 1, sizeof *merge->records.items);
    struct tp_trace_record **ordered = calloc(count + 1, sizeof *ordered);
    const bool made = merge->records.items && ordered;
    for (size_t i = 0; made && i < merge->count; i++) {
        struct tp_trace_records *its = &merge->states[i].records;
        for (size_t k = 0; k < its->count; k++)
            ordered[at++] = &its->items[k];
    }
    if (made && count)
        qsort(ordered, count, sizeof *ordered, compare_records);
    if (made)
        take_records(merge, ordered, count);
    free(ordered);
    return made ? TP_OK : tp_fail_memory(err);
}

/* What was found of the files, each sentence once. */
static enum tp_status merge_problems(struct tp_trace_merge *merge,
                                     struct tp_error *err)
{
    struct tp_trace_records *records = &merge->records;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < merge->count && status == TP_OK; i++) {
        const struct tp_trace_records *its = &merge->states[i].records;
        status =
            tp_state_sentences_add(&records->problems, &records->problem_count,
                                   its->problems, its->problem_count, err);
    }
    return status;
}

/* What stands beside a folder that several machines see is said once. */
static enum tp_status merge_said(struct tp_trace_merge *merge,
                                 const struct tp_trace_said *said,
                                 struct tp_error *err)
{
    struct tp_trace_said_list *list = &merge->records.said;
    for (size_t i = 0; i < list->count; i++) {
        if (tp_trace_said_same(&list->rows[i], said))
            return TP_OK;
    }
    if (tp_grow(&list->rows, &list->capacity, list->count + 1,
                sizeof *list->rows, err) != TP_OK)
        return TP_E_MEMORY;
    list->rows[list->count++] = *said;
    return TP_OK;
}

enum tp_status tp_trace_merge_records(struct tp_trace_merge *merge,
                                      struct tp_error *err)
{
    enum tp_status status = merge_files(merge, err);
    if (status == TP_OK)
        status = merge_problems(merge, err);
    for (size_t i = 0; i < merge->count && status == TP_OK; i++) {
        const struct tp_trace_said_list *its = &merge->states[i].records.said;
        for (size_t k = 0; k < its->count && status == TP_OK; k++)
            status = merge_said(merge, &its->rows[k], err);
    }
    return status;
}

void tp_trace_merge_clear(struct tp_trace_merge *merge)
{
    tp_trace_records_clear(&merge->records);
    for (size_t i = 0; i < merge->count; i++)
        tp_trace_state_clear(&merge->states[i]);
    free(merge->states);
    memset(merge, 0, sizeof *merge);
}

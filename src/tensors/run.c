/* SPDX-License-Identifier: MIT */
#include "tensors/run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

void tp_run_note(struct tp_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tp_notes_add(&run->notes, tp_arena_vformat(&run->arena, format, args));
    va_end(args);
}

/* Words of a run are mostly one text each. */
static int compare_words(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

/* All labels but the ordinal; 0 when they are equal. */
static int compare_labels(const struct tp_label *a, const struct tp_label *b)
{
    static const size_t numbers[] = {offsetof(struct tp_label, layer_idx),
                                     offsetof(struct tp_label, rank),
                                     offsetof(struct tp_label, sample_idx),
                                     offsetof(struct tp_label, group_idx),
                                     offsetof(struct tp_label, iteration),
                                     offsetof(struct tp_label, expert)};
    static const size_t words[] = {offsetof(struct tp_label, layer_type),
                                   offsetof(struct tp_label, operation),
                                   offsetof(struct tp_label, phase),
                                   offsetof(struct tp_label, component),
                                   offsetof(struct tp_label, quant_type),
                                   offsetof(struct tp_label, tensor_name),
                                   offsetof(struct tp_label, module)};
    const char *left = (const char *)a, *right = (const char *)b;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const int result = tp_order_int64(
            *(const int64_t *)(const void *)(left + numbers[i]),
            *(const int64_t *)(const void *)(right + numbers[i]));
        if (result)
            return result;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const int result = compare_words(
            *(const char *const *)(const void *)(left + words[i]),
            *(const char *const *)(const void *)(right + words[i]));
        if (result)
            return result;
    }
    return 0;
}

static int compare_for_ordinal(const void *left, const void *right)
{
    const struct tp_row *a = *(const struct tp_row *const *)left;
    const struct tp_row *b = *(const struct tp_row *const *)right;
    int result = compare_labels(&a->label, &b->label);
    if (!result)
        result = tp_order_int64(a->label.counter, b->label.counter);
    if (!result)
        result = compare_words(a->label.timestamp, b->label.timestamp);
    if (!result)
        result = compare_words(a->file, b->file);
    return result ? result : tp_order_place(a, b); /* rows: payload order */
}

enum tp_status tp_run_number(struct tp_run *run, struct tp_error *err)
{
    if (run->row_count == 0)
        return TP_OK;
    struct tp_row **sorted = malloc(run->row_count * sizeof *sorted);
    if (!sorted)
        return tp_fail_memory(err);
    for (size_t i = 0; i < run->row_count; i++)
        sorted[i] = &run->rows[i];
    qsort(sorted, run->row_count, sizeof *sorted, compare_for_ordinal);
    for (size_t i = 0; i < run->row_count; i++) {
        bool same = i > 0 && compare_labels(&sorted[i]->label,
                                            &sorted[i - 1]->label) == 0;
        sorted[i]->ordinal = same ? sorted[i - 1]->ordinal + 1 : 0;
    }
    free(sorted);
    return TP_OK;
}

enum tp_status tp_run_skip(struct tp_run *run, const struct tp_row *row,
                           const char *reason, struct tp_error *err)
{
    const char *kept = tp_arena_text(&run->arena, reason, strlen(reason));
    struct tp_skipped *skipped =
        realloc(run->skipped, (run->skipped_count + 1) * sizeof *skipped);
    if (skipped)
        run->skipped = skipped;
    if (!kept || !skipped)
        return tp_fail_memory(err);
    run->skipped[run->skipped_count++] = (struct tp_skipped){.file = row->file,
                                                             .path = row->path,
                                                             .reason = kept,
                                                             .offset = -1,
                                                             .damage = true};
    return TP_OK;
}

enum tp_status tp_run_skip_again(struct tp_run *run, struct tp_error *err)
{
    struct tp_skipped_list list = {.rows = run->skipped,
                                   .count = run->skipped_count,
                                   .capacity = run->skipped_count};
    enum tp_status status = tp_skipped_add_files(&list, &run->files, err);
    run->skipped = list.rows;
    run->skipped_count = list.count;
    return status;
}

void tp_run_clear(struct tp_run *run)
{
    tp_arena_clear(&run->arena);
    tp_found_clear(&run->files);
    free(run->digests);
    free(run->rows);
    free(run->quantised);
    free(run->skipped);
    tp_notes_clear(&run->notes);
    free(run->dims_first);
    memset(run, 0, sizeof *run);
}

bool tp_row_is_mask(const struct tp_row *row)
{
    const struct tp_counts *counts = &row->counts;
    bool in_range = !(row->numbers.abs_max > row->target_max);
    return (row->label.roles & TP_ROLE_MASKED) && counts->neg_inf > 0 &&
           counts->pos_inf == 0 && counts->nan == 0 && in_range;
}

const char *tp_row_dtype_word(const struct tp_row *row)
{
    return tp_dtype_info(row->dtype)->name;
}

const char *tp_row_target_word(const struct tp_row *row)
{
    return row->target ? row->target->id : tp_row_dtype_word(row);
}

const char *tp_row_scale_word(const struct tp_row *row)
{
    return row->target && row->target->kind == TP_NUMBER_MX
               ? tp_scale_rule_name(row->scale_rule)
               : "";
}

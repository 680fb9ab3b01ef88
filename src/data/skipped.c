/* SPDX-License-Identifier: MIT */
#include "data/skipped.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

static enum tp_status add(struct tp_skipped_list *list,
                          const struct tp_skipped *row, struct tp_error *err)
{
    enum tp_status status = tp_grow(&list->rows, &list->capacity,
                                    list->count + 1, sizeof *list->rows, err);
    if (status == TP_OK)
        list->rows[list->count++] = *row;
    return status;
}

static int compare_rows(const void *left, const void *right)
{
    const struct tp_skipped *a = left, *b = right;
    int result = strcmp(a->file, b->file);
    if (result == 0)
        result = strcmp(a->path, b->path);
    if (result == 0)
        result = strcmp(a->reason, b->reason);
    return result ? result : tp_order_int64(a->offset, b->offset);
}

/* Sorts the rows from one on, and takes out what stands there twice. */
static void sort_from(struct tp_skipped_list *list, size_t first)
{
    struct tp_skipped *rows = list->rows + first;
    const size_t count = list->count - first;
    size_t kept = 0;
    if (count == 0)
        return;
    qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_rows(&rows[kept - 1], &rows[i]) != 0)
            rows[kept++] = rows[i];
    list->count = first + kept;
}

enum tp_status tp_skipped_add_files(struct tp_skipped_list *list,
                                    const struct tp_found_list *found,
                                    struct tp_error *err)
{
    const size_t before = list->count;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < found->count; i++)
        for (const struct tp_found_problem *at = found->files[i].problems;
             at && status == TP_OK; at = at->next) {
            const struct tp_skipped row = {.file = found->files[i].path,
                                           .path = at->path,
                                           .reason = at->reason,
                                           .offset = at->offset,
                                           .damage = at->damage};
            status = add(list, &row, err);
        }
    sort_from(list, before);
    return status;
}

enum tp_status tp_skipped_add_found(struct tp_skipped_list *list,
                                    const struct tp_found_list *found,
                                    struct tp_error *err)
{
    enum tp_status status = tp_skipped_add_files(list, found, err);
    for (size_t i = 0; i < found->problem_count && status == TP_OK; i++) {
        const struct tp_skipped row = {.file = "",
                                       .path = "",
                                       .reason = found->problems[i],
                                       .offset = -1,
                                       .damage = true};
        status = add(list, &row, err);
    }
    sort_from(list, 0);
    return status;
}

enum tp_status tp_skipped_damage(const struct tp_found_list *found,
                                 size_t *count, struct tp_error *err)
{
    struct tp_skipped_list list = {.count = 0};
    enum tp_status status = tp_skipped_add_found(&list, found, err);
    *count = 0;
    for (size_t i = 0; i < list.count; i++)
        *count += list.rows[i].damage;
    tp_skipped_clear(&list);
    return status;
}

void tp_skipped_clear(struct tp_skipped_list *list)
{
    free(list->rows);
    memset(list, 0, sizeof *list);
}

static const struct tp_column columns[] = {
    TP_COLUMN(struct tp_skipped, file, ""),
    TP_COLUMN(struct tp_skipped, path, ""),
    TP_COLUMN(struct tp_skipped, reason, ""),
    TP_COLUMN(struct tp_skipped, offset, "byte"),
};

void tp_skipped_table(const struct tp_skipped *rows, size_t count,
                      struct tp_table *table)
{
    *table = (struct tp_table){.name = "skipped",
                               .columns = columns,
                               .column_count = sizeof columns / sizeof *columns,
                               .rows = rows,
                               .row_count = count,
                               .row_size = sizeof *rows};
}

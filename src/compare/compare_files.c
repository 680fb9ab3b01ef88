/* SPDX-License-Identifier: MIT */
#include "compare/compare_files.h"

#include <string.h>

enum { ROWS_MOST = 6 }; /* of a call; each has a file on two sides          */

struct maker {
    const struct tp_comparison *comparison;
    struct tp_finding_files *files;
    int64_t finding;
    struct tp_error *err;
};

/* The item of one side's row, or where it says what it knows of it. */
static enum tp_status add_side(struct maker *m,
                               const struct tp_compare_entries *entries,
                               const struct tp_compare_entry *entry, bool of_a)
{
    const struct tp_compare_side *side =
        of_a ? &m->comparison->a : &m->comparison->b;
    const struct tp_finding_call of = {
        m->finding, of_a ? "A: " : "B: ", entries->place,
        entry ? &entries->place->calls[entry->call] : NULL};
    const size_t before = m->files->count;
    enum tp_status status =
        entry ? tp_finding_files_item(m->files, &of, entry->item, m->err)
              : TP_OK;
    if (status == TP_OK && m->files->count == before && side->msprobe)
        status = tp_finding_files_told(m->files, &of, NULL, m->err);
    return status;
}

static enum tp_status add_row(struct maker *m,
                              const struct tp_compare_pair *pair,
                              const struct tp_compare_line *row)
{
    const struct tp_compare_entry *b = tp_compare_row_b(pair, row);
    enum tp_status status =
        add_side(m, &pair->a, tp_compare_row_a(pair, row), true);
    return status == TP_OK && b ? add_side(m, &pair->b, b, false) : status;
}

/* Rows of a call that have a file: its results, then what it was given. */
static enum tp_status add_call(struct maker *m,
                               const struct tp_compare_pair *pair,
                               int64_t order)
{
    enum tp_status status = TP_OK;
    size_t added = 0;
    for (int results = 1; results >= 0; results--)
        for (size_t i = 0; i < pair->row_count && status == TP_OK; i++) {
            const struct tp_compare_entry *a =
                tp_compare_row_a(pair, &pair->rows[i]);
            if ((int64_t)a->call != order || !a->item->file ||
                tp_compare_is_output(a) != results || added++ >= ROWS_MOST)
                continue;
            status = add_row(m, pair, &pair->rows[i]);
        }
    if (status != TP_OK || added)
        return status;
    status = add_side(m, &pair->a, NULL, true);
    return status == TP_OK ? add_side(m, &pair->b, NULL, false) : status;
}

static const struct tp_compare_entry *named(
    const struct tp_compare_entries *entries, const char *name)
{
    for (size_t i = 0; i < entries->count; i++)
        if (!strcmp(entries->rows[i].name, name))
            return &entries->rows[i];
    return NULL;
}

/* What only one side has is known by its name. */
static enum tp_status add_named(struct maker *m, const char *name)
{
    const struct tp_comparison *comparison = m->comparison;
    for (size_t i = 0; i < comparison->pair_count; i++) {
        const struct tp_compare_pair *pair = &comparison->pairs[i];
        const struct tp_compare_entry *a = named(&pair->a, name);
        const struct tp_compare_entry *b = a ? NULL : named(&pair->b, name);
        if (a || b)
            return add_side(m, a ? &pair->a : &pair->b, a ? a : b, a != NULL);
    }
    return TP_OK;
}

static enum tp_status add_finding(struct maker *m,
                                  const struct tp_dump_finding *finding)
{
    const struct tp_comparison *comparison = m->comparison;
    if (finding->pair == SIZE_MAX)
        return add_named(m, finding->name);
    const struct tp_compare_pair *pair = &comparison->pairs[finding->pair];
    if (finding->row != SIZE_MAX)
        return add_row(m, pair, &pair->rows[finding->row]);
    return finding->order >= 0 ? add_call(m, pair, finding->order)
                               : add_named(m, finding->name);
}

enum tp_status tp_compare_finding_files(const struct tp_comparison *comparison,
                                        const struct tp_dump_findings *findings,
                                        struct tp_finding_files *files,
                                        struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < findings->count && status == TP_OK; i++) {
        struct maker m = {comparison, files, (int64_t)i, err};
        status = add_finding(&m, &findings->rows[i]);
    }
    return status;
}

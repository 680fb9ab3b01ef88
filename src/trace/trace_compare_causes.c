/* SPDX-License-Identifier: MIT */
/*
 * What changed, with what changed for the same reason: an operator or a range
 * that only one run has, with all that it calls; device work that changed in
 * the same way in several places; a place whose operator is called with several
 * inputs. Anything else is a cause of its own.
 *
 * Grouping by names alone would add up what is slower in one place and gone
 * from another. Sorting: n log n in the rows.
 */
#include "trace/trace_compare_causes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* A row as it is sorted. */
struct item {
    const struct tp_why_row *row;
    size_t root;  /* bytes of the outermost operator of its path           */
    bool whole;   /* only one run has that operator                        */
};

static size_t root_of(const char *path)
{
    const char *end = strstr(path, " > ");
    return end ? (size_t)(end - path) : strlen(path);
}

static int by_root(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const size_t shorter = x->root < y->root ? x->root : y->root;
    const int order = strncmp(x->row->path, y->row->path, shorter);
    return order ? order : tp_order_int64((int64_t)x->root, (int64_t)y->root);
}

/* Marks the items of outermost operators that only one run has. */
static void mark_roots(struct item *items, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        bool base = false, test = false;
        for (next = i; next < count && !by_root(&items[i], &items[next]);
             next++) {
            const struct tp_why_row *row = items[next].row;
            base |= row->base_per_step > 0 || row->base_us > 0;
            test |= row->test_per_step > 0 || row->test_us > 0;
        }
        for (size_t k = i; k < next; k++)
            items[k].whole = items[k].root > 0 && base != test;
    }
}

/* Rows that compare equal are one cause. */
static int by_cause(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = (x->whole > y->whole) - (x->whole < y->whole);
    if (order || x->whole)
        return order ? order : by_root(a, b);
    order = tp_order_int64(x->row->what, y->row->what);
    if (!order)
        order = tp_order_int64(x->row->how, y->row->how);
    if (!order && (x->row->what != TP_SPENT_DEVICE || !*x->row->path ||
                   !*y->row->path))
        order = strcmp(x->row->path, y->row->path);
    if (!order)
        order = strcmp(x->row->base_name, y->row->base_name);
    return order ? order : strcmp(x->row->test_name, y->row->test_name);
}

static bool is_larger(const struct tp_why_row *row,
                      const struct tp_why_row *than)
{
    return fabs(row->change_us) > fabs(than->change_us);
}

/* Adds up the items of one cause. */
static struct tp_cause_row add_up(const struct item *items, size_t count)
{
    struct tp_cause_row cause = {.largest = items[0].row,
                                 .members = count,
                                 .root = items[0].whole ? items[0].root : 0};
    for (size_t i = 0; i < count; i++) {
        const struct tp_why_row *row = items[i].row;
        cause.base_per_step += row->base_per_step;
        cause.test_per_step += row->test_per_step;
        cause.base_us += row->base_us;
        cause.test_us += row->test_us;
        cause.change_us += row->change_us;
        if (is_larger(row, cause.largest))
            cause.largest = row;
    }
    return cause;
}

static int by_change(const void *a, const void *b)
{
    const struct tp_cause_row *x = a, *y = b;
    const int order =
        tp_order_double(fabs(y->change_us), fabs(x->change_us));
    return order ? order
                 : (x->largest > y->largest) - (x->largest < y->largest);
}

enum tp_status tp_trace_compare_causes(struct tp_trace_comparison *comparison,
                                       struct tp_error *err)
{
    const size_t count = comparison->why.count;
    struct item *items = malloc((count + 1) * sizeof *items);
    struct tp_cause_row *causes = malloc((count + 1) * sizeof *causes);
    if (!items || !causes) {
        free(items);
        free(causes);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        items[i] = (struct item){.row = &comparison->why.rows[i],
                                 .root =
                                     root_of(comparison->why.rows[i].path)};
    comparison->causes.rows = causes;
    comparison->causes.count = 0;
    if (count) {
        qsort(items, count, sizeof *items, by_root);
        mark_roots(items, count);
        qsort(items, count, sizeof *items, by_cause);
    }
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && !by_cause(&items[i], &items[next]))
            next++;
        causes[comparison->causes.count++] = add_up(items + i, next - i);
    }
    if (comparison->causes.count)
        qsort(causes, comparison->causes.count, sizeof *causes, by_change);
    free(items);
    return TP_OK;
}

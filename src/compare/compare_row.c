/* SPDX-License-Identifier: MIT */
#include "compare/compare_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tp_compare_mode_words[] = {"auto", "tensor", "statistics",
                                             "md5", NULL};
const char *const tp_compare_result_words[TP_COMPARE_RESULTS] = {
    "pass", "warning", "error"};

const struct tp_compare_elements tp_compare_elements_none = {.values = NAN,
                                                             .unequal = NAN,
                                                             .first = -1,
                                                             .norm_a = NAN,
                                                             .norm_b = NAN,
                                                             .relative_l2 = NAN,
                                                             .sqnr = NAN,
                                                             .ulp50 = NAN,
                                                             .ulp99 = NAN,
                                                             .ulp_max = NAN,
                                                             .ks = NAN};

const struct tp_compare_entry *tp_compare_row_a(
    const struct tp_compare_pair *pair, const struct tp_compare_line *row)
{
    return &pair->a.rows[row->a];
}

const struct tp_compare_entry *tp_compare_row_b(
    const struct tp_compare_pair *pair, const struct tp_compare_line *row)
{
    return row->b == TP_COMPARE_NONE ? NULL : &pair->b.rows[row->b];
}

/* Whether what the json says of both is the same. */
static bool same_words(const struct tp_compare_entry *a,
                       const struct tp_compare_entry *b)
{
    bool same = !strcmp(a->dtype, b->dtype) && !strcmp(a->shape, b->shape);
    for (int i = 0; i < TP_DUMP_STATS; i++)
        same = same && !strcmp(a->stats[i].text, b->stats[i].text);
    return same;
}

bool tp_compare_is_equal(const struct tp_compare_pair *pair,
                         const struct tp_compare_line *row,
                         enum tp_compare_mode mode)
{
    const struct tp_compare_entry *a = tp_compare_row_a(pair, row);
    const struct tp_compare_entry *b = tp_compare_row_b(pair, row);
    if (!b || *row->problem)
        return false;
    if (mode == TP_COMPARE_MD5)
        return !strcmp(a->md5, b->md5);
    if (mode == TP_COMPARE_TENSOR && row->elements.compared)
        return row->elements.unequal == 0;
    return same_words(a, b);
}

double tp_compare_error(const struct tp_compare_pair *pair,
                        const struct tp_compare_line *row,
                        enum tp_compare_mode mode)
{
    double worst = NAN;
    if (!tp_compare_row_b(pair, row) || mode == TP_COMPARE_MD5)
        return NAN;
    if (mode == TP_COMPARE_TENSOR)
        return row->elements.relative_l2;
    if (!isnan(row->shifts[TP_DUMP_NORM].error))
        return row->shifts[TP_DUMP_NORM].error;
    for (int i = 0; i < TP_DUMP_NORM; i++)
        worst = fmax(worst, row->shifts[i].error);
    return worst;
}

void tp_compare_pair_clear(struct tp_compare_pair *pair)
{
    tp_compare_entries_clear(&pair->a);
    tp_compare_entries_clear(&pair->b);
    free(pair->rows);
    free(pair->matched_b);
    tp_arena_clear(&pair->arena);
    memset(pair, 0, sizeof *pair);
}

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

/* Two that say "None" are the same text, which tells nothing. */
static bool has_norm(const struct tp_compare_entry *entry)
{
    return entry->stats[TP_DUMP_NORM].kind <= TP_COMPARE_NEGATIVE_INF;
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
    if (has_norm(tp_compare_row_a(pair, row)) &&
        !isnan(row->shifts[TP_DUMP_NORM].error))
        return row->shifts[TP_DUMP_NORM].error;
    for (int i = 0; i < TP_DUMP_NORM; i++)
        worst = fmax(worst, row->shifts[i].error);
    return worst;
}

static double distance_of_tensors(const struct tp_compare_line *row)
{
    const struct tp_compare_elements *elements = &row->elements;
    const double larger = fmax(elements->norm_a, elements->norm_b);
    if (!isinf(elements->relative_l2))
        return elements->relative_l2 > 0
                   ? elements->relative_l2 * (elements->norm_b / larger)
                   : elements->relative_l2;
    const bool apart =
        row->metrics[TP_MSPROBE_EUC_DIST].reason == TP_MSPROBE_APART;
    return apart || elements->norm_b > 0 || !(larger > 0) ? INFINITY : 1;
}

/* |a - b| over a scale; NaN: one is no number. */
static double over(const struct tp_compare_value *a,
                   const struct tp_compare_value *b, double scale)
{
    const double difference = fabs(a->number - b->number);
    return difference == 0 ? 0 : difference / scale;
}

static double distance_of_statistics(const struct tp_compare_entry *a,
                                     const struct tp_compare_entry *b)
{
    const struct tp_compare_value *x = a->stats, *y = b->stats;
    double scale = 0, worst = NAN;
    for (int i = TP_DUMP_MAX; i <= TP_DUMP_MIN; i++)
        scale = fmax(scale, fmax(fabs(x[i].number), fabs(y[i].number)));
    for (int i = 0; i < TP_DUMP_NORM; i++)
        worst = fmax(worst, over(&x[i], &y[i], scale));
    const double norms =
        over(&x[TP_DUMP_NORM], &y[TP_DUMP_NORM],
             fmax(fabs(x[TP_DUMP_NORM].number), fabs(y[TP_DUMP_NORM].number)));
    return isnan(norms) ? worst : norms;
}

double tp_compare_distance(const struct tp_compare_pair *pair,
                           const struct tp_compare_line *row,
                           enum tp_compare_mode mode)
{
    const double error = tp_compare_error(pair, row, mode);
    if (mode == TP_COMPARE_TENSOR || isnan(error))
        return mode == TP_COMPARE_TENSOR ? distance_of_tensors(row) : NAN;
    const double distance = distance_of_statistics(tp_compare_row_a(pair, row),
                                                   tp_compare_row_b(pair, row));
    return isnan(distance) ? error : distance;
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

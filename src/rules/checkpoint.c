/* SPDX-License-Identifier: MIT */
/*
 * Parts of checkpoints by the names that are usual: parameters end in weight
 * or bias, moments of Adam in exp_avg and exp_avg_sq. Two rows are compared by
 * everything that was measured, exact sums, extrema and quantiles, so that no
 * element is read again: two parameters that agree in all of it and differ
 * are permutations of each other at the least. Cost: some comparisons of
 * texts or numbers a row.
 */
#include "rules/checkpoint.h"

#include <string.h>
#include <strings.h>

static const char value[] = "#value";

bool tp_checkpoint_ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    size_t extra = strlen(value);
    if (length >= extra && !strcmp(path + length - extra, value))
        length -= extra;
    if (length < tail || memcmp(path + length - tail, ending, tail) != 0)
        return false;
    return length == tail || strchr("._]", path[length - tail - 1]);
}

enum tp_checkpoint_part tp_checkpoint_part_of(const struct tp_row *row)
{
    static const struct {
        const char *ending;
        enum tp_checkpoint_part part;
    } rows[] = {{"exp_avg", TP_PART_MOMENT_1},
                {"exp_avg_sq", TP_PART_MOMENT_2},
                {"weight", TP_PART_WEIGHT},
                {"weight_packed", TP_PART_WEIGHT},
                {"bias", TP_PART_BIAS}};
    /* of DeepSpeed and FSDP: exp_avg_sq.layers.0.weight */
    static const struct {
        const char *word;
        enum tp_checkpoint_part part;
    } before[] = {{"exp_avg_sq.", TP_PART_MOMENT_2},
                  {"exp_avg.", TP_PART_MOMENT_1},
                  {"grad", TP_PART_OTHER}};
    if (row->label.direction == TP_BACKWARD)
        return TP_PART_OTHER;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        if (strstr(row->path, before[i].word))
            return before[i].part;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (tp_checkpoint_ends_in(row->path, rows[i].ending) ||
            (!*row->path && !strcmp(row->label.tensor_name, rows[i].ending)))
            return rows[i].part;
    }
    return TP_PART_OTHER;
}

bool tp_checkpoint_is_parameter(const struct tp_row *row)
{
    enum tp_checkpoint_part part = tp_checkpoint_part_of(row);
    return *row->path && !*row->label.operation &&
           (part == TP_PART_WEIGHT || part == TP_PART_BIAS);
}

bool tp_checkpoint_is_norm(const struct tp_row *row)
{
    static const char *const words[] = {"norm", "ln_", "ln1", "ln2"};
    for (const char *p = row->path; *p; p++) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (!strncasecmp(p, words[i], strlen(words[i])))
                return true;
        }
    }
    return false;
}

bool tp_checkpoint_is_constant(const struct tp_row *row)
{
    return row->counts.values > 1 && tp_counts_nonfinite(&row->counts) == 0 &&
           row->numbers.min == row->numbers.max;
}

bool tp_checkpoint_are_equal(const struct tp_row *a, const struct tp_row *b)
{
    const struct tp_counts *x = &a->counts, *y = &b->counts;
    const struct tp_numbers *m = &a->numbers, *n = &b->numbers;
    return a->dtype == b->dtype && !strcmp(a->shape, b->shape) &&
           x->values == y->values && x->nan == y->nan &&
           x->pos_inf == y->pos_inf && x->neg_inf == y->neg_inf &&
           x->zero == y->zero && x->negative == y->negative &&
           m->min == n->min && m->max == n->max && m->mean == n->mean &&
           m->l1_norm == n->l1_norm && m->l2_norm == n->l2_norm &&
           memcmp(m->quantile, n->quantile, sizeof m->quantile) == 0;
}

bool tp_checkpoint_is_beside(const struct tp_row *a, const struct tp_row *b)
{
    const char *x = strrchr(a->file, '/'), *y = strrchr(b->file, '/');
    size_t m = x ? (size_t)(x - a->file) : 0;
    size_t n = y ? (size_t)(y - b->file) : 0;
    return m == n && !memcmp(a->file, b->file, m);
}

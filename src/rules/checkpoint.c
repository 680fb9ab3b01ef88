/* SPDX-License-Identifier: MIT */
/*
 * Parameters are what labels of keys call a weight or a bias. Two rows are
 * compared by everything that was measured, exact sums, extrema and quantiles,
 * so that no element is read again: two parameters that agree in all of it and
 * differ are permutations of each other at the least. Cost: some comparisons
 * of texts or numbers a row.
 */
#include "rules/checkpoint.h"

#include <string.h>

#include "data/dtype.h"

static const char value[] = "#value";

/* Causal masks of GPT-2 are called attn.bias: [1, 1, n, n]. */
static bool is_mask(const struct tp_row *row)
{
    return (row->label.roles & TP_ROLE_BIAS) && row->counts.values > 1 &&
           row->first_dims[0] == 1 && row->first_dims[1] == 1;
}

bool tp_checkpoint_is_parameter(const struct tp_row *row)
{
    const struct tp_label *label = &row->label;
    return (label->roles & (TP_ROLE_WEIGHT | TP_ROLE_BIAS)) && *row->path &&
           !*label->operation && label->direction != TP_BACKWARD &&
           tp_dtype_info(row->dtype)->significand && !is_mask(row);
}

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

void tp_fault_add(struct tp_fault *fault, const struct tp_row *row,
                  double share)
{
    if (!(share > 0))
        return;
    fault->files += fault->rows == 0 || fault->source != row->source;
    fault->rows++;
    fault->source = row->source;
    const struct tp_row *worst = fault->worst;
    if (worst && (row->label.iteration > worst->label.iteration ||
                  (row->label.iteration == worst->label.iteration &&
                   share <= fault->share)))
        return;
    fault->worst = row;
    fault->share = share;
}

const char *tp_fault_others(const struct tp_fault *fault,
                            struct tp_findings *findings)
{
    const size_t others = fault->rows - 1;
    const char *more = others == 1 ? "" : "s";
    if (others == 0)
        return "";
    if (fault->files == 1)
        return tp_finding_text(findings, "; so in %zu other tensor%s of it",
                               others, more);
    return tp_finding_text(findings,
                           "; so in %zu other tensor%s, of %zu files in all",
                           others, more, fault->files);
}

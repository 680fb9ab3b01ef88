/* SPDX-License-Identifier: MIT */
#include "report/report_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/report_place.h"
#include "report/report_table.h"

enum { WORST_OF_ALL = 50 }; /* all are in summary.h5 */

static void add_number(struct tp_text *text, const char *format, int width,
                       double value)
{
    struct tp_text number = {0};
    if (isnan(value))
        tp_text_add(&number, "-");
    else
        tp_text_add(&number, format, value);
    tp_text_add(text, " %*s", width, tp_text_get(&number));
    text->failed |= number.failed;
    tp_text_clear(&number);
}

static void add_pair(const struct tp_pairs *pairs, const struct tp_pair *pair,
                     struct tp_text *text)
{
    const struct tp_pair_numbers *n = &pair->numbers;
    const struct tp_row *x = &pairs->run->rows[pair->x];
    const struct tp_row *y = &pairs->run->rows[pair->y];
    struct tp_text place = {0};
    tp_text_add(text, " ");
    add_number(text, "%.9f", 12, n->pearson_r);
    add_number(text, "%.3g", 9, n->one_minus_r);
    add_number(text, "%.3g", 9, n->one_minus_cosine);
    add_number(text, "%.3g", 9, sqrt(n->mse));
    add_number(text, "%.3g", 9, n->max_abs_diff);
    add_number(text, "%.2f %%", 8, 100 * (double)n->equal / (double)n->finite);
    tp_text_add(text, " %8" PRIu64 "  ", n->nan + n->inf);
    tp_report_place(y, &place);
    tp_text_add(text, "%s, against ", tp_text_get(&place));
    tp_text_printable(text, tp_pair_type(x));
    tp_text_add(text, "\n");
    text->failed |= place.failed;
    tp_text_clear(&place);
}

/* Whether both tensors are finite and the same. */
static bool is_identical(const struct tp_pair *pair)
{
    return pair->numbers.equal == pair->numbers.values;
}

static size_t count_identical(const struct tp_pairs *pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < pairs->measured; i++)
        count += is_identical(&pairs->rows[pairs->worst[i]]);
    return count;
}

static void add_heads(const struct tp_pairs *pairs, size_t identical,
                      struct tp_text *text)
{
    tp_text_add(text,
                "\nSame tensor in two quant types, element by element (%zu "
                "pair%s, %zu identical)\n",
                pairs->measured, pairs->measured == 1 ? "" : "s", identical);
    if (identical < pairs->measured)
        tp_text_add(text, "  %12s %9s %9s %9s %9s %8s %8s  least alike\n",
                    "Pearson r", "1 - r", "1 - cos", "rms diff", "max diff",
                    "equal", "NaN+Inf");
}

void tp_report_pairs(const struct tp_pairs *pairs, size_t most,
                     struct tp_text *text)
{
    const size_t limit = most ? most : WORST_OF_ALL;
    const size_t identical = count_identical(pairs);
    size_t shown = 0;
    if (pairs->measured == 0)
        return;
    add_heads(pairs, identical, text);
    for (size_t i = 0; i < pairs->measured && shown < limit; i++) {
        const struct tp_pair *pair = &pairs->rows[pairs->worst[i]];
        if (is_identical(pair))
            continue;
        add_pair(pairs, pair, text);
        shown++;
    }
    if (pairs->measured - identical > shown)
        tp_text_add(text, "  ... and %zu more in /pairs\n",
                    pairs->measured - identical - shown);
}

void tp_report_pairs_json(const struct tp_pairs *pairs, struct tp_text *text)
{
    struct tp_table table;
    tp_pairs_table_make(pairs, &table);
    void *room = malloc(table.row_size);
    tp_text_add(text, "\"pairs\": [");
    for (size_t i = 0; room && i < pairs->measured && i < WORST_OF_ALL; i++) {
        const struct tp_table row =
            tp_table_window(&table, pairs->worst[i], 1, room);
        tp_text_add(text, i ? ",\n  {" : "\n  {");
        tp_report_row_json(&row, 0, text);
        tp_text_add(text, "}");
    }
    tp_text_add(text, pairs->measured ? "\n],\n" : "],\n");
    text->failed |= !room;
    free(room);
}

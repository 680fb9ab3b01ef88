/* SPDX-License-Identifier: MIT */
/* Which gradients a spike of the norm of all is looked for in. */
#include "series/suspects.h"
#include "tests/unit/support/stages.h"

enum { LAYERS = 4, POINTS = 30, AT = 20 };

/* A run of gradients of those norms in iteration AT, 1 at all others, and of
 * one input; with the baselines that `off` says, of norms. */
static size_t find(const double *norm, const bool *off, size_t *suspect)
{
    struct stages made = {.run = {.rows = NULL}};
    for (int64_t i = 0; i < POINTS; i++) {
        for (int64_t layer = 0; layer <= LAYERS; layer++) {
            bool last = layer == LAYERS;
            struct tp_row *row = add_row(&made.run, "f");
            row->label.operation = last ? "forward" : "backward";
            row->label.phase = "pre";
            row->label.layer_idx = layer;
            row->label.iteration = i;
            row->label.rank = 0;
            row->numbers.l2_norm = i == AT && !last ? norm[layer] : 1;
            tp_label_classify(&row->label);
        }
    }
    struct tp_series_set set = {.count = 0};
    cr_assert_eq(tp_series_make(&made.run, &set, NULL), TP_OK);
    struct tp_baseline *changes =
        calloc(set.count * TP_SERIES_METRICS, sizeof *changes);
    size_t *first = calloc(set.count, sizeof *first), gradients = 0;
    size_t *all = calloc(set.count, sizeof *all);
    cr_assert(changes && first && all);
    for (size_t i = 0; i < set.count; i++) {
        const struct tp_run_series *series = &set.series[i];
        first[i] = i * TP_SERIES_METRICS;
        bool gradient = series->kind == TP_SERIES_TENSOR &&
                        tp_series_is_gradient(&series->label);
        if (series->kind == TP_SERIES_MODEL ||
            (gradient && off[series->label.layer_idx]))
            changes[first[i]] =
                (struct tp_baseline){.kind = TP_CHANGE_SPIKE, .first = AT};
    }
    size_t count = tp_suspects_find(&set, changes, first, all);
    for (size_t i = 0; i < set.count; i++) {
        const struct tp_run_series *series = &set.series[i];
        if (series->kind == TP_SERIES_TENSOR &&
            tp_series_is_gradient(&series->label)) {
            suspect[series->label.layer_idx] = all[i];
            gradients++;
        } else {
            cr_expect_eq(all[i], 0);
        }
    }
    cr_assert_eq(gradients, LAYERS);
    free(changes);
    free(first);
    free(all);
    tp_series_clear(&set);
    stages_clear(&made);
    return count;
}

Test(suspects, all_gradients_where_none_is_off)
{
    size_t suspect[LAYERS];
    cr_expect_eq(find((double[]){7, 7, 7, 7}, (bool[LAYERS]){false}, suspect),
                 LAYERS);
    for (size_t i = 0; i < LAYERS; i++)
        cr_expect_eq(suspect[i], AT + 1);
}

/* One that is off by itself and makes up the sum leaves nothing to ask; one
 * that does not leaves the others. */
Test(suspects, none_where_one_is_what_is_off)
{
    size_t suspect[LAYERS];
    const bool off[LAYERS] = {false, true};
    cr_expect_eq(find((double[]){1, 1000, 1, 1}, off, suspect), 0);
    for (size_t i = 0; i < LAYERS; i++)
        cr_expect_eq(suspect[i], 0);
    cr_expect_eq(find((double[]){7, 7, 7, 7}, off, suspect), LAYERS - 1);
    for (size_t i = 0; i < LAYERS; i++)
        cr_expect_eq(suspect[i], off[i] ? 0 : AT + 1);
}

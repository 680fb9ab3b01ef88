/* SPDX-License-Identifier: MIT */
/*
 * The lines of a live monitor, of a run by hand.
 */
#include <math.h>
#include <stdio.h>

#include "report/report_monitor.h"
#include "tests/unit/support/stages.h"

enum { ITERATIONS = 40, WARM_UP = 10 };

/* One gradient, of norm 1 and 2 in turn; infinite in the warm-up, too. */
static void make_run(struct stages *made, enum tp_baseline_method method)
{
    const struct tp_baseline_options options = {.method = method,
                                                .warmup_steps = WARM_UP,
                                                .alert_window = WARM_UP,
                                                .sigma = 3};
    const struct tp_summary none = {.counts = {.numel = 64, .values = 64}};
    for (int i = 0; i < ITERATIONS; i++) {
        struct tp_row *row = add_row(&made->run, "f");
        set_summary(&made->run, row, &none);
        row->shape = "[8,8]";
        row->label.layer_type = "linear";
        row->label.operation = "backward";
        row->label.phase = "pre";
        row->label.tensor_name = "input";
        row->label.layer_idx = row->label.rank = 0;
        row->label.iteration = i;
        row->numbers.l2_norm = 1 + i % 2;
        row->counts.pos_inf = i == 3 || i == 5;
        tp_label_classify(&row->label);
    }
    cr_assert_eq(tp_run_number(&made->run, NULL), TP_OK);
    stages_watch(made, &options);
}

/* What was not learnt from is not in the range that was learnt, and does not
 * take a place among the values of it. */
Test(report_monitor, the_range_that_was_learnt_is_finite)
{
    for (int method = TP_BASELINE_RETRO; method <= TP_BASELINE_ROLLING;
         method++) {
        struct stages made = {.pairs = {0}};
        struct tp_text text = {0};
        double mean, std, max, min;
        make_run(&made, (enum tp_baseline_method)method);
        tp_report_monitor(&made.monitor, &made.incidents, &text);
        const char *line =
            strstr(tp_text_get(&text), "[Monitor] Baseline established: ");
        cr_assert_not_null(line);
        cr_assert_eq(sscanf(line + 32,
                            "{'mean': %lf, 'std': %lf, 'max': %lf, "
                            "'min': %lf}",
                            &mean, &std, &max, &min),
                     4);
        cr_expect_eq(max, 2, "%s", line);
        cr_expect_eq(min, 1, "%s", line);
        cr_expect_float_eq(mean, 1.5, 0.2, "%s", line);
        tp_text_clear(&text);
        stages_clear(&made);
    }
}

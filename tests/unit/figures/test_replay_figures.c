/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "figures/replay_figures.h"
#include "replay/op_family.h"

/* A call of step 0, its amplification and its errors in ulps. */
static struct tp_replay_row call(int64_t order, enum tp_op_family family,
                                 double amplification, double ulp)
{
    return (struct tp_replay_row){.step = 0,
                                  .rank = -1,
                                  .order = order,
                                  .family = tp_op_family_words[family],
                                  .amplification = amplification,
                                  .rounding = 0x1p-8,
                                  .ulp = ulp,
                                  .ulp_rounded = 0.25};
}

static struct tp_figure_set build(struct tp_replay_row *rows, size_t count)
{
    const struct tp_replay_results results = {.rows = rows, .count = count};
    struct tp_figure_set set;
    struct tp_error err = {0};
    cr_assert_eq(tp_replay_figures_build(&results, &set, &err), TP_OK);
    for (size_t i = 0; tp_replay_figure_table[i].id; i++) {
        cr_expect_eq(tp_figure_check(&set.figures[i], &err), TP_OK, "%s",
                     err.message);
        cr_expect_str_eq(set.figures[i].id, tp_replay_figure_table[i].id);
    }
    return set;
}

/* Each call beside 1 / sqrt(2^-8); those that change nothing are left out. */
Test(replay_figures, show_what_calls_make_of_a_rounding)
{
    struct tp_replay_row rows[] = {
        call(0, TP_OP_POINT, 2, 1), call(1, TP_OP_MOVE, 0, 0),
        call(2, TP_OP_NORM, 40, 1), call(3, TP_OP_POINT, NAN, NAN)};
    struct tp_figure_set set = build(rows, 4);
    const struct tp_figure *figure = &set.figures[0];
    cr_assert_eq(figure->panel_count, 1);
    cr_expect_eq(figure->panels[0].bounds, 1);
    const struct tp_panel_series *series = figure->panels[0].series;
    cr_assert_eq(series[1].rows, 2);
    cr_expect_eq(series[1].values[0], 1);
    cr_expect_eq(series[1].values[1], 2);
    cr_expect_eq(series[1].values[2], 3);
    cr_expect_eq(series[1].values[3], 40);
    cr_expect_eq(series[0].values[1], 16);
    tp_figure_set_clear(&set);
}

/* Of many calls a column keeps the one that is worst beside its limit. */
Test(replay_figures, keep_the_worst_of_neighbours)
{
    static struct tp_replay_row rows[4000];
    for (int i = 0; i < 4000; i++)
        rows[i] = call(i, TP_OP_POINT, 1, 1);
    rows[1234].amplification = 500;
    rows[1235].amplification = 600; /* of float32: less beside its limit    */
    rows[1235].rounding = 0x1p-24;
    struct tp_figure_set set = build(rows, 4000);
    const struct tp_panel_series *series = set.figures[0].panels[0].series;
    cr_assert_eq(series[1].rows, 400);
    cr_expect_eq(series[1].values[2 * 123], 1235);
    cr_expect_eq(series[1].values[2 * 123 + 1], 500);
    tp_figure_set_clear(&set);
}

/* Boxes of a family side by side with those of one rounding: 1, 2, 3 have the
 * quartiles 1.5, 2, 2.5. */
Test(replay_figures, show_errors_by_family)
{
    struct tp_replay_row rows[] = {
        call(0, TP_OP_NORM, 1, 3), call(1, TP_OP_NORM, 1, 1),
        call(2, TP_OP_MOVE, 1, 0), call(3, TP_OP_NORM, 1, 2)};
    struct tp_figure_set set = build(rows, 4);
    const struct tp_figure *figure = &set.figures[1];
    cr_assert_eq(figure->panel_count, 1);
    const struct tp_panel *panel = &figure->panels[0];
    cr_assert_eq(panel->y.tic_count, 1);
    cr_expect_str_eq(panel->y.tics[0].text, "norms");
    const double *box = panel->series[0].values;
    cr_expect_eq(box[1], 1);
    cr_expect_eq(box[3], 1.5);
    cr_expect_eq(box[4], 2);
    cr_expect_eq(box[5], 2.5);
    cr_expect_eq(box[8], 3);
    cr_expect_eq(panel->series[1].values[4], 0.25);
    cr_expect_not_null(strstr(panel->title, "1 exact"));
    tp_figure_set_clear(&set);
}

Test(replay_figures, say_what_they_need)
{
    struct tp_replay_row rows[] = {call(0, TP_OP_MOVE, NAN, 0)};
    struct tp_figure_set set = build(rows, 1);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(set.figures[i].panel_count, 0);
        cr_expect_not_null(strstr(set.figures[i].empty_reason, "needs"));
    }
    tp_figure_set_clear(&set);
}

/* SPDX-License-Identifier: MIT */
/* The figures of pairs, from numbers by hand. */
#include <criterion/criterion.h>

#include "figures/figures.h"
#include "tests/unit/support/stages.h"

/* A run of one tensor in three quant types and two layers, with its pairs. */
static void make(struct stages *made)
{
    static const char *const types[] = {"bf16", "hifp8", "mxfp8"};
    struct tp_summary *summary = calloc(1, sizeof *summary);
    cr_assert_not_null(summary);
    summary->counts.numel = summary->counts.values = 4;
    summary->extrema = (struct tp_extrema){-1, 1, 1};
    summary->moments = (struct tp_moments){.n = 4, .m2 = 4};
    *made = (struct stages){.run = {.rows = NULL}};
    for (int i = 0; i < 6; i++) {
        struct tp_row *row = add_row(&made->run, "x.pt");
        row->label.quant_type = types[i % 3];
        row->label.layer_idx = i / 3;
        row->label.iteration = 5;
        set_summary(&made->run, row, summary);
    }
    free(summary);
    stages_pair(made);
    cr_assert_eq(made->pairs.count, 6);
}

static const struct tp_figure *build(const struct stages *made,
                                     struct tp_figure_set *set, const char *id)
{
    const struct tp_figure_input input = stages_input(made);
    struct tp_error err = {.code = TP_OK};
    cr_assert_eq(tp_figures_build(&input, NULL, set, &err), TP_OK, "%s",
                 err.message);
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->figures[i].id, id))
            continue;
        cr_assert_eq(tp_figure_check(&set->figures[i], &err), TP_OK, "%s",
                     err.message);
        return &set->figures[i];
    }
    cr_assert_fail("no figure %s", id);
    return NULL;
}

static void clear(struct stages *made, struct tp_figure_set *set)
{
    tp_figure_set_clear(set);
    stages_clear(made);
}

/* 1 - r against bf16; what hifp8 and mxfp8 have to do with each other is not
 * in these boxes, nor what could not be read. */
Test(fig_comparisons, boxes_are_of_pairs_with_the_base)
{
    struct stages made;
    struct tp_figure_set set;
    make(&made);
    for (size_t i = 0; i < made.pairs.count; i++) {
        struct tp_pair *pair = &made.pairs.rows[i];
        pair->numbers.one_minus_r = pair->based ? 0.25 : 0.75;
        pair->numbers.one_minus_cosine = 0.125;
        if (pair->y == 5)
            pair->error = "gone";
    }
    made.pairs.measured = 4;
    const struct tp_figure *figure =
        build(&made, &set, "same_tensor_correlation");
    cr_assert_geq(figure->panel_count, 2);
    for (size_t p = 0; p < 2; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        cr_assert_eq(panel->series_count, 2);
        cr_expect_str_eq(panel->series[0].name, "hifp8");
        cr_expect_str_eq(panel->series[1].name, "mxfp8");
        for (int s = 0; s < 2; s++) {
            const double *row = panel->series[s].values;
            cr_expect_eq(row[4], p ? 0.125 : 0.25); /* the median */
            cr_expect_eq(row[8], s ? 1 : 2);        /* tensors    */
        }
    }
    clear(&made, &set);
}

Test(fig_comparisons, pairs_that_were_not_read_have_no_boxes)
{
    struct stages made;
    struct tp_figure_set set;
    make(&made);
    cr_expect_eq(build(&made, &set, "same_tensor_correlation")->panel_count, 0);
    tp_figure_set_clear(&set);
    cr_expect_eq(build(&made, &set, "same_tensor_scatter")->panel_count, 0);
    tp_figure_set_clear(&set);
    cr_expect_gt(build(&made, &set, "same_tensor_ratio")->panel_count, 0);
    clear(&made, &set);
}

/* A panel of a scatter with two cells, on this axis. */
static const struct tp_panel *scatter(struct stages *made,
                                      struct tp_figure_set *set,
                                      struct tp_pair_axis axis)
{
    made->pairs.scatters = calloc(1, sizeof *made->pairs.scatters);
    cr_assert_not_null(made->pairs.scatters);
    struct tp_pair_scatter *its = &made->pairs.scatters[0];
    *its = (struct tp_pair_scatter){.pair = 0, .axis = axis};
    its->cells[0] = 7;
    its->cells[3 * TP_PAIR_CELLS + 30] = 9;
    made->pairs.scatter_count = 1;
    made->pairs.measured = 1;
    made->pairs.rows[0].numbers = (struct tp_pair_numbers){
        .pearson_r = 1, .one_minus_r = 2.5e-9, .cosine = NAN};
    const struct tp_figure *figure = build(made, set, "same_tensor_scatter");
    cr_assert_eq(figure->panel_count, 1);
    return &figure->panels[0];
}

static void expect_cells(const struct tp_panel *panel,
                         const struct tp_pair_axis *axis)
{
    const double want[] = {
        tp_pair_middle(axis, 0),  tp_pair_middle(axis, 0), 7,
        tp_pair_middle(axis, 30), tp_pair_middle(axis, 3), 9};
    cr_assert_eq(panel->series[0].rows, 2);
    for (int i = 0; i < 6; i++)
        cr_expect_eq(panel->series[0].values[i], want[i], "%d", i);
    cr_expect_eq(panel->x.min, panel->y.min);
    cr_expect_eq(panel->x.max, panel->y.max);
}

Test(fig_comparisons, a_scatter_tells_r_and_the_types)
{
    struct stages made;
    struct tp_figure_set set;
    const struct tp_pair_axis axis = tp_pair_axis_of(-2, 2, 1);
    make(&made);
    const struct tp_panel *panel = scatter(&made, &set, axis);
    expect_cells(panel, &axis);
    cr_expect_eq(panel->kind, TP_PANEL_CLOUD);
    cr_expect_eq(panel->cell_width, 0.1);
    cr_expect_str_eq(panel->title, "L0 input it 5: r 1 - 2.5e-09, cos none");
    cr_expect_str_eq(panel->x.label, "bf16 [tensor units]");
    cr_expect_str_eq(panel->y.label, "hifp8 [tensor units]");
    clear(&made, &set);
}

Test(fig_comparisons, a_scatter_may_be_of_binades)
{
    struct stages made;
    struct tp_figure_set set;
    const struct tp_pair_axis axis = tp_pair_axis_of(-1000, 60000, 1);
    make(&made);
    const struct tp_panel *panel = scatter(&made, &set, axis);
    expect_cells(panel, &axis);
    cr_expect_eq(panel->x.scale, TP_SCALE_SIGNED_LOG2);
    cr_expect_eq(panel->x.inner, axis.inner);
    cr_expect_eq(panel->cell_width, axis.binades);
    cr_expect_geq(panel->x.max, 60000);
    clear(&made, &set);
}

/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>

#include "figures/figures.h"
#include "tests/unit/support/valued_run.h"

/* --- finding one's way in a set --------------------------------------- */

static const struct tp_figure *find_figure(const struct tp_figure_set *set,
                                           const char *id)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->figures[i].id, id) == 0)
            return &set->figures[i];
    }
    cr_assert_fail("no figure %s", id);
    return NULL;
}

static void build_pooled(const struct tp_run *run, struct tp_pool *pool,
                         struct tp_figure_set *set)
{
    static const struct stages none;
    struct tp_figure_input input = stages_input(&none);
    struct tp_error err = {0};
    struct tp_pairs pairs = {.run = NULL};
    cr_assert_eq(tp_pairs_find(run, true, &pairs, NULL), TP_OK);
    input.run = run;
    input.pairs = &pairs;
    cr_assert_eq(tp_figures_build(&input, pool, set, &err), TP_OK, "%s",
                 err.message);
    tp_pairs_clear(&pairs);
}

static void build(const struct tp_run *run, struct tp_figure_set *set)
{
    build_pooled(run, NULL, set);
}

static void build_stages(const struct stages *made, struct tp_figure_set *set)
{
    const struct tp_figure_input input = stages_input(made);
    struct tp_error err = {0};
    cr_assert_eq(tp_figures_build(&input, NULL, set, &err), TP_OK, "%s",
                 err.message);
    for (size_t i = 0; i < set->count; i++) {
        enum tp_status status = tp_figure_check(&set->figures[i], &err);
        cr_expect_eq(status, TP_OK, "%s", err.message);
        cr_expect((set->figures[i].panel_count == 0) ==
                      (set->figures[i].empty_reason[0] != '\0'),
                  "%s", set->figures[i].id);
    }
}

/* --- the table -------------------------------------------------------- */

Test(figure, every_row_builds_from_a_rich_run)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_figure_set set;
    valued_make(&made.run, 3, 3, 14, -1);
    valued_break(&made);
    build_stages(&made, &set);
    for (size_t i = 0; i < set.count; i++) {
        /* no casts were simulated here; test_quant draws those */
        bool casts = strstr(tp_figure_table[i].needs, "simulated casts");
        cr_expect((set.figures[i].panel_count > 0) == !casts, "%s: %s",
                  set.figures[i].id, set.figures[i].empty_reason);
    }
    tp_figure_set_clear(&set);
    tp_incidents_clear(&made.incidents);
    tp_monitor_clear(&made.monitor);
    tp_pairs_clear(&made.pairs);
    valued_clear(&made.run);
}

Test(figure, table_has_all_categories_and_no_id_twice)
{
    static const char *const categories[] = {
        "distributions",         "heatmaps",
        "comparisons",           "statistics",
        "layer_analysis",        "attention_analysis",
        "quantization_analysis", "fp8_analysis",
        "overflow_analysis",     "bf16_analysis",
        "rank_analysis",         "backward_analysis"};
    bool found[12] = {false};
    for (size_t i = 0; tp_figure_table[i].id; i++) {
        const struct tp_figure_info *row = &tp_figure_table[i];
        cr_expect(row->caption[0] && row->needs[0] && row->build);
        for (size_t c = 0; c < 12; c++)
            found[c] |= strcmp(row->category, categories[c]) == 0;
        for (size_t k = 0; k < i; k++)
            cr_expect(strcmp(row->id, tp_figure_table[k].id) != 0, "%s",
                      row->id);
    }
    for (size_t c = 0; c < 12; c++)
        cr_expect(found[c], "no figure in %s", categories[c]);
}

Test(figure, an_empty_run_draws_nothing_and_says_why)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    build(&run, &set);
    cr_assert(set.count > 12);
    for (size_t i = 0; i < set.count; i++) {
        cr_expect_eq(set.figures[i].panel_count, 0);
        cr_expect_eq(strncmp(set.figures[i].empty_reason, "needs ", 6), 0);
    }
    tp_figure_set_clear(&set);
}

/* --- odd runs --------------------------------------------------------- */

Test(figure, a_run_without_any_label)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    struct valued_place nowhere = {"", "", "", "", "", -1, -1, -1, -1};
    struct tp_row *row = valued_add(&run, &nowhere);
    row->batch_size = -1;
    row->target = tp_number_by_id("bf16");
    valued_set_normal(&run, row, 1);
    build(&run, &set);
    cr_expect(find_figure(&set, "density_by_quant_type")->panel_count > 0);
    cr_expect_eq(find_figure(&set, "statistics_by_rank")->panel_count, 0);
    cr_expect_eq(find_figure(&set, "amax_by_layer_iteration")->panel_count, 0);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, constants_nan_and_extremes)
{
    static const double columns[][4] = {
        {0, 0, 0, 0},          {NAN, NAN, NAN, NAN},       {7, 7, 7, 7},
        {1e300, -1e300, 0, 1}, {1e-45, -1e-45, 1e-310, 3}, {NAN, 1, 2, -0.0}};
    struct tp_run run = {0};
    struct tp_figure_set set;
    for (int at = 0; at < 6 * 2 * 4; at++) {
        struct valued_place where = {at % 2 ? "hifp8" : "bf16",
                                     "linear",
                                     at % 4 < 2 ? "forward" : "backward",
                                     "pre",
                                     "input",
                                     at % 6,
                                     at % 4,
                                     0,
                                     at / 12};
        struct tp_row *row = valued_add(&run, &where);
        valued_set(&run, row, columns[at % 6], 4);
    }
    build(&run, &set);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, a_thousand_layers_and_64_ranks_stay_within_limits)
{
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 1000, 1, 2, -1);
    build(&run, &set);
    const struct tp_figure *heat = find_figure(&set, "amax_by_layer_iteration");
    cr_assert(heat->panel_count > 0);
    cr_expect_not_null(strstr(heat->panels[0].title, "a cell is"));
    tp_figure_set_clear(&set);
    valued_clear(&run);
    valued_make(&run, 2, 64, 2, -1);
    build(&run, &set);
    cr_expect(find_figure(&set, "rank_layer_deviation")->panel_count > 0);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* --- what the numbers are --------------------------------------------- */

/* The first series of that name in a panel, or NULL. */
static const struct tp_panel_series *find_series(const struct tp_panel *panel,
                                                 const char *name)
{
    for (size_t s = 0; s < panel->series_count; s++) {
        if (strcmp(panel->series[s].name, name) == 0)
            return &panel->series[s];
    }
    return NULL;
}

Test(figure, density_is_a_density)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    struct valued_place where = {"bf16", "linear", "forward", "pre", "input",
                                 0,      0,        0,         0};
    enum { MANY = 20000 };
    double *values = malloc(MANY * sizeof *values);
    for (int i = 0; i < MANY; i++) {
        double p = (i + 0.5) / MANY;
        values[i] = log(p / (1 - p)); /* logistic: pdf known below */
    }
    valued_set(&run, valued_add(&run, &where), values, MANY);
    free(values);
    build(&run, &set);
    const struct tp_figure *figure = find_figure(&set, "density_by_quant_type");
    const struct tp_panel_series *linear = &figure->panels[1].series[0];
    double area = 0, width = linear->values[2] - linear->values[0];
    for (size_t i = 0; i < linear->rows; i++) {
        double x = linear->values[2 * i], y = linear->values[2 * i + 1];
        double pdf = exp(-x) / ((1 + exp(-x)) * (1 + exp(-x)));
        area += y * width;
        /* bins of an eighth of a binade are wide out there */
        cr_expect(fabs(y - pdf) < 0.03, "at %g: %g, not %g", x, y, pdf);
    }
    cr_expect(fabs(area - 1) < 0.002, "area %g", area);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, heat_map_holds_the_largest_magnitude)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    const double a[] = {1, -3}, b[] = {2, -7}, c[] = {0.5, 0.25};
    struct valued_place where = {"bf16", "linear", "forward", "pre", "input",
                                 4,      0,        0,         10};
    valued_set(&run, valued_add(&run, &where), a, 2);
    where.rank = 1;
    valued_set(&run, valued_add(&run, &where), b, 2);
    where.layer = 9;
    where.iteration = 11;
    valued_set(&run, valued_add(&run, &where), c, 2);
    build(&run, &set);
    const struct tp_panel *panel =
        &find_figure(&set, "amax_by_layer_iteration")->panels[0];
    cr_assert_eq(panel->series[0].rows, 2); /* the other cells have no data */
    const double wanted[] = {0, 0, 7, 1, 1, 0.5};
    for (int i = 0; i < 6; i++)
        cr_expect_eq(panel->series[0].values[i], wanted[i], "value %d", i);
    cr_expect_str_eq(panel->x.tics[1].text, "11");
    cr_expect_str_eq(panel->y.tics[1].text, "9");
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* Colours can be compared: within a pass for amax, as its caption says. */
Test(figure, heat_maps_share_their_colours)
{
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 3, 2, 2, 1);
    for (size_t r = 0; r < run.row_count; r++)
        run.rows[r].target = tp_number_by_id("hif8");
    build(&run, &set);
    const struct tp_figure *figure =
        find_figure(&set, "amax_by_layer_iteration");
    cr_assert_eq(figure->panel_count, 6);
    for (size_t p = 0; p < 6; p++) {
        const struct tp_axis *z = &figure->panels[p].z;
        const struct tp_axis *first = &figure->panels[p / 3 * 3].z;
        const struct tp_panel_series *cells = figure->panels[p].series;
        cr_expect(z->limited);
        cr_expect_eq(z->min, first->min);
        cr_expect_eq(z->max, first->max);
        for (size_t i = 0; i < cells->rows; i++)
            cr_expect(cells->values[3 * i + 2] >= z->min &&
                      cells->values[3 * i + 2] <= z->max);
    }
    cr_expect(figure->panels[0].z.max > figure->panels[3].z.max);
    figure = find_figure(&set, "std_by_layer_tensor_name");
    cr_assert_eq(figure->panel_count, 3);
    cr_expect_eq(figure->panels[0].z.max, figure->panels[2].z.max);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, same_tensor_pairs_across_quant_types)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    const double base[] = {1, -1, 2, -2}, twice[] = {2, -2, 4, -4};
    for (int i = 0; i < 6; i++) {
        struct valued_place where = {
            "bf16", "linear", "forward", "pre", "input", i, 0, 0, 0};
        valued_set(&run, valued_add(&run, &where), base, 4);
        where.quant = "mxfp8";
        where.sample = -1; /* this run does not know its samples */
        valued_set(&run, valued_add(&run, &where), twice, 4);
    }
    struct valued_place alone = {"mxfp8", "linear", "forward", "pre", "input",
                                 99,      0,        0,         0};
    valued_set_normal(&run, valued_add(&run, &alone), 1000);
    build(&run, &set);
    const struct tp_figure *figure = find_figure(&set, "same_tensor_ratio");
    const struct tp_panel_series *series =
        find_series(&figure->panels[0], "mxfp8");
    cr_assert_not_null(series);
    cr_expect_null(find_series(&figure->panels[0], "bf16"));
    for (int column = 1; column <= 7; column++)
        cr_expect_eq(series->values[column], 2);
    cr_expect_eq(series->values[8], 6); /* the tensor alone has no part */
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, regimes_of_a_format)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    /* of e4m3: zero, underflow, subnormal, normal, overflow */
    const double values[] = {0, 0x1p-12, 0x1p-8, 1, 1000};
    struct valued_place where = {"bf16", "linear", "forward", "pre", "input",
                                 0,      0,        0,         0};
    valued_set(&run, valued_add(&run, &where), values, 5);
    build(&run, &set);
    const struct tp_figure *figure = find_figure(&set, "regimes_by_format");
    bool seen = false;
    for (size_t p = 0; p < figure->panel_count; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        if (strcmp(panel->title, "e4m3") != 0)
            continue;
        seen = true;
        cr_assert_eq(panel->series_count, 5);
        for (int g = 0; g < 5; g++) {
            const double *row = panel->series[g].values;
            cr_expect(fabs(row[2] - row[1] - 0.2) < 1e-12, "%s: %g",
                      panel->series[g].name, row[2] - row[1]);
        }
    }
    cr_expect(seen);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* Of eight elements: a zero, an underflow, an overflow, an infinity, two
 * NaN. */
Test(figure, measured_loss_tells_of_nan)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    struct tp_summary *summary = calloc(1, sizeof *summary);
    const double finite[] = {0, 0x1p-30, 70000, 1, 2};
    struct valued_place where = {"hifp8", "linear", "forward", "pre", "input",
                                 0,       0,        0,         0};
    cr_assert_not_null(summary);
    valued_summarise(finite, 5, summary);
    summary->counts.numel = summary->counts.values = 8;
    summary->counts.judged = 8;
    summary->counts.nan = 2;
    summary->counts.pos_inf = 1;
    summary->counts.upper_overflow = 2;
    summary->counts.lower_overflow = 0;
    summary->counts.underflow = 1;
    summary->counts.subnormal = 1;
    struct tp_row *row = valued_add(&run, &where);
    row->target = tp_number_by_id("hif8");
    set_summary(&run, row, summary);
    build(&run, &set);
    const struct tp_panel *panel =
        &find_figure(&set, "measured_loss")->panels[0];
    static const double wanted[] = {1, 1, 0, 2, 2, 2};
    cr_assert_eq(panel->series_count, 6);
    for (int g = 0; g < 6; g++) {
        const double *bar = panel->series[g].values;
        cr_expect(fabs(8 * (bar[2] - bar[1]) - wanted[g]) < 1e-12, "%s: %g",
                  panel->series[g].name, 8 * (bar[2] - bar[1]));
    }
    cr_expect_str_eq(panel->series[5].name, "NaN");
    cr_expect(fabs(panel->series[5].values[2] - 1) < 1e-12);
    tp_figure_set_clear(&set);
    valued_clear(&run);
    free(summary);
}

Test(figure, headroom_in_binades)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    const double values[] = {8, -1};
    struct valued_place where = {"hifp8", "linear", "forward", "pre", "input",
                                 0,       0,        0,         0};
    valued_set(&run, valued_add(&run, &where), values, 2);
    build(&run, &set);
    const struct tp_panel *panel = &find_figure(&set, "headroom")->panels[0];
    cr_expect_eq(panel->series[0].values[4], 12); /* 2^15 / 2^3 */
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, backward_files_hold_gradients)
{
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 2, 1, 2, -1);
    build(&run, &set);
    const struct tp_panel *panel =
        &find_figure(&set, "backward_by_layer_type")->panels[0];
    cr_expect_not_null(find_series(panel, "grad_output"));
    cr_expect_not_null(find_series(panel, "grad_input"));
    cr_expect_null(find_series(panel, "input"));
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* In a row of each panel both passes, beside each other. */
Test(figure, forward_lies_beside_backward)
{
    static const char *const titles[] = {"mean", "std", "min", "max"};
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 2, 1, 2, -1);
    build(&run, &set);
    const struct tp_figure *figure =
        find_figure(&set, "forward_backward_statistics");
    cr_assert_eq(figure->panel_count, 4);
    for (size_t p = 0; p < 4; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        const struct tp_panel_series *back = find_series(panel, "backward");
        const struct tp_panel_series *forth = find_series(panel, "forward");
        cr_assert(back && forth);
        cr_expect_str_eq(panel->title, titles[p]);
        cr_assert_eq(back->rows, 1); /* of linear; attention has none */
        cr_assert_eq(forth->rows, 2);
        cr_expect_eq(round(back->values[0]), round(forth->values[9]));
        cr_expect_lt(back->values[0], forth->values[9]);
        cr_expect_eq(back->values[8], 3 * 2 * 2 * 2); /* tensors */
    }
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

Test(figure, the_loud_rank_is_named)
{
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 2, 8, 3, 5);
    build(&run, &set);
    const struct tp_figure *figure = find_figure(&set, "statistics_by_rank");
    const struct tp_panel_series *outlier =
        find_series(&figure->panels[1], "outlier");
    cr_assert_not_null(outlier);
    cr_expect_eq(outlier->rows, 1);
    cr_expect_eq(outlier->values[0], 5);
    figure = find_figure(&set, "rank_layer_deviation");
    cr_expect_not_null(strstr(figure->panels[0].title, "outlier rank 5"), "%s",
                       figure->panels[0].title);
    cr_expect_not_null(strstr(figure->panels[0].title, "(+3)"));
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* Each rank holds another part of the model under the same names. */
Test(figure, parts_of_a_model_are_not_compared)
{
    static const char *const figures[] = {"statistics_by_rank",
                                          "rank_layer_deviation",
                                          "rank_iteration_deviation"};
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 2, 2, 3, 1);
    for (size_t r = 0; r < run.row_count; r++)
        run.rows[r].label.part = run.rows[r].label.rank;
    build(&run, &set);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        cr_expect_eq(find_figure(&set, figures[i])->panel_count, 0);
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* Rank 1 is eight times rank 0: three binades, not one and a half. */
Test(figure, of_two_ranks_one_is_compared_with_the_other)
{
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 2, 2, 3, 1);
    build(&run, &set);
    const struct tp_figure *figure =
        find_figure(&set, "rank_iteration_deviation");
    cr_assert_eq(figure->panel_count, 4);
    for (size_t p = 0; p < 4; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        cr_expect_not_null(strstr(panel->title, "rank 1 against rank 0"));
        cr_assert_eq(panel->series_count, 1);
        cr_assert_eq(panel->series[0].rows, 3);
        if (strncmp(panel->title, "mean", 4) == 0)
            continue;
        for (int i = 0; i < 3; i++) {
            cr_expect_eq(panel->series[0].values[2 * i], i);
            cr_expect(fabs(panel->series[0].values[2 * i + 1] - 3) < 1e-9);
        }
    }
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* One loud tensor among many shows beside its rank's quartiles. */
Test(figure, extremes_show_by_rank)
{
    struct tp_run run;
    struct tp_figure_set set;
    valued_make(&run, 2, 2, 3, -1);
    struct tp_row *row = &run.rows[run.row_count / 2];
    const double values[] = {1, -0x1p60};
    int64_t rank = row->label.rank;
    valued_set(&run, row, values, 2);
    build(&run, &set);
    const struct tp_figure *figure = find_figure(&set, "statistics_by_rank");
    const struct tp_panel_series *amax = figure->panels[2].series;
    cr_assert_eq(amax->rows, 2);
    for (int i = 0; i < 2; i++) {
        const double *box = &amax->values[6 * i];
        for (int q = 2; q <= 5; q++)
            cr_expect(box[q] >= box[q - 1]);
        cr_expect_eq(box[5] == 0x1p60, box[0] == (double)rank);
    }
    tp_figure_set_clear(&set);
    valued_clear(&run);
}

/* --- any number of jobs ----------------------------------------------- */

static void expect_same(const struct tp_figure *a, const struct tp_figure *b)
{
    cr_assert_eq(a->panel_count, b->panel_count);
    for (size_t p = 0; p < a->panel_count; p++) {
        const struct tp_panel *x = &a->panels[p], *y = &b->panels[p];
        cr_assert_eq(x->series_count, y->series_count);
        cr_expect_str_eq(x->title, y->title);
        for (size_t s = 0; s < x->series_count; s++) {
            size_t bytes = x->series[s].rows * tp_panel_info(x->kind)->columns *
                           sizeof(double);
            cr_assert_eq(x->series[s].rows, y->series[s].rows);
            cr_expect_eq(
                memcmp(x->series[s].values, y->series[s].values, bytes), 0,
                "%s", a->id);
        }
    }
}

Test(figure, the_number_of_jobs_changes_nothing)
{
    struct tp_run run;
    struct tp_pool *pool;
    struct tp_figure_set alone, together;
    struct tp_error err = {0};
    valued_make(&run, 3, 2, 4, 1);
    build(&run, &alone);
    cr_assert_eq(tp_pool_new(4, &pool, &err), TP_OK);
    build_pooled(&run, pool, &together);
    for (size_t i = 0; i < alone.count; i++)
        expect_same(&alone.figures[i], &together.figures[i]);
    tp_pool_free(pool);
    tp_figure_set_clear(&alone);
    tp_figure_set_clear(&together);
    valued_clear(&run);
}

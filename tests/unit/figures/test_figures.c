/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>

#include "figures/figures.h"
#include "scan/dim_rank.h"
#include "tests/unit/support/stages.h"

/* --- runs to build figures from --------------------------------------- */

enum { VALUES = 64 };

/* The summary of a few values, counted here value by value. */
static void summarise(const double *values, size_t n,
                      struct tp_summary *summary)
{
    struct tp_moments *m = &summary->moments;
    memset(summary, 0, sizeof *summary);
    summary->counts.numel = summary->counts.values = n;
    summary->counts.judged = n;
    for (size_t i = 0; i < n; i++) {
        double x = values[i];
        if (isnan(x)) {
            summary->counts.nan++;
            continue;
        }
        summary->counts.zero += x == 0;
        summary->counts.negative += x < 0;
        summary->counts.upper_overflow += x > 448;
        summary->counts.lower_overflow += x < -448;
        summary->counts.underflow += x != 0 && fabs(x) < 0x1p-10;
        summary->counts.subnormal += x != 0 && fabs(x) < 0x1p-6;
        if (x != 0)
            summary->bins[tp_summary_bin(x)]++;
        if (m->n == 0 || x < summary->extrema.min)
            summary->extrema.min = x;
        if (m->n == 0 || x > summary->extrema.max)
            summary->extrema.max = x;
        if (x != 0 && (summary->extrema.abs_min_nonzero == 0 ||
                       fabs(x) < summary->extrema.abs_min_nonzero))
            summary->extrema.abs_min_nonzero = fabs(x);
        m->n++;
        m->mean += x;
        m->sum_abs += fabs(x);
        m->sum_squares += x * x;
    }
    m->mean = m->n ? m->mean / (double)m->n : 0;
    for (size_t i = 0; i < n; i++) {
        double d = isnan(values[i]) ? 0 : values[i] - m->mean;
        m->m2 += d * d;
        m->m3 += d * d * d;
        m->m4 += d * d * d * d;
    }
}

static void set_values(struct tp_run *run, struct tp_row *row,
                       const double *values, size_t n)
{
    struct tp_summary *summary = malloc(sizeof *summary);
    cr_assert_not_null(summary);
    summarise(values, n, summary);
    set_summary(run, row, summary);
    free(summary);
}

/* Normal quantiles times `scale`, shifted a little: the same every time. */
static void set_normal(struct tp_run *run, struct tp_row *row, double scale)
{
    double values[VALUES];
    for (int i = 0; i < VALUES; i++) {
        /* the logistic approximation of the normal quantile is enough */
        double p = (i + 0.5) / VALUES;
        values[i] = scale * (log(p / (1 - p)) / 1.702 + 0.01);
    }
    set_values(run, row, values, VALUES);
}

struct where {
    const char *quant, *type, *pass, *phase, *name;
    int64_t layer, rank, sample, iteration;
};

static struct tp_row *add_at(struct tp_run *run, const struct where *where)
{
    struct tp_row *row = add_row(run, "file.pt");
    row->label.quant_type = where->quant;
    row->label.layer_type = where->type;
    row->label.operation = where->pass;
    row->label.phase = where->phase;
    row->label.tensor_name = where->name;
    row->label.layer_idx = where->layer;
    row->label.rank = where->rank;
    row->label.sample_idx = where->sample;
    row->label.iteration = where->iteration;
    tp_label_classify(&row->label);
    row->batch_size = 1 + where->iteration % 2;
    row->target_max = 32768;
    return row;
}

static const struct {
    const char *type, *pass, *phase, *name;
} tensors[] = {
    {"attention", "forward", "pre", "query"},
    {"attention", "forward", "pre", "key"},
    {"attention", "forward", "pre", "value"},
    {"attention", "forward", "post", "attention_weights"},
    {"attention", "forward", "post", "output"},
    {"linear", "forward", "pre", "input"},
    {"linear", "forward", "pre", "weight"},
    {"linear", "backward", "pre", "input"},
    {"linear", "backward", "post", "output"},
};
enum { TENSORS = sizeof tensors / sizeof *tensors };

/* What a run of `layers` by `ranks` by `iterations` saves, in three quant
 * types; rank `loud` is eight times as loud as the others. */
static void make_run(struct tp_run *run, int layers, int ranks, int iterations,
                     int loud)
{
    static const char *const quants[] = {"bf16", "hifp8", "mxfp8"};
    static const char *const formats[] = {"bf16", "hif8", "mxfp8_e4m3"};
    *run = (struct tp_run){0};
    for (int q = 0; q < 3; q++) {
        for (int at = 0; at < layers * ranks * iterations * TENSORS; at++) {
            int t = at % TENSORS, rest = at / TENSORS;
            int layer = rest % layers, rank = rest / layers % ranks;
            int iteration = rest / layers / ranks;
            struct where where = {quants[q],
                                  tensors[t].type,
                                  tensors[t].pass,
                                  tensors[t].phase,
                                  tensors[t].name,
                                  layer,
                                  rank,
                                  iteration % 3,
                                  iteration};
            struct tp_row *row = add_at(run, &where);
            row->target = tp_number_by_id(formats[q]);
            if (q == 2)
                row->target_max = NAN;
            set_normal(run, row,
                       exp2(q - t) * (1 + layer) * (rank == loud ? 8 : 1));
        }
    }
}

/* From iteration 10 on, what rank 1 computes from layer 2's linear input on
 * is a million times too large; the axes of one tensor differ, too. */
static void break_run(struct stages *made)
{
    struct tp_run *run = &made->run;
    static const struct tp_dim_index worst[] = {
        {.index = 3, .count = 8, .min = -900, .max = 100},
        {.index = 0, .count = 8, .min = -1, .max = 0.5}};
    static struct tp_dim_axis axis = {.axis = 1,
                                      .risk = TP_DIM_HIGH,
                                      .length = 16,
                                      .ratio = 900,
                                      .median = 1,
                                      .outliers = 1,
                                      .worst = worst,
                                      .kept = 2};
    static const struct tp_dims dims = {&axis, 1};
    const struct tp_baseline_options how = {
        .warmup_steps = 100, .alert_window = 50, .sigma = 3};
    for (size_t i = 0; i < run->row_count; i++) {
        struct tp_row *row = &run->rows[i];
        bool bad = row->label.rank == 1 && row->label.layer_idx == 2 &&
                   row->label.iteration >= 10 &&
                   strcmp(row->label.layer_type, "linear") == 0;
        if (bad)
            set_normal(run, row, 0x1p20);
    }
    run->rows[0].dims = &dims;
    stages_watch(made, &how);
    stages_pair(made);
    for (size_t i = 0; i < made->pairs.count; i++)
        made->pairs.rows[i].numbers.one_minus_r = 0.1;
    made->pairs.measured = made->pairs.count;
    made->pairs.scatters = calloc(1, sizeof *made->pairs.scatters);
    cr_assert_not_null(made->pairs.scatters);
    made->pairs.scatters[0].axis = tp_pair_axis_of(-1, 1, 1);
    made->pairs.scatters[0].cells[0] = 1;
    made->pairs.scatter_count = 1;
}

static void clear_run(struct tp_run *run)
{
    free(run->rows);
    tp_arena_clear(&run->arena);
}

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
    make_run(&made.run, 3, 3, 14, -1);
    break_run(&made);
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
    clear_run(&made.run);
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
    struct where nowhere = {"", "", "", "", "", -1, -1, -1, -1};
    struct tp_row *row = add_at(&run, &nowhere);
    row->batch_size = -1;
    row->target = tp_number_by_id("bf16");
    set_normal(&run, row, 1);
    build(&run, &set);
    cr_expect(find_figure(&set, "density_by_quant_type")->panel_count > 0);
    cr_expect_eq(find_figure(&set, "statistics_by_rank")->panel_count, 0);
    cr_expect_eq(find_figure(&set, "amax_by_layer_iteration")->panel_count, 0);
    tp_figure_set_clear(&set);
    clear_run(&run);
}

Test(figure, constants_nan_and_extremes)
{
    static const double columns[][4] = {
        {0, 0, 0, 0},          {NAN, NAN, NAN, NAN},       {7, 7, 7, 7},
        {1e300, -1e300, 0, 1}, {1e-45, -1e-45, 1e-310, 3}, {NAN, 1, 2, -0.0}};
    struct tp_run run = {0};
    struct tp_figure_set set;
    for (int at = 0; at < 6 * 2 * 4; at++) {
        struct where where = {at % 2 ? "hifp8" : "bf16",
                              "linear",
                              at % 4 < 2 ? "forward" : "backward",
                              "pre",
                              "input",
                              at % 6,
                              at % 4,
                              0,
                              at / 12};
        struct tp_row *row = add_at(&run, &where);
        set_values(&run, row, columns[at % 6], 4);
    }
    build(&run, &set);
    tp_figure_set_clear(&set);
    clear_run(&run);
}

Test(figure, a_thousand_layers_and_64_ranks_stay_within_limits)
{
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 1000, 1, 2, -1);
    build(&run, &set);
    const struct tp_figure *heat = find_figure(&set, "amax_by_layer_iteration");
    cr_assert(heat->panel_count > 0);
    cr_expect_not_null(strstr(heat->panels[0].title, "a cell is"));
    tp_figure_set_clear(&set);
    clear_run(&run);
    make_run(&run, 2, 64, 2, -1);
    build(&run, &set);
    cr_expect(find_figure(&set, "rank_layer_deviation")->panel_count > 0);
    tp_figure_set_clear(&set);
    clear_run(&run);
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
    struct where where = {"bf16", "linear", "forward", "pre", "input",
                          0,      0,        0,         0};
    enum { MANY = 20000 };
    double *values = malloc(MANY * sizeof *values);
    for (int i = 0; i < MANY; i++) {
        double p = (i + 0.5) / MANY;
        values[i] = log(p / (1 - p)); /* logistic: pdf known below */
    }
    set_values(&run, add_at(&run, &where), values, MANY);
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
    clear_run(&run);
}

Test(figure, heat_map_holds_the_largest_magnitude)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    const double a[] = {1, -3}, b[] = {2, -7}, c[] = {0.5, 0.25};
    struct where where = {"bf16", "linear", "forward", "pre", "input",
                          4,      0,        0,         10};
    set_values(&run, add_at(&run, &where), a, 2);
    where.rank = 1;
    set_values(&run, add_at(&run, &where), b, 2);
    where.layer = 9;
    where.iteration = 11;
    set_values(&run, add_at(&run, &where), c, 2);
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
    clear_run(&run);
}

/* Colours can be compared: within a pass for amax, as its caption says. */
Test(figure, heat_maps_share_their_colours)
{
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 3, 2, 2, 1);
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
    clear_run(&run);
}

Test(figure, same_tensor_pairs_across_quant_types)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    const double base[] = {1, -1, 2, -2}, twice[] = {2, -2, 4, -4};
    for (int i = 0; i < 6; i++) {
        struct where where = {"bf16", "linear", "forward", "pre", "input",
                              i,      0,        0,         0};
        set_values(&run, add_at(&run, &where), base, 4);
        where.quant = "mxfp8";
        where.sample = -1; /* this run does not know its samples */
        set_values(&run, add_at(&run, &where), twice, 4);
    }
    struct where alone = {"mxfp8", "linear", "forward", "pre", "input",
                          99,      0,        0,         0};
    set_normal(&run, add_at(&run, &alone), 1000);
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
    clear_run(&run);
}

Test(figure, regimes_of_a_format)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    /* of e4m3: zero, underflow, subnormal, normal, overflow */
    const double values[] = {0, 0x1p-12, 0x1p-8, 1, 1000};
    struct where where = {"bf16", "linear", "forward", "pre", "input",
                          0,      0,        0,         0};
    set_values(&run, add_at(&run, &where), values, 5);
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
    clear_run(&run);
}

/* Of eight elements: a zero, an underflow, an overflow, an infinity, two
 * NaN. */
Test(figure, measured_loss_tells_of_nan)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    struct tp_summary *summary = calloc(1, sizeof *summary);
    const double finite[] = {0, 0x1p-30, 70000, 1, 2};
    struct where where = {"hifp8", "linear", "forward", "pre", "input",
                          0,       0,        0,         0};
    cr_assert_not_null(summary);
    summarise(finite, 5, summary);
    summary->counts.numel = summary->counts.values = 8;
    summary->counts.judged = 8;
    summary->counts.nan = 2;
    summary->counts.pos_inf = 1;
    summary->counts.upper_overflow = 2;
    summary->counts.lower_overflow = 0;
    summary->counts.underflow = 1;
    summary->counts.subnormal = 1;
    struct tp_row *row = add_at(&run, &where);
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
    clear_run(&run);
    free(summary);
}

Test(figure, headroom_in_binades)
{
    struct tp_run run = {0};
    struct tp_figure_set set;
    const double values[] = {8, -1};
    struct where where = {"hifp8", "linear", "forward", "pre", "input",
                          0,       0,        0,         0};
    set_values(&run, add_at(&run, &where), values, 2);
    build(&run, &set);
    const struct tp_panel *panel = &find_figure(&set, "headroom")->panels[0];
    cr_expect_eq(panel->series[0].values[4], 12); /* 2^15 / 2^3 */
    tp_figure_set_clear(&set);
    clear_run(&run);
}

Test(figure, backward_files_hold_gradients)
{
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 2, 1, 2, -1);
    build(&run, &set);
    const struct tp_panel *panel =
        &find_figure(&set, "backward_by_layer_type")->panels[0];
    cr_expect_not_null(find_series(panel, "grad_output"));
    cr_expect_not_null(find_series(panel, "grad_input"));
    cr_expect_null(find_series(panel, "input"));
    tp_figure_set_clear(&set);
    clear_run(&run);
}

/* In a row of each panel both passes, beside each other. */
Test(figure, forward_lies_beside_backward)
{
    static const char *const titles[] = {"mean", "std", "min", "max"};
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 2, 1, 2, -1);
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
    clear_run(&run);
}

Test(figure, the_loud_rank_is_named)
{
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 2, 8, 3, 5);
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
    clear_run(&run);
}

/* Rank 1 is eight times rank 0: three binades, not one and a half. */
Test(figure, of_two_ranks_one_is_compared_with_the_other)
{
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 2, 2, 3, 1);
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
    clear_run(&run);
}

/* One loud tensor among many shows beside its rank's quartiles. */
Test(figure, extremes_show_by_rank)
{
    struct tp_run run;
    struct tp_figure_set set;
    make_run(&run, 2, 2, 3, -1);
    struct tp_row *row = &run.rows[run.row_count / 2];
    const double values[] = {1, -0x1p60};
    int64_t rank = row->label.rank;
    set_values(&run, row, values, 2);
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
    clear_run(&run);
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
    make_run(&run, 3, 2, 4, 1);
    build(&run, &alone);
    cr_assert_eq(tp_pool_new(4, &pool, &err), TP_OK);
    build_pooled(&run, pool, &together);
    for (size_t i = 0; i < alone.count; i++)
        expect_same(&alone.figures[i], &together.figures[i]);
    tp_pool_free(pool);
    tp_figure_set_clear(&alone);
    tp_figure_set_clear(&together);
    clear_run(&run);
}

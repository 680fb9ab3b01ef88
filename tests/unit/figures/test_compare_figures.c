/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include "figures/compare_figures.h"

#include <math.h>

#include "tests/unit/support/testdata.h"

struct made {
    struct tp_pool *pool;
    struct tp_comparison comparison;
    struct tp_compare_calls calls;
    struct tp_figure_set set;
    struct tp_error err;
};

static void make(struct made *made, const char *a, const char *b,
                 enum tp_compare_mode mode)
{
    *made = (struct made){0};
    cr_assert_eq(tp_pool_new(2, &made->pool, &made->err), TP_OK);
    const struct tp_compare_options options = {
        .a = a, .b = b, .mode = mode, .read = {.pool = made->pool}};
    cr_assert_eq(tp_compare(&options, &made->comparison, &made->err), TP_OK,
                 "%s", made->err.message);
    cr_assert_eq(
        tp_compare_calls_make(&made->comparison, &made->calls, &made->err),
        TP_OK);
    const struct tp_compare_figure_input input = {&made->comparison,
                                                  &made->calls};
    cr_assert_eq(tp_compare_figures_build(&input, &made->set, &made->err),
                 TP_OK);
    for (size_t i = 0; i < made->set.count; i++)
        cr_expect_eq(tp_figure_check(&made->set.figures[i], &made->err), TP_OK,
                     "%s", made->err.message);
}

static void clear(struct made *made)
{
    tp_figure_set_clear(&made->set);
    tp_compare_calls_clear(&made->calls);
    tp_comparison_clear(&made->comparison);
    tp_pool_free(made->pool);
}

static const struct tp_figure *figure_of(const struct made *made,
                                         const char *id)
{
    for (size_t i = 0; i < made->set.count; i++)
        if (!strcmp(made->set.figures[i].id, id))
            return &made->set.figures[i];
    cr_assert(false, "no figure %s", id);
    return NULL;
}

static void testdata_pair(struct made *made, const char *a, const char *b,
                          enum tp_compare_mode mode)
{
    char paths[2][4096];
    testdata_path(a, paths[0], sizeof paths[0]);
    testdata_path(b, paths[1], sizeof paths[1]);
    make(made, paths[0], paths[1], mode);
}

/* --- made dumps of statistics --------------------------------------------- */

static void put_tensor(FILE *out, double norm)
{
    fprintf(out,
            "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", "
            "\"shape\": [4], \"Max\": %.17g, \"Min\": 0, \"Mean\": 0, "
            "\"Norm\": %.17g, \"md5\": \"%08x\", \"requires_grad\": false}",
            norm, norm, (unsigned)(norm * 1e6));
}

/* A dump.json in the making. */
struct json {
    char *text;
    size_t length;
    FILE *out;
};

static FILE *begin_dump(struct json *json)
{
    json->out = open_memstream(&json->text, &json->length);
    cr_assert_not_null(json->out);
    fprintf(json->out,
            "{\"task\": \"statistics\", \"level\": \"L0\", \"data\": {");
    return json->out;
}

static void end_dump(struct json *json, const struct maker *maker,
                     const char *name)
{
    fprintf(json->out, "}}");
    cr_assert_eq(fclose(json->out), 0);
    maker_put(maker, name, json->text);
    free(json->text);
}

static void put_call(FILE *out, bool first, const char *key, double norm)
{
    fprintf(out, "%s\"%s\": {\"input_args\": [", first ? "" : ", ", key);
    put_tensor(out, norm);
    fprintf(out, "], \"input_kwargs\": {}, \"output\": [");
    put_tensor(out, norm);
    fprintf(out, "]}");
}

enum { LAYERS = 40, BAD = 23 };

/* Layers of three modules; from layer BAD on off by `error`, more each layer,
 * and the up of layer 30 off by 1. */
static void put_layers(const struct maker *maker, const char *name,
                       double error)
{
    static const char *const modules[] = {"norm", "mlp.up", "mlp.down"};
    struct json json;
    FILE *out = begin_dump(&json);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int i = 0; i < 3; i++) {
            char key[128];
            double off = layer < BAD ? 0 : error * (1.5 + layer - BAD);
            if (error > 0 && layer == 30 && i == 1)
                off = 1;
            snprintf(key, sizeof key, "Module.layers.%d.%s.Linear.forward.0",
                     layer, modules[i]);
            put_call(out, layer + i == 0, key, 1 + off);
        }
    end_dump(&json, maker, name);
}

static void make_pair(const struct maker *maker, enum tp_compare_mode mode,
                      struct made *made)
{
    char a[512], b[512];
    maker_path(maker, "a", a, sizeof a);
    maker_path(maker, "b", b, sizeof b);
    make(made, a, b, mode);
}

/* The value of a cell; NaN: it is grey. */
static double cell_of(const struct tp_panel *panel, size_t row, int column)
{
    const struct tp_panel_series *series = panel->series;
    for (size_t i = 0; i < series->rows; i++)
        if (series->values[3 * i] == column &&
            series->values[3 * i + 1] == (double)row)
            return series->values[3 * i + 2];
    return NAN;
}

/* --- module tree ---------------------------------------------------------- */

Test(compare_figures, equal_layers_are_one_row_that_shows_the_worst_of_them)
{
    const struct maker maker = maker_begin();
    struct made made;
    put_layers(&maker, "a/dump.json", 1e-3);
    put_layers(&maker, "b/dump.json", 0);
    make_pair(&maker, TP_COMPARE_STATISTICS, &made);
    const struct tp_figure *figure = figure_of(&made, "module_tree");
    cr_assert_eq(figure->panel_count, 1);
    const struct tp_panel *panel = figure->panels;
    static const char *const names[] = {"layers",
                                        "0 to 22 (23 alike)",
                                        "norm",
                                        "mlp",
                                        "up",
                                        "down",
                                        "23 to 29 (7 alike)",
                                        "norm",
                                        "mlp",
                                        "up",
                                        "down",
                                        "30"};
    cr_expect(panel->y.tree);
    cr_assert_gt(panel->y.tic_count, 12);
    cr_assert_leq(panel->y.tic_count, 28);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = panel->y.tics[i].text;
        cr_expect_str_eq(text + strspn(text, " "), names[i], "%zu", i);
    }
    cr_expect_float_eq(cell_of(panel, 0, 1), 1, 1e-6);
    cr_expect_eq(cell_of(panel, 1, 1), 0);
    cr_expect_eq(cell_of(panel, 4, 0), 0);
    cr_expect_float_eq(cell_of(panel, 6, 1), 7.5e-3, 1e-6);
    cr_expect_float_eq(cell_of(panel, 9, 0), 7.5e-3, 1e-6);
    cr_expect(isnan(cell_of(panel, 0, 2)), "nothing is backward");
    clear(&made);
    maker_end(&maker);
}

/* As many types as there is no place for: some are shown, all count. */
Test(compare_figures, branches_without_a_place_are_counted)
{
    const struct maker maker = maker_begin();
    struct made made;
    for (int side = 0; side < 2; side++) {
        struct json json;
        FILE *out = begin_dump(&json);
        for (int i = 0; i < 500; i++) {
            char key[64];
            snprintf(key, sizeof key, "Torch.op%03d.0.forward", i);
            put_call(out, i == 0, key, i == 321 && side == 0 ? 3 : 1);
        }
        end_dump(&json, &maker, side ? "b/dump.json" : "a/dump.json");
    }
    make_pair(&maker, TP_COMPARE_STATISTICS, &made);
    const struct tp_panel *panel = figure_of(&made, "module_tree")->panels;
    const size_t rows = panel->y.tic_count;
    bool found = false;
    cr_assert_geq(rows, 10);
    cr_assert_leq(rows, 28);
    for (size_t i = 0; i < rows; i++)
        if (strstr(panel->y.tics[i].text, "op321")) {
            found = true;
            cr_expect_float_eq(cell_of(panel, i, 1), 2, 1e-9);
        }
    cr_expect(found, "the one that differs is shown");
    char others[32];
    snprintf(others, sizeof others, "%zu others", 500 - (rows - 2));
    cr_expect_not_null(strstr(panel->y.tics[rows - 1].text, others), "%s",
                       panel->y.tics[rows - 1].text);
    clear(&made);
    maker_end(&maker);
}

Test(compare_figures, infinite_errors_are_on_the_scale)
{
    struct made made;
    testdata_pair(&made, "msprobe/step1", "msprobe/step0", TP_COMPARE_TENSOR);
    const struct tp_panel *panel = figure_of(&made, "module_tree")->panels;
    size_t infinite = 0;
    for (size_t i = 0; i < made.calls.count; i++)
        infinite += isinf(made.calls.rows[i].error_out);
    cr_assert_gt(infinite, 0, "the dump has some");
    cr_expect_not_null(strstr(panel->title, "infinite"));
    const struct tp_figure *bars = figure_of(&made, "error_by_module");
    cr_expect_not_null(strstr(bars->panels->title, "infinite"));
    clear(&made);
}

/* --- points --------------------------------------------------------------- */

Test(compare_figures, equal_runs_lie_on_the_line)
{
    struct made made;
    testdata_pair(&made, "msprobe/step0", "msprobe/step0", TP_COMPARE_TENSOR);
    const struct tp_figure *figure = figure_of(&made, "pairs_scatter");
    cr_assert_eq(figure->panel_count, 1, "nothing differs");
    const struct tp_panel *panel = figure->panels;
    cr_expect(panel->diagonal);
    cr_assert_eq(panel->series_count, 1);
    cr_expect_str_eq(panel->series->name, "equal");
    for (size_t i = 0; i < panel->series->rows; i++)
        cr_expect_eq(panel->series->values[2 * i],
                     panel->series->values[2 * i + 1]);
    cr_expect_eq(figure_of(&made, "error_gain")->panel_count, 0);
    clear(&made);
}

Test(compare_figures, many_pairs_are_thinned_and_no_verdict_is_lost)
{
    enum { PAIRS = 6000 };
    const struct maker maker = maker_begin();
    struct made made;
    for (int side = 0; side < 2; side++) {
        struct json json;
        FILE *out = begin_dump(&json);
        for (int i = 0; i < PAIRS; i++) {
            char key[64];
            const double size = pow(10, 8.0 * i / PAIRS - 4);
            const double off = side ? 0 : 1e-3 * ((i * 7919) % 1000);
            snprintf(key, sizeof key, "Torch.exp.%d.forward", i);
            put_call(out, i == 0, key, size * (1 + off));
        }
        fprintf(out, ", \"Torch.sin.0.forward\": {\"input_args\": [");
        put_tensor(out, 1);
        fprintf(out, "], \"input_kwargs\": {}, \"output\": [");
        put_tensor(out, side ? 1 : 2.5); /* > 50 % off: msprobe's error */
        fprintf(out, "]}");
        end_dump(&json, &maker, side ? "b/dump.json" : "a/dump.json");
    }
    make_pair(&maker, TP_COMPARE_STATISTICS, &made);
    const struct tp_figure *figure = figure_of(&made, "pairs_scatter");
    cr_assert_eq(figure->panel_count, 2);
    for (size_t p = 0; p < 2; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        const struct tp_panel_series *last =
            &panel->series[panel->series_count - 1];
        size_t rows = 0;
        for (size_t s = 0; s < panel->series_count; s++)
            rows += panel->series[s].rows;
        cr_expect_gt(rows, 100);
        cr_expect_leq(rows, TP_PANEL_ROWS_MAX);
        cr_assert_str_eq(last->name, "error");
        cr_expect_float_eq(last->values[0], 1, 1e-12);
        cr_expect_float_eq(last->values[1], p ? 1.5 : 2.5, 1e-12);
    }
    clear(&made);
    maker_end(&maker);
}

Test(compare_figures, checksums_have_a_tree_and_no_points)
{
    const struct maker maker = maker_begin();
    struct made made;
    put_layers(&maker, "a/dump.json", 1e-3);
    put_layers(&maker, "b/dump.json", 0);
    make_pair(&maker, TP_COMPARE_MD5, &made);
    const struct tp_panel *panel = figure_of(&made, "module_tree")->panels;
    cr_expect_eq(figure_of(&made, "pairs_scatter")->panel_count, 0);
    cr_expect_float_eq(cell_of(panel, 0, 0), 17.0 / 40, 1e-12);
    cr_expect_eq(cell_of(panel, 1, 0), 0);
    clear(&made);
    maker_end(&maker);
}

/* SPDX-License-Identifier: MIT */
/* The texts that gnuplot reads: tables and scripts. */
#include "report/plot_script.h"
#include "report/plot_table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/trace_colours.h"
#include "report/plot_quote.h"
#include "tests/unit/support/all_panels.h"
#include "tests/unit/support/cpu_limit.h"

Test(plot_script, table_of_a_tiny_figure)
{
    const double second[] = {1, NAN};
    const struct tp_panel_series series[] = {{"bf16", xy, 2, 0},
                                             {"hif\n8", second, 1, 0}};
    struct tp_panel panel = make_panel(TP_PANEL_LINES, "std", series, 2);
    struct tp_figure figure = make_figure("tiny", &panel, 1);
    struct tp_text out = {0};
    tp_plot_table(&figure, &out);
    cr_expect_str_eq(tp_text_get(&out), "# statistics/tiny\n"
                                        "# A caption\n"
                                        "# panel 1 (lines): std\n"
                                        "# series: bf16\n"
                                        "# x: x [1]\n"
                                        "# y: y [1]\n"
                                        "# value: z [1]\n"
                                        "# x\ty\n"
                                        "1\t0.5\n"
                                        "2\t0.25\n"
                                        "\n\n"
                                        "# panel 1 (lines): std\n"
                                        "# series: hif\\x0a8\n"
                                        "# x: x [1]\n"
                                        "# y: y [1]\n"
                                        "# value: z [1]\n"
                                        "# x\ty\n"
                                        "1\tNaN\n");
    tp_text_clear(&out);
}

Test(plot_script, script_says_what_it_draws)
{
    const struct tp_panel_series series[] = {{"bf16", xy, 3, 0},
                                             {"hif8", xy, 3, 0}};
    struct tp_panel panel = make_panel(TP_PANEL_LINES, "it's", series, 2);
    panel.y = (struct tp_axis){.label = "std [1]", .scale = TP_SCALE_LOG2};
    struct tp_figure figure = make_figure("tiny", &panel, 1);
    struct tp_text out = {0};
    tp_plot_script(&figure, "png", &out);
    static const char *const wanted[] = {
        "data = 'tiny.tsv'\n",
        "if (!exists('format')) format = 'png'\n",
        "if (!exists('output')) output = 'tiny.png'\n",
        "set multiplot title 'A caption'",
        "set title 'it\\x27s'",
        "set ylabel 'std [1]'\n",
        /* 0.5, 0.25 and a zero, drawn one binade below */
        "Y(v) = v > 0 ? log10(v) / log10(2) : v == 0 ? -3 : NaN\n",
        "set ytics ('2^-2' -2, '2^-1' -1, '0' -3)\n",
        "array name[2]\nname[1] = 'bf16'\nname[2] = 'hif8'\n",
        "\n# legend\n",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect_not_null(strstr(tp_text_get(&out), wanted[i]), "no \"%s\"",
                           wanted[i]);
    tp_text_clear(&out);
}


Test(plot_script, quoted_names_are_one_line_of_ascii)
{
    for (int i = 0; i < HOSTILE; i++) {
        struct tp_text out = {0};
        tp_plot_quote(&out, hostile[i], 1000, 300);
        const char *text = tp_text_get(&out);
        cr_expect(text[0] == '\'' && text[out.length - 1] == '\'');
        for (size_t k = 1; k + 1 < out.length; k++)
            cr_expect(text[k] >= 0x20 && text[k] <= 0x7e && text[k] != '`' &&
                          text[k] != '\'',
                      "%s", text);
        tp_text_clear(&out);
    }
}

Test(plot_script, long_names_lose_their_middle)
{
    char name[10001];
    struct tp_text out = {0};
    memset(name, 'a', sizeof name);
    name[10000] = '\0';
    name[9999] = 'z';
    tp_plot_quote(&out, name, 30, 10);
    cr_expect_eq(out.length, 30 + 3 + 2);
    cr_expect_not_null(strstr(tp_text_get(&out), "aaa...aaa"));
    cr_expect_str_eq(tp_text_get(&out) + out.length - 2, "z'");
    tp_text_clear(&out);
}

Test(plot_script, what_is_cut_is_what_is_shown)
{
    struct tp_text out = {0};
    /* 26 shown bytes: of 9, the end; no half of an escape is left */
    tp_plot_quote(&out, "\xff\xfe\xfd\xfc.query\xfb", 9, 9);
    cr_expect_str_eq(tp_text_get(&out), "'...query\\xfb'");
    out.length = 0;
    tp_plot_quote(&out, "\xff\xfe\xfd\xfc.query\xfb", 26, 9);
    cr_expect_str_eq(tp_text_get(&out), "'\\xff\\xfe\\xfd\\xfc.query\\xfb'");
    out.length = 0;
    tp_plot_quote(&out, "\xff\xfe\xfd\xfc.query\xfb", 25, 5);
    cr_expect_str_eq(tp_text_get(&out), "'\\xff\\xfe\\xfd\\xfc.que...y\\xfb'");
    tp_text_clear(&out);
}

/* Whatever the names are, the cells of a heat map keep their room. */
Test(plot_script, names_beside_a_small_panel_are_short)
{
    char name[201];
    memset(name, '\x01', sizeof name);
    strcpy(name + 180, "mlp.up_proj.weight");
    const struct tp_tic names[] = {{0, name}, {1, name}};
    const struct tp_panel_series series = {"", cells, 3, 0};
    struct tp_panel panels[6];
    for (int p = 0; p < 6; p++) {
        panels[p] = make_panel(TP_PANEL_HEAT, "std", &series, 1);
        panels[p].y.tics = names;
        panels[p].y.tic_count = 2;
    }
    struct tp_figure figure = make_figure("tiny", panels, 6);
    struct tp_text out = {0};
    tp_plot_script(&figure, "png", &out);
    const char *tics = strstr(tp_text_get(&out), "set ytics ('...");
    cr_assert_not_null(tics);
    size_t length = strcspn(tics + 12, "'");
    cr_expect(length >= 15 && length <= 22, "%zu", length);
    cr_expect_eq(strncmp(tics + 12 + length - 14, "up_proj.weight", 14), 0);
    tp_text_clear(&out);
}

Test(plot_script, a_panel_without_colours_has_no_colour_bar)
{
    const double zeros[] = {0, 0, 0, 1, 0, 0};
    struct tp_panel_series series = {"", zeros, 2, 0};
    struct tp_panel panel = make_panel(TP_PANEL_HEAT, "overflow", &series, 1);
    struct tp_figure figure = make_figure("tiny", &panel, 1);
    struct tp_text out = {0};
    tp_plot_script(&figure, "png", &out);
    cr_expect_null(strstr(tp_text_get(&out), "\nset colorbox"));
    series = (struct tp_panel_series){"", cells, 3, 0};
    out.length = 0;
    tp_plot_script(&figure, "png", &out);
    cr_expect_not_null(strstr(tp_text_get(&out), "\nset colorbox"));
    tp_text_clear(&out);
}

/* Values that are the same, or nearly, leave an axis a width, also as it is
 * written, and shares of zero are not half below it. */
Test(plot_script, no_range_is_empty)
{
    static const double apart[] = {0, 1e-12, 1e-10, 2e-9, 1e-8, 3e-8, 1e-6};
    static const double sizes[] = {0, 1, -1, 9.99999999, 1e-300, 1e12, -3e38};
    static const enum tp_scale scales[] = {TP_SCALE_LINEAR, TP_SCALE_INTEGER};
    for (size_t i = 0; i < 7 * 7 * 2; i++) {
        const double size = sizes[i / 7 % 7];
        const double values[] = {1, size, 2, size * (1 + apart[i % 7])};
        const struct tp_panel_series series = {"s", values, 2, 0};
        struct tp_panel panel = make_panel(TP_PANEL_LINES, "t", &series, 1);
        panel.y.scale = scales[i / 49];
        const struct tp_figure figure = make_figure("flat", &panel, 1);
        struct tp_text script = {0};
        tp_plot_script(&figure, "png", &script);
        double lo = NAN, hi = NAN;
        const char *range = strstr(tp_text_get(&script), "set yrange [");
        cr_assert_not_null(range);
        cr_assert_eq(sscanf(range, "set yrange [%lf:%lf]", &lo, &hi), 2);
        cr_expect_lt(lo, hi, "%.12g and %.12g", values[1], values[3]);
        if (size == 0 && i < 49)
            cr_expect_eq(lo, 0);
        tp_text_clear(&script);
    }
}

/* Characters of the first panel's title. */
static size_t title_length(const struct tp_panel *panels, size_t count)
{
    static const char word[] = "\nset title '";
    const struct tp_figure figure = make_figure("tiny", panels, count);
    struct tp_text script = {0};
    tp_plot_script(&figure, "png", &script);
    const char *at = strstr(tp_text_get(&script), word);
    cr_assert_not_null(at);
    const size_t length = strcspn(at + strlen(word), "'");
    tp_text_clear(&script);
    return length;
}

/* A third of 1200 pixels has 44 characters over axes beside "index 115", and
 * dots that stand for what is cut take the room of two. */
Test(plot_script, titles_fit_over_their_axes)
{
    static const struct tp_tic names[] = {{0, "index 115"}};
    const struct tp_panel_series series = {"s", xy, 3, 0};
    const char *title = "output_layer.weight.exp_avg_sq rank 3 it. 30, 1:789";
    struct tp_panel panels[6];
    for (int i = 0; i < 6; i++)
        panels[i] = make_panel(TP_PANEL_LINES, title, &series, 1);
    cr_expect_eq(title_length(panels, 1), strlen(title));
    cr_expect_eq(title_length(panels, 6), 46 + strlen("..."));
    panels[0].y.tics = names;
    panels[0].y.tic_count = 1;
    cr_expect_eq(title_length(panels, 6), 42 + strlen("..."));
}

static bool has_entry(const struct tp_panel *panels, size_t count,
                      const char *name)
{
    const struct tp_figure figure = make_figure("tiny", panels, count);
    struct tp_text script = {0};
    char title[64];
    snprintf(title, sizeof title, "title '%s'", name);
    tp_plot_script(&figure, "png", &script);
    const char *legend = strstr(tp_text_get(&script), "\n# legend\n");
    const bool has = legend && strstr(legend, title);
    tp_text_clear(&script);
    return has;
}

/* One legend serves panels that have something in common; others have their
 * own, with the lines and points that they draw. */
Test(plot_script, panels_have_one_legend_or_their_own)
{
    const struct tp_panel_series first[] = {{"a", xy, 3, 1}, {"b", xy, 3, 2}};
    const struct tp_panel_series like[] = {{"b", xy, 3, 2}, {"c", xy, 3, 3}};
    const struct tp_panel_series apart[] = {{"c", xy, 3, 3}, {"d", xy, 3, 4}};
    const struct tp_panel_series against[] = {{"b", xy, 3, 1}, {"a", xy, 3, 2}};
    const struct tp_panel_series *const second[] = {like, apart, against};
    for (int i = 0; i < 3; i++) {
        const struct tp_panel both[] = {
            make_panel(TP_PANEL_LINES, "1", first, 2),
            make_panel(TP_PANEL_LINES, "2", second[i], 2)};
        const struct tp_figure figure = make_figure("tiny", both, 2);
        struct tp_text script = {0};
        tp_plot_script(&figure, "png", &script);
        const char *text = tp_text_get(&script);
        cr_expect_eq(strstr(text, "\n# legend\n") != NULL, i == 0, "%d", i);
        cr_expect_eq(strstr(text, "set key at screen") != NULL, i > 0, "%d", i);
        tp_text_clear(&script);
    }
}

/* A bar by itself is no wall: the axis has room for four. */
Test(plot_script, few_rows_leave_air)
{
    const double values[] = {0, 3};
    const struct tp_panel_series series = {"s", values, 1, 0};
    struct tp_panel panel = make_panel(TP_PANEL_BARS, "t", &series, 1);
    panel.y = (struct tp_axis){
        .scale = TP_SCALE_ROWS, .tics = rows, .tic_count = 1};
    const struct tp_figure figure = make_figure("tiny", &panel, 1);
    struct tp_text script = {0};
    tp_plot_script(&figure, "png", &script);
    cr_expect_not_null(strstr(tp_text_get(&script), "set yrange [2.1:-2.1]"),
                       "%s", tp_text_get(&script));
    tp_text_clear(&script);
}

/* What a colour means is in the script, and only of those that are used. */
Test(plot_script, colours_of_traces)
{
    const struct tp_panel_series series = {
        "a", xy, 3, TP_TRACE_LOADER_COLOUR};
    const struct tp_panel panel = make_panel(TP_PANEL_LINES, "t", &series, 1);
    const struct tp_figure figure = make_figure("tiny", &panel, 1);
    struct tp_text script = {0};
    char wanted[64];
    tp_plot_script(&figure, "png", &script);
    snprintf(wanted, sizeof wanted, "set linetype %d lc rgb '%s'",
             TP_TRACE_LOADER_COLOUR, tp_trace_rgb(TP_TRACE_LOADER_COLOUR));
    cr_expect_not_null(strstr(tp_text_get(&script), wanted), "no %s", wanted);
    cr_expect_null(
        strstr(tp_text_get(&script), tp_trace_rgb(TP_TRACE_COMM_COLOUR + 4)));
    tp_text_clear(&script);
}

Test(plot_script, a_legend_names_what_is_drawn)
{
    const double flat[] = {0, 1, 1, 1, 1, 0, 1, 2, 2, 2, 2, 0};
    struct tp_panel_series series = {"", flat, 2, 0};
    struct tp_panel panel = make_panel(TP_PANEL_WATCH, "std", &series, 1);
    cr_expect(has_entry(&panel, 1, "measured"));
    cr_expect(has_entry(&panel, 1, "baseline"));
    cr_expect(!has_entry(&panel, 1, "normal"));
    cr_expect(!has_entry(&panel, 1, "beyond the limit"));
    series.values = watch;
    cr_expect(has_entry(&panel, 1, "normal"));
    cr_expect(has_entry(&panel, 1, "beyond the limit"));

    /* a second panel may have what the first one has not */
    const double none[] = {0, 0.5, 0.5, 1, 1, 1};
    const struct tp_panel_series parts[] = {
        {"zero", shares, 2, 0}, {"lost", none, 2, 0}, {"kept", shares, 2, 0}};
    const struct tp_panel_series others[] = {
        {"zero", shares, 2, 0}, {"lost", shares, 2, 0}, {"kept", none, 2, 0}};
    struct tp_panel both[] = {
        make_panel(TP_PANEL_SHARES, "a", parts, 3),
        make_panel(TP_PANEL_SHARES, "b", others, 3)};
    both[0].y = both[1].y = (struct tp_axis){
        .scale = TP_SCALE_ROWS, .tics = rows, .tic_count = 2};
    cr_expect(has_entry(both, 1, "kept"));
    cr_expect(!has_entry(both, 1, "lost"));
    cr_expect(has_entry(both, 2, "lost"));
    const struct tp_figure figure = make_figure("tiny", both, 2);
    struct tp_text script = {0};
    tp_plot_script(&figure, "png", &script);
    const char *legend = strstr(tp_text_get(&script), "\n# legend\n");
    cr_assert_not_null(legend);
    cr_expect_lt(strstr(legend, "'lost'"), strstr(legend, "'kept'"));
    tp_text_clear(&script);
}

/* float64 spans 2^-1074 .. 2^1024, and an axis may be wider still. */
Test(plot_script, the_widest_axis_has_few_tics)
{
    limit_cpu(10);
    static const double ends[] = {1e308,  -1e308,  -1e308,   1e308,
                                  5e-324, 1.7e308, INFINITY, NAN};
    static const enum tp_scale scales[] = {TP_SCALE_LINEAR, TP_SCALE_INTEGER,
                                           TP_SCALE_LOG2, TP_SCALE_LOG10,
                                           TP_SCALE_SIGNED_LOG2};
    for (size_t i = 0; i < 2 * sizeof scales / sizeof *scales; i++) {
        const struct tp_panel_series series = {"s", ends, 4, 0};
        struct tp_panel panel = make_panel(TP_PANEL_LINES, "t", &series, 1);
        panel.x.scale = panel.y.scale = scales[i / 2];
        panel.x.inner = panel.y.inner = -1074;
        if (i % 2) {
            panel.x.limited = true;
            panel.x.min = -INFINITY;
            panel.x.max = INFINITY;
        }
        const struct tp_figure figure = make_figure("wide", &panel, 1);
        struct tp_text script = {0};
        tp_plot_script(&figure, "png", &script);
        cr_assert_not(script.failed);
        cr_assert_lt(script.length, 20000, "scale %zu", i);
        tp_text_clear(&script);
    }
}

Test(plot_script, every_kind_has_its_template)
{
    for (int k = 0; k < TP_PANEL_KINDS; k++) {
        const char *name = tp_panel_info((enum tp_panel_kind)k)->name;
        const struct tp_template *row = tp_templates;
        while (row->name && strcmp(row->name, name) != 0)
            row++;
        cr_expect_not_null(row->name, "no template for %s", name);
    }
}

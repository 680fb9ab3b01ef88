/* SPDX-License-Identifier: MIT */
/*
 * One colour means one thing in all figures of traces: the table is held
 * against itself, and the figures of traces with all kinds of time against the
 * table and each other.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "figures/figures.h"
#include "figures/trace_colours.h"
#include "figures/trace_compare_figures.h"
#include "figures/trace_figures.h"
#include "formats/trace/trace_reader.h"
#include "tests/unit/support/trace_maker.h"
#include "trace/trace_compare_why.h"
#include "trace/trace_flops.h"
#include "trace/trace_join.h"
#include "trace/trace_run.h"

/* --- the table ---------------------------------------------------------- */

struct lab {
    double l, a, b;
};

static double linear(unsigned value)
{
    const double v = value / 255.;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double lightness(double v)
{
    return v > 0.008856 ? cbrt(v) : 7.787 * v + 16. / 116;
}

/* CIELAB of an sRGB colour, for the white D65. */
static struct lab lab_of(const char *rgb)
{
    unsigned r, g, b;
    cr_assert_eq(strlen(rgb), 7, "%s", rgb);
    cr_assert_eq(sscanf(rgb, "#%2x%2x%2x", &r, &g, &b), 3, "%s", rgb);
    const double x = lightness((0.4124 * linear(r) + 0.3576 * linear(g) +
                                0.1805 * linear(b)) / 0.9505);
    const double y = lightness(0.2126 * linear(r) + 0.7152 * linear(g) +
                               0.0722 * linear(b));
    const double z = lightness((0.0193 * linear(r) + 0.1192 * linear(g) +
                                0.9505 * linear(b)) / 1.089);
    return (struct lab){116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/* White is (100, 0, 0), and a red that other programs have as well. */
Test(trace_colours, lab)
{
    const struct lab white = lab_of("#ffffff"), red = lab_of("#ff0000");
    cr_expect_float_eq(white.l, 100, 0.05);
    cr_expect_float_eq(hypot(white.a, white.b), 0, 0.05);
    cr_expect_float_eq(red.l, 53.24, 0.05);
    cr_expect_float_eq(red.a, 80.09, 0.1);
    cr_expect_float_eq(red.b, 67.20, 0.1);
}

Test(trace_colours, no_two_look_or_are_called_alike)
{
    for (unsigned i = TP_PANEL_SERIES_MAX + 1; i < TP_TRACE_COLOURS_END; i++) {
        const struct tp_trace_colour_info *one = tp_trace_colour_of(i);
        cr_assert(one->rgb && one->name, "%u has no row", i);
        cr_expect_eq(tp_trace_rgb(i), one->rgb);
        const struct lab a = lab_of(one->rgb);
        for (unsigned k = TP_PANEL_SERIES_MAX + 1; k < i; k++) {
            const struct tp_trace_colour_info *other = tp_trace_colour_of(k);
            const struct lab b = lab_of(other->rgb);
            const double apart =
                sqrt(pow(a.l - b.l, 2) + pow(a.a - b.a, 2) + pow(a.b - b.b, 2));
            cr_expect(apart >= 15, "%s (%s) and %s (%s): %.1f", one->name,
                      one->rgb, other->name, other->rgb, apart);
            cr_expect(!*one->name || strcmp(one->name, other->name), "%s",
                      one->name);
        }
    }
    cr_expect_null(tp_trace_rgb(TP_PANEL_SERIES_MAX));
    cr_expect_null(tp_trace_rgb(TP_TRACE_COLOURS_END));
}

/* --- the figures -------------------------------------------------------- */

/* What figures use: by colour the name, by palette the label of the scale. */
struct uses {
    const char *names[TP_PANEL_COLOURS + 1];
    const char *scales[TP_PALETTE_DEVIATION + 1];
    size_t colours;
};

/* Whether a name is that of a colour, or goes on with it. */
static bool is_of(const char *name, const char *meaning)
{
    const size_t length = strlen(meaning);
    return length && meaning[length - 1] == ','
               ? !strncmp(name, meaning, length)
               : !strcmp(name, meaning);
}

static void note(struct uses *uses, const struct tp_figure *figure,
                 const struct tp_panel *panel)
{
    const bool map = panel->kind == TP_PANEL_HEAT;
    if (map) {
        const char **scale = &uses->scales[panel->palette];
        cr_expect(!*scale || !strcmp(*scale, panel->z.label), "%s: %s and %s",
                  figure->id, *scale, panel->z.label);
        *scale = panel->z.label;
    }
    for (size_t s = 0; !map && s < panel->series_count; s++) {
        const unsigned colour = panel->series[s].colour;
        const char *name = panel->series[s].name;
        cr_assert(tp_trace_rgb(colour), "%s: %s has colour %u", figure->id,
                  name, colour);
        const char *meaning = tp_trace_colour_of(colour)->name;
        if (!*meaning) /* a trace */
            continue;
        cr_expect(is_of(name, meaning), "%s: %s is %s", figure->id, name,
                  meaning);
        const char **used = &uses->names[colour];
        cr_expect(!*used || is_of(name, *used) || is_of(*used, meaning),
                  "%s: %s and %s", figure->id, *used, name);
        uses->colours += !*used;
        *used = meaning;
    }
}

static void note_all(struct uses *uses, const struct tp_figure_set *set)
{
    for (size_t f = 0; f < set->count; f++) {
        const struct tp_figure *figure = &set->figures[f];
        for (size_t p = 0; p < figure->panel_count; p++)
            note(uses, figure, &figure->panels[p]);
    }
}

/* Steps with time of every kind. */
static const char *write_trace(struct trace_maker *maker, int rank, int ranks,
                               size_t *size)
{
    trace_maker_begin(maker, rank, ranks);
    maker->memory = true;
    for (int i = 0; i < 4; i++) {
        trace_maker_step_begin(maker);
        trace_maker_loader(maker, 2000, true);
        trace_maker_copy_in(maker, 300, true);
        trace_maker_allocate(maker, 3 << 20, 5, 800);
        trace_maker_op(maker, "aten::mm", 500, 1000);
        trace_maker_launch(maker, "k", 400);
        trace_maker_all_reduce(maker, 700);
        trace_maker_op(maker, "aten::add", 20, 200);
        trace_maker_item(maker, 60);
        trace_maker_python(maker, 1500);
        trace_maker_stall(maker, 2000);
        trace_maker_op(maker, "aten::add", 20, 200);
        trace_maker_synchronize(maker);
        trace_maker_free(maker, 3 << 20);
        trace_maker_step_end(maker);
    }
    return trace_maker_end(maker, size);
}

static void add_trace(struct tp_trace_run *run, int rank, int ranks)
{
    struct tp_error err = {0};
    struct trace_maker maker;
    struct tp_pool *pool;
    size_t size;
    const char *json = write_trace(&maker, rank, ranks, &size);
    cr_assert_eq(tp_grow(&run->traces, &run->trace_capacity,
                         run->trace_count + 1, sizeof *run->traces, &err),
                 TP_OK);
    struct tp_trace *trace = &run->traces[run->trace_count++];
    *trace = (struct tp_trace){.path = "made.json", .worker = "", .span = -1};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    cr_assert_eq(tp_trace_read_memory(json, size, pool, &trace->events, &err),
                 TP_OK);
    cr_assert_eq(tp_trace_analyse(trace, &run->arena, &err), TP_OK);
    tp_pool_free(pool);
    trace_maker_clear(&maker);
}

/* A row of /roofline for each kind of work, and one above the roof. */
static void add_roofline(struct tp_trace *trace)
{
    const char *const precision = tp_precision_word(TP_PRECISION_BF16);
    trace->device = (struct tp_device_roof){
        .name = "made", .vector_tflops = 50, .gbps = 2000};
    trace->device.tflops[TP_PRECISION_BF16] = 900;
    trace->roofline.count = 0;
    for (int kind = 0; kind <= TP_WORK_KINDS; kind++) {
        const bool known = kind != TP_WORK_OTHER;
        struct tp_error err = {0};
        cr_assert_eq(tp_grow(&trace->roofline.rows, &trace->roofline.capacity,
                             trace->roofline.count + 1,
                             sizeof *trace->roofline.rows, &err),
                     TP_OK);
        trace->roofline.rows[trace->roofline.count++] = (struct tp_roof_row){
            .op = "aten::made", .kind = "", .inputs = "", .kernel = "k",
            .count = 1, .device_us = 100, .mean_us = 100, .intensity = 2,
            .tflops = 3, .precision = precision, .bound = "memory",
            .roof_us = known ? 60 : NAN,
            .doubt = kind == TP_WORK_KINDS ? "cache" : "",
            .tensor_cores = "", .what = kind % TP_WORK_KINDS};
    }
}

static void note_run(struct uses *uses, int ranks)
{
    struct tp_trace_run run = {0};
    struct tp_figure_set set;
    struct tp_error err = {0};
    for (int rank = 0; rank < ranks; rank++)
        add_trace(&run, rank, ranks);
    tp_trace_run_sort(&run);
    add_roofline(&run.traces[0]);
    for (size_t i = 0; i < run.traces[0].busy.count; i++)
        run.traces[0].busy.rows[i].overlap_us = 1; /* the GPU has one stream */
    cr_assert_eq(tp_trace_figures_build(&run, &set, &err), TP_OK);
    note_all(uses, &set);
    tp_figure_set_clear(&set);
    tp_trace_run_clear(&run);
}

static void note_comparison(struct uses *uses)
{
    struct tp_why_row why = {
        .path = "aten::mm", .base_name = "k", .test_name = "k"};
    struct tp_cause_row causes[] = {
        {.largest = &why, .members = 1, .change_us = 900},
        {.largest = &why, .members = 1, .change_us = -400}};
    struct tp_compare_step_row steps[] = {
        {.metric = "cost: kernel", .base = 4, .test = 5},
        {.metric = "cost: communication", .base = 3, .test = 2},
        {.metric = "cost: other", .base = 1, .test = 1}};
    const struct tp_trace_comparison comparison = {
        .steps = {.rows = steps, .count = 3},
        .causes = {.rows = causes, .count = 2},
        .why_per = "step"};
    struct tp_figure_set set;
    struct tp_error err = {0};
    cr_assert_eq(tp_trace_compare_figures_build(&comparison, &set, &err),
                 TP_OK);
    note_all(uses, &set);
    tp_figure_set_clear(&set);
}

/* All of the table is seen but for some kinds of memory. */
Test(trace_colours, one_meaning_in_all_figures)
{
    struct uses uses = {.colours = 0};
    note_run(&uses, 1);
    note_run(&uses, 3);
    note_comparison(&uses);
    for (unsigned i = TP_PANEL_SERIES_MAX + 1; i < TP_TRACE_COLOURS_END; i++)
        cr_expect(uses.names[i] || !*tp_trace_colour_of(i)->name ||
                      (i >= TP_TRACE_ACTIVATION_COLOUR &&
                       i <= TP_TRACE_UNKNOWN_COLOUR),
                  "no figure with %s", tp_trace_colour_of(i)->name);
    cr_expect(uses.scales[TP_PALETTE_VALUE] && uses.scales[TP_PALETTE_BUSY]);
}

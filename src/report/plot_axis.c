/* SPDX-License-Identifier: MIT */
/*
 * Axes with everything decided before gnuplot sees them: values are mapped to
 * drawn coordinates (exponents on a log axis, two log axes back to back for
 * both signs) and the axis itself is linear. gnuplot's own log scale has no
 * place for zeros or negative values and chooses ranges and tics only when it
 * draws. Limits come from one pass over the panel's values, to whole powers on
 * log axes, with room for zeros where there are some; tics are at steps of 1, 2
 * or 5 times a power of ten, or at tidy steps of exponents, as many as there is
 * room for. Ranges are kept inside what a double holds, so that counting tics
 * ends.
 */
#include "report/plot_axis.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "report/plot_quote.h"

/* Of a number: far longer than any. */
enum { NUMBER_MAX = 28 };

/* What differs less than this looks the same in the 9 digits of a script, and
 * gnuplot refuses a range without a width. */
#define FLAT 2e-8

/* Which columns of a kind lie on which axis, as bit masks. */
static const unsigned axis_columns[TP_PANEL_KINDS][3] = {
    [TP_PANEL_LINES] = {1, 2, 0},    [TP_PANEL_STEPS] = {1, 2, 0},
    [TP_PANEL_BANDS] = {1, 0xfe, 0}, [TP_PANEL_BOXES] = {0xfe, 1, 0},
    [TP_PANEL_BARS] = {2, 1, 0},     [TP_PANEL_SHARES] = {6, 1, 0},
    [TP_PANEL_STACKS] = {6, 1, 0},   [TP_PANEL_HEAT] = {1, 2, 4},
    [TP_PANEL_CLOUD] = {1, 2, 4},    [TP_PANEL_SPREAD] = {1, 0x3e, 0},
    [TP_PANEL_WATCH] = {1, 0x1e, 0}, [TP_PANEL_POINTS] = {1, 2, 0},
};

static bool is_log(enum tp_scale scale)
{
    return scale == TP_SCALE_LOG2 || scale == TP_SCALE_LOG10;
}

double tp_axis_position(const struct tp_drawn_axis *drawn, double value)
{
    double size = fabs(value);
    switch (drawn->axis->scale) {
    case TP_SCALE_LOG2:
        return value > 0 ? log2(value) : value == 0 ? drawn->zero : NAN;
    case TP_SCALE_LOG10:
        return value > 0 ? log10(value) : value == 0 ? drawn->zero : NAN;
    case TP_SCALE_SIGNED_LOG2:
        size = size > 0 ? log2(size) - drawn->axis->inner : 0;
        return isnan(value) ? NAN : size < 0 ? 0 : copysign(size, value);
    default:
        return value;
    }
}

void tp_axis_function(const struct tp_drawn_axis *drawn, char name,
                      struct tp_text *out)
{
    switch (drawn->axis->scale) {
    case TP_SCALE_LOG2:
    case TP_SCALE_LOG10:
        tp_text_add(out, "%c(v) = v > 0 ? log10(v)%s : v == 0 ? %.9g : NaN\n",
                    name,
                    drawn->axis->scale == TP_SCALE_LOG2 ? " / log10(2)" : "",
                    drawn->zero);
        break;
    case TP_SCALE_SIGNED_LOG2:
        tp_text_add(out,
                    "%c(v) = abs(v) > 2.0**(%d) ? sgn(v) * "
                    "(log10(abs(v)) / log10(2) - (%d)) : 0 * v\n",
                    name, drawn->axis->inner, drawn->axis->inner);
        break;
    default:
        tp_text_add(out, "%c(v) = v\n", name);
    }
}

/* The smallest and largest drawn value; zeros of log axes are set aside. */
static void find_extent(const struct tp_panel *panel, unsigned columns,
                        struct tp_drawn_axis *drawn)
{
    unsigned width = tp_panel_info(panel->kind)->columns;
    bool log_axis = is_log(drawn->axis->scale);
    drawn->lo = INFINITY;
    drawn->hi = -INFINITY;
    for (size_t s = 0; s < panel->series_count; s++) {
        const struct tp_panel_series *series = &panel->series[s];
        for (size_t i = 0; i < series->rows * width; i++) {
            double value = series->values[i];
            if (!(columns >> i % width & 1) || !isfinite(value))
                continue;
            if (log_axis && value == 0) {
                drawn->has_zero = true;
                continue;
            }
            double at = tp_axis_position(drawn, value);
            if (!isfinite(at))
                continue;
            drawn->lo = fmin(drawn->lo, at);
            drawn->hi = fmax(drawn->hi, at);
        }
    }
    drawn->has_value = drawn->lo <= drawn->hi;
}

/* Half a cell, or a little air, so that nothing lies on the frame. */
static void add_margin(const struct tp_panel *panel, enum tp_axis_name name,
                       struct tp_drawn_axis *drawn)
{
    bool cells = panel->kind == TP_PANEL_HEAT || panel->kind == TP_PANEL_CLOUD;
    bool from_zero = drawn->axis->scale == TP_SCALE_LINEAR && drawn->lo >= 0 &&
                     drawn->lo < 0.4 * drawn->hi;
    double width = drawn->hi - drawn->lo, margin = 0.04 * width;
    if (name == TP_AXIS_Z)
        return;
    if (cells) {
        double cell =
            name == TP_AXIS_X ? panel->cell_width : panel->cell_height;
        drawn->lo -= cell / 2;
        drawn->hi += cell / 2;
        return;
    }
    if (drawn->axis->scale == TP_SCALE_INTEGER && margin < 0.1)
        margin = 0.1;
    drawn->hi += margin;
    drawn->lo = from_zero ? 0 : drawn->lo - margin;
}

static void settle_log(struct tp_drawn_axis *drawn)
{
    if (!drawn->has_value) {
        drawn->lo = -3;
        drawn->hi = 0;
    }
    drawn->lo = floor(drawn->lo);
    drawn->hi = ceil(drawn->hi);
    if (drawn->hi - drawn->lo < 1) {
        drawn->lo -= 1;
        drawn->hi += 1;
    }
    drawn->zero = drawn->lo - fmax(1, ceil(0.08 * (drawn->hi - drawn->lo)));
    if (drawn->has_zero)
        drawn->lo = drawn->zero;
}

static void settle_linear(struct tp_drawn_axis *drawn)
{
    if (!drawn->has_value)
        drawn->lo = drawn->hi = 0;
    if (drawn->axis->scale == TP_SCALE_SIGNED_LOG2) {
        /* zero is always there; a side without values is not */
        drawn->hi = drawn->hi > 0 ? fmax(1, ceil(drawn->hi)) : 0;
        drawn->lo = drawn->lo < 0 ? fmin(-1, floor(drawn->lo)) : 0;
        if (drawn->hi == drawn->lo)
            drawn->hi = 1;
    } else if (!(drawn->hi - drawn->lo > FLAT * fabs(drawn->hi))) {
        double air = fabs(drawn->hi) * 0.5;
        if (drawn->axis->scale == TP_SCALE_INTEGER)
            air = fmax(1, FLAT * fabs(drawn->hi));
        drawn->lo -= air;
        drawn->hi += drawn->hi == 0 && air == 0 ? 1 : air;
    }
}

/* Float64 values near their ends make a range that no double holds: without
 * this, tics would be counted off for ever. */
static void keep_finite(struct tp_drawn_axis *drawn)
{
    const double most = DBL_MAX / 8; /* a width and its margins still fit */
    drawn->lo = fmax(-most, fmin(drawn->lo, most));
    drawn->hi = fmax(-most, fmin(drawn->hi, most));
    if (!(drawn->hi > drawn->lo))
        drawn->hi = drawn->lo + fmax(1, fabs(drawn->lo) * 1e-6);
}

void tp_axis_resolve(const struct tp_panel *panel, enum tp_axis_name name,
                     struct tp_drawn_axis *drawn)
{
    const struct tp_axis *axis = name == TP_AXIS_X   ? &panel->x
                                 : name == TP_AXIS_Y ? &panel->y
                                                     : &panel->z;
    *drawn = (struct tp_drawn_axis){.axis = axis};
    if (axis->scale == TP_SCALE_ROWS) {
        const bool cells = panel->kind == TP_PANEL_HEAT;
        const double least_rows = 4; /* a lone bar is no wall */
        const double few = fmax(0, least_rows - (double)axis->tic_count);
        const double air = cells ? 0.5 : 0.6 + few / 2;
        drawn->lo = (double)axis->tic_count - 1 + air;
        drawn->hi = -air;
        return;
    }
    unsigned columns = axis_columns[panel->kind][name];
    if (panel->kind == TP_PANEL_POINTS && panel->diagonal)
        columns = 3; /* one range for both, so that zeros are on the line */
    find_extent(panel, columns, drawn);
    if (name == TP_AXIS_Z)
        drawn->has_zero = false; /* zero cells are white, not on the scale */
    if (is_log(axis->scale))
        settle_log(drawn);
    else
        settle_linear(drawn);
    add_margin(panel, name, drawn);
    double lo = axis->limited ? tp_axis_position(drawn, axis->min) : NAN;
    double hi = axis->limited ? tp_axis_position(drawn, axis->max) : NAN;
    drawn->lo = isfinite(lo) ? lo : drawn->lo;
    drawn->hi = isfinite(hi) ? hi : drawn->hi;
    keep_finite(drawn);
}

/* The text of a tic is a format to gnuplot, so each % is doubled. */
static void add_text_tic(struct tp_text *out, const char *text, size_t limit,
                         double at, bool *first)
{
    struct tp_text quoted = {0};
    tp_text_add(out, *first ? "" : ", ");
    *first = false;
    tp_plot_quote(&quoted, text, limit, limit);
    for (const char *c = tp_text_get(&quoted); *c; c++) {
        tp_text_bytes(out, c, 1);
        if (*c == '%')
            tp_text_bytes(out, c, 1);
    }
    tp_text_add(out, " %.9g", at);
    out->failed |= quoted.failed;
    tp_text_clear(&quoted);
}

static void add_tic(struct tp_text *out, const char *text, double at,
                    bool *first)
{
    add_text_tic(out, text, NUMBER_MAX, at, first);
}

/* A step of the kind 1, 2, 5 times a power of ten that gives few tics. */
static double nice_step(double width, size_t wanted)
{
    double rough = width / (double)(wanted ? wanted : 1);
    double power = pow(10, floor(log10(rough)));
    double lead = rough / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

/* Exponents look tidy in steps of these. */
static double exponent_step(double width, size_t wanted)
{
    static const double steps[] = {1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 64};
    size_t last = sizeof steps / sizeof *steps - 1, i = 0;
    double most = wanted ? (double)wanted : 1;
    while (i < last && width / steps[i] > most)
        i++;
    /* float64 spans 2^-1074 .. 2^1024: a multiple of the last step */
    return steps[i] * fmax(1, ceil(width / steps[i] / most));
}

static void log_tics(const struct tp_drawn_axis *drawn, size_t wanted,
                     struct tp_text *out, bool *first)
{
    char text[32];
    double lo = drawn->has_zero ? drawn->zero + 1e-3 : drawn->lo;
    double step = exponent_step(drawn->hi - lo, wanted);
    for (double at = ceil(lo / step) * step; at <= drawn->hi + 1e-9;
         at += step) {
        if (drawn->axis->scale == TP_SCALE_LOG2)
            snprintf(text, sizeof text, "2^%g", at + 0.0);
        else if (at >= -2 && at <= 3)
            snprintf(text, sizeof text, "%g", pow(10, at));
        else
            snprintf(text, sizeof text, "1e%g", at);
        if (!drawn->has_zero || at - drawn->zero > 0.4 * step)
            add_tic(out, text, at, first);
    }
    if (drawn->has_zero)
        add_tic(out, "0", drawn->zero, first);
}

static void signed_tics(const struct tp_drawn_axis *drawn, size_t wanted,
                        struct tp_text *out, bool *first)
{
    char text[32];
    int inner = drawn->axis->inner;
    bool both = drawn->hi > 0.5 && drawn->lo < -0.5;
    double reach = fmax(drawn->hi, -drawn->lo);
    size_t a_side = both ? wanted / 2 : wanted;
    double step = exponent_step(reach, a_side < 3 ? 3 : a_side);
    double e = ceil((inner + 0.45 * step) / step) * step;
    for (; e - inner <= reach; e += step) {
        snprintf(text, sizeof text, "-2^%g", e + 0.0);
        if (inner - e >= drawn->lo)
            add_tic(out, text, inner - e, first);
        if (e - inner <= drawn->hi)
            add_tic(out, text + 1, e - inner, first);
    }
    add_tic(out, "0", 0, first);
}

static void linear_tics(const struct tp_drawn_axis *drawn, size_t wanted,
                        struct tp_text *out, bool *first)
{
    char text[32];
    double step = nice_step(drawn->hi - drawn->lo, wanted);
    if (floor(drawn->hi / step) - ceil(drawn->lo / step) < 1)
        step = nice_step(drawn->hi - drawn->lo, 2 * wanted);
    if (drawn->axis->scale == TP_SCALE_INTEGER && step < 1)
        step = 1;
    double begin = ceil(drawn->lo / step - 1e-9);
    for (double k = begin; k * step <= drawn->hi + 1e-9 * step; k++) {
        snprintf(text, sizeof text, "%.6g", k == 0 ? 0.0 : k * step);
        add_tic(out, text, k * step, first);
    }
}

static void given_tics(const struct tp_drawn_axis *drawn,
                       struct tp_tic_limits limits, struct tp_text *out,
                       bool *first)
{
    const struct tp_axis *axis = drawn->axis;
    size_t stride = 1;
    if (axis->tic_count > limits.count && limits.count > 0)
        stride = (size_t)nice_step((double)axis->tic_count, limits.count);
    for (size_t i = 0; i < axis->tic_count; i += stride)
        add_text_tic(out, axis->tics[i].text, limits.text,
                     tp_axis_position(drawn, axis->tics[i].at), first);
}

void tp_axis_tics(const struct tp_drawn_axis *drawn,
                  struct tp_tic_limits limits, struct tp_text *out)
{
    size_t wanted = limits.count;
    bool first = true;
    tp_text_add(out, "(");
    if (drawn->axis->tics)
        given_tics(drawn, limits, out, &first);
    else if (is_log(drawn->axis->scale))
        log_tics(drawn, wanted, out, &first);
    else if (drawn->axis->scale == TP_SCALE_SIGNED_LOG2)
        signed_tics(drawn, wanted, out, &first);
    else
        linear_tics(drawn, wanted, out, &first);
    tp_text_add(out, ")");
}

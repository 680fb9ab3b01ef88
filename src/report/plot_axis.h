/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_PLOT_AXIS_H
#define TP_REPORT_PLOT_AXIS_H

#include "base/text.h"
#include "data/figure.h"

/*
 * Axes as they are drawn. All scales are straightened by ourselves: gnuplot
 * sees linear axes in "drawn" coordinates (exponents, on a log axis) and the
 * tics we name, so that every range and label is known beforehand.
 */
enum tp_axis_name { TP_AXIS_X, TP_AXIS_Y, TP_AXIS_Z };

/* An axis with everything decided. */
struct tp_drawn_axis {
    const struct tp_axis *axis;
    double lo, hi;    /* limits, drawn coordinates                        */
    double zero;      /* log scales: where a zero is drawn                */
    bool has_zero;    /* log scales: some value is zero                   */
    bool has_value;   /* log scales: some value is positive               */
};

/* Decides limits from the panel's values. */
void tp_axis_resolve(const struct tp_panel *panel, enum tp_axis_name name,
                     struct tp_drawn_axis *drawn);

/* A value in drawn coordinates; NaN where the axis cannot show it. */
double tp_axis_position(const struct tp_drawn_axis *drawn, double value);

/* Appends the gnuplot function that does the same: "X(v) = ...". */
void tp_axis_function(const struct tp_drawn_axis *drawn, char name,
                      struct tp_text *out);

/* How many tics there is room for, and for how many bytes of each. */
struct tp_tic_limits {
    size_t count, text;
};

/*
 * Appends the tics in parentheses, about as many as there is room for: those
 * of the axis, thinned out evenly, or our own. Of a long text the end stays:
 * names of tensors differ there.
 */
void tp_axis_tics(const struct tp_drawn_axis *drawn,
                  struct tp_tic_limits limits, struct tp_text *out);

#endif

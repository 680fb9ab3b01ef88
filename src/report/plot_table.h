/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_PLOT_TABLE_H
#define TP_REPORT_PLOT_TABLE_H

#include "base/text.h"
#include "data/figure.h"

/*
 * Appends the figure's table: for each panel and series one block of tab
 * separated numbers ("NaN" where there is none) under commented headers;
 * blocks are separated by two blank lines, as gnuplot's `index` counts them.
 */
void tp_plot_table(const struct tp_figure *figure, struct tp_text *out);

#endif

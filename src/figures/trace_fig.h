/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_TRACE_FIG_H
#define TP_FIGURES_TRACE_FIG_H

#include "figures/fig.h"
#include "figures/trace_colours.h"
#include "trace/trace.h"

/* What the builders of trace figures share, and the builders. */

/* Traces that are shown: all, or evenly spaced ones with both ends. */
enum { TP_TRACE_ROWS_MAX = 24 };
struct tp_trace_choice {
    size_t traces[TP_TRACE_ROWS_MAX];
    size_t count;
};

/* Chooses at most `limit` traces for which `has` holds (NULL: all). */
void tp_trace_choose(const struct tp_trace_run *run,
                     bool (*has)(const struct tp_trace *trace), size_t limit,
                     struct tp_trace_choice *choice);

/* "rank 3", or what else tells the trace from the others; borrowed. */
const char *tp_trace_label(struct tp_fig *fig, const struct tp_trace_run *run,
                           size_t trace);

/* A name of at most so many bytes: a long one loses type, name spaces and
 * arguments, then its middle; borrowed. */
const char *tp_trace_short_name(struct tp_fig *fig, const char *name,
                                size_t most);

/* The same of `count` names into `made`; different names that would look alike
 * show where they part instead. */
void tp_trace_short_names(struct tp_fig *fig, const char *const *names,
                          size_t count, size_t most, const char **made);

/* Bytes of a name beside a panel as wide as the figure, or half of it: what
 * plot_script.c has room for. */
enum { TP_TRACE_NAME_FULL = 40, TP_TRACE_NAME_HALF = 34 };

/* Whether a bar is longer than a pixel where the longest is `most`. */
bool tp_trace_is_seen(double value, double most);

/* The unit of an axis of memory: the largest that `peak` bytes reach. */
struct tp_trace_amount {
    const char *label;
    double bytes;
};
struct tp_trace_amount tp_trace_amount_for(double peak);

/* Stacked bars: `part_count` values for each of `rows` rows; a part that is
 * zero everywhere is left out, the others keep their colours. */
struct tp_stack {
    const char *title;
    const char *const *rows; /* [row_count] names                         */
    size_t row_count;
    const enum tp_trace_colour *parts; /* [part_count], rising, at most 8  */
    size_t part_count;
    const double *values; /* [row_count][part_count], NaN counts as 0      */
    const char *label;    /* of the axis, with its unit                    */
    double most;          /* where the axis ends; 0: by the values         */
};
void tp_trace_stack(struct tp_fig *fig, const struct tp_stack *stack);

/* The builders; see tp_trace_figure_table. */
void tp_trace_fig_step_cost(struct tp_fig *fig,
                            const struct tp_trace_run *run);
void tp_trace_fig_idle(struct tp_fig *fig, const struct tp_trace_run *run);
void tp_trace_fig_operators(struct tp_fig *fig,
                            const struct tp_trace_run *run);
void tp_trace_fig_top_kernels(struct tp_fig *fig,
                              const struct tp_trace_run *run);
void tp_trace_fig_kernels(struct tp_fig *fig, const struct tp_trace_run *run);
void tp_trace_fig_roofline(struct tp_fig *fig,
                           const struct tp_trace_run *run);
void tp_trace_fig_utilisation(struct tp_fig *fig,
                              const struct tp_trace_run *run);
void tp_trace_fig_memory_peaks(struct tp_fig *fig,
                               const struct tp_trace_run *run);
void tp_trace_fig_memory(struct tp_fig *fig, const struct tp_trace_run *run);
void tp_trace_fig_overlap(struct tp_fig *fig, const struct tp_trace_run *run);
void tp_trace_fig_what_if(struct tp_fig *fig, const struct tp_trace_run *run);
void tp_trace_fig_ranks(struct tp_fig *fig, const struct tp_trace_run *run);

#endif

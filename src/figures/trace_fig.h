/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_TRACE_FIG_H
#define TP_FIGURES_TRACE_FIG_H

#include "figures/fig.h"
#include "trace/trace.h"

/* What the builders of trace figures share, and the builders. */

/*
 * The colours of all trace figures: one means one thing. Those of a stack rise,
 * as legends are in their order.
 */
enum tp_trace_colour {
    TP_TRACE_KERNEL_COLOUR = TP_PANEL_SERIES_MAX + 1, /* computation       */
    TP_TRACE_HIDDEN_COLOUR,    /* communication under computation          */
    TP_TRACE_COPY_COLOUR,
    TP_TRACE_COMM_COLOUR,      /* communication that nothing hides         */
    TP_TRACE_IDLE_COLOUR,      /* the device, whatever the cause           */
    TP_TRACE_DEVICE_COLOUR,    /* the device works, whatever at            */
    TP_TRACE_PENDING_COLOUR,
    TP_TRACE_ALLOC_COLOUR,
    TP_TRACE_CALL_COLOUR,      /* runtime calls of any kind                */
    TP_TRACE_LOADER_COLOUR,
    TP_TRACE_BLOCKING_COLOUR,
    TP_TRACE_LAUNCH_COLOUR,
    TP_TRACE_OPERATOR_COLOUR,  /* the host in operators                    */
    TP_TRACE_NOTHING_COLOUR,   /* the host in Python, or nothing recorded  */
    TP_TRACE_NUMBER_COLOUR,    /* how many kernels                         */
    TP_TRACE_ALLOCATED_COLOUR,
    TP_TRACE_RESERVED_COLOUR,
    TP_TRACE_FIRST_COLOUR,     /* a trace, and the one beside it           */
    TP_TRACE_SECOND_COLOUR,
    TP_TRACE_MORE_COLOUR,      /* what costs more time than before, ...    */
    TP_TRACE_LESS_COLOUR,      /* ... and what less                        */
    TP_TRACE_ACTIVATION_COLOUR, /* what memory is for, as enum tp_memory_kind */
    TP_TRACE_GRADIENT_COLOUR,
    TP_TRACE_STATE_COLOUR,
    TP_TRACE_BACKWARD_COLOUR,
    TP_TRACE_TEMPORARY_COLOUR,
    TP_TRACE_BEFORE_COLOUR,
    TP_TRACE_UNKNOWN_COLOUR,
    TP_TRACE_ABOVE_COLOUR,     /* more time than the roof needs            */
    TP_TRACE_GROUP_COLOUR,     /* kinds of work: five                      */
    TP_TRACE_DOUBT_COLOUR = TP_TRACE_GROUP_COLOUR + 5, /* faster than it   */
    TP_TRACE_PRODUCT_ROOF_COLOUR,
    TP_TRACE_VECTOR_ROOF_COLOUR,
    TP_TRACE_COLOURS_END
};

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

/* Stacked bars: `parts` values for each of `rows` rows; a part that is zero
 * everywhere is left out, the others keep their colours. */
struct tp_stack {
    const char *title;
    const char *const *rows;  /* [row_count] names                        */
    size_t row_count;
    const char *const *parts; /* [part_count] names, at most 8            */
    const enum tp_trace_colour *colours; /* [part_count], rising           */
    size_t part_count;
    const double *values;     /* [row_count][part_count], NaN counts as 0 */
    const char *label;        /* of the axis, with its unit               */
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

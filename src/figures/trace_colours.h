/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_TRACE_COLOURS_H
#define TP_FIGURES_TRACE_COLOURS_H

#include "data/figure.h"
#include "trace/trace_track_rows.h"

/*
 * The colours of all trace figures: one means one thing, and has one name. They
 * follow those of series whose names are data. Those of a stack rise, as
 * legends are in their order.
 */
enum tp_trace_colour {
    TP_TRACE_KERNEL_COLOUR = TP_PANEL_SERIES_MAX + 1,
    TP_TRACE_HIDDEN_COLOUR,
    TP_TRACE_COPY_COLOUR,
    TP_TRACE_COMM_COLOUR,
    TP_TRACE_IDLE_COLOUR,
    TP_TRACE_DEVICE_COLOUR,
    TP_TRACE_PENDING_COLOUR,
    TP_TRACE_ALLOC_COLOUR,
    TP_TRACE_CALL_COLOUR,
    TP_TRACE_LOADER_COLOUR,
    TP_TRACE_BLOCKING_COLOUR,
    TP_TRACE_LAUNCH_COLOUR,
    TP_TRACE_OPERATOR_COLOUR,
    TP_TRACE_NOTHING_COLOUR,
    TP_TRACE_HOST_COLOUR,
    TP_TRACE_NUMBER_COLOUR,
    TP_TRACE_DURATION_COLOUR,
    TP_TRACE_ALLOCATED_COLOUR,
    TP_TRACE_RESERVED_COLOUR,
    TP_TRACE_MORE_COLOUR,
    TP_TRACE_LESS_COLOUR,
    TP_TRACE_ACTIVATION_COLOUR, /* memory, as enum tp_memory_kind          */
    TP_TRACE_GRADIENT_COLOUR,
    TP_TRACE_STATE_COLOUR,
    TP_TRACE_BACKWARD_COLOUR,
    TP_TRACE_TEMPORARY_COLOUR,
    TP_TRACE_BEFORE_COLOUR,
    TP_TRACE_UNKNOWN_COLOUR,
    TP_TRACE_PRODUCT_COLOUR, /* kinds of work, as points: as many shapes    */
    TP_TRACE_ATTENTION_COLOUR,
    TP_TRACE_NORM_COLOUR,
    TP_TRACE_POINTWISE_COLOUR,
    TP_TRACE_MOVE_COLOUR,
    TP_TRACE_DOUBT_COLOUR,
    TP_TRACE_PRODUCT_ROOF_COLOUR,
    TP_TRACE_VECTOR_ROOF_COLOUR,
    TP_TRACE_NEED_COLOUR,
    TP_TRACE_ABOVE_COLOUR,
    TP_TRACE_NO_ROOF_COLOUR,
    TP_TRACE_WON_COLOUR,
    TP_TRACE_FIRST_COLOUR,
    TP_TRACE_SECOND_COLOUR,
    TP_TRACE_COLOURS_END
};

/* What one is. */
struct tp_trace_colour_info {
    const char *rgb;  /* "#0072b2"                                        */
    const char *name; /* what it means, as legends say it; "": a trace, whose
                         name they say; what ends in "," they go on        */
};

/* The row of a colour of the enum; never NULL. */
const struct tp_trace_colour_info *
tp_trace_colour_of(enum tp_trace_colour colour);

/* What idle time is charged to. */
enum tp_trace_colour tp_trace_idle_colour(enum tp_idle_cause cause);

/* The rgb of a series' colour, or NULL: it is none of these. */
const char *tp_trace_rgb(unsigned colour);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the colours of trace figures mean. Legends take their words from here,
 * so that a colour cannot get a second meaning, and scripts their rgb. The
 * first are those of Okabe and Ito, which colour-blind readers tell apart; any
 * two are at least 15 apart in CIELAB, as a test counts. The scales of maps are
 * another thing: enum tp_palette.
 */
#include "figures/trace_colours.h"

#include <assert.h>

_Static_assert(TP_TRACE_COLOURS_END == TP_PANEL_COLOURS + 1,
               "a colour of series for each");

#define AT(colour) [TP_TRACE_##colour##_COLOUR - TP_PANEL_SERIES_MAX - 1]
static const struct tp_trace_colour_info
    trace_colours[TP_PANEL_COLOURS - TP_PANEL_SERIES_MAX] = {
        AT(KERNEL) = {"#0072b2", "computation"},
        AT(HIDDEN) = {"#56b4e9", "communication under computation"},
        AT(COPY) = {"#cc79a7", "copies and sets"},
        AT(COMM) = {"#d55e00", "communication not hidden"},
        AT(IDLE) = {"#d9d9d9", "idle"}, /* the device, whatever the cause */
        AT(DEVICE) = {"#a6cee3", "device busy"}, /* whatever at           */
        AT(PENDING) = {"#000000", "work pending"},
        AT(ALLOC) = {"#6a3d9a", "driver allocations"},
        AT(CALL) = {"#8c510a", "runtime calls"}, /* of any kind           */
        AT(LOADER) = {"#e69f00", "DataLoader"},
        AT(BLOCKING) = {"#a50f15", "blocking calls"},
        AT(LAUNCH) = {"#f0e442", "launch calls"},
        AT(OPERATOR) = {"#009e73", "operators on the host"},
        AT(NOTHING) = {"#7f7f7f", "nothing recorded but Python"},
        AT(HOST) = {"#849048", "host"}, /* whatever at                    */
        AT(NUMBER) = {"#3c4848", "share of the number of kernels"},
        AT(DURATION) = {"#0054e4", "share of the time of kernels"},
        AT(ALLOCATED) = {"#3f007d", "allocated"},
        AT(RESERVED) = {"#b2abd2", "reserved"},
        AT(MORE) = {"#e31a1c", "costs more"},
        AT(LESS) = {"#4d9221", "costs less"},
        AT(ACTIVATION) = {"#41b6c4", "activations"},
        AT(GRADIENT) = {"#fc8d59", "gradients"},
        AT(STATE) = {"#601848", "optimizer state"},
        AT(BACKWARD) = {"#c7e9b4", "backward"},
        AT(TEMPORARY) = {"#fdd0a2", "temporary"},
        AT(BEFORE) = {"#a89078", "before the recording"},
        AT(UNKNOWN) = {"#6c543c", "purpose unknown"},
        AT(PRODUCT) = {"#005400", "products, convolution"},
        AT(ATTENTION) = {"#6078e4", "attention"},
        AT(NORM) = {"#a88418", "normalisation, softmax"},
        AT(POINTWISE) = {"#007878", "pointwise"},
        AT(MOVE) = {"#fc90e4", "copy, gather, reduction"},
        AT(DOUBT) = {"#d830cc", "above 105 % of its roof"},
        AT(PRODUCT_ROOF) = {"#002454", "product roof,"},
        AT(VECTOR_ROOF) = {"#606c90", "vector roof"},
        AT(NEED) = {"#0084a8", "what the roof needs"},
        AT(ABOVE) = {"#fdae61", "more than it needs"},
        AT(NO_ROOF) = {"#c0c09c", "its work is not known"},
        AT(WON) = {"#7bc92e", "would be won"},
        AT(FIRST) = {"#1f5d3b", ""},
        AT(SECOND) = {"#c51b7d", ""},
};
#undef AT

const struct tp_trace_colour_info *
tp_trace_colour_of(enum tp_trace_colour colour)
{
    assert(tp_trace_rgb(colour));
    return &trace_colours[colour - TP_PANEL_SERIES_MAX - 1];
}

enum tp_trace_colour tp_trace_idle_colour(enum tp_idle_cause cause)
{
    static const enum tp_trace_colour colours[TP_IDLE_CAUSES] = {
        [TP_IDLE_QUEUED] = TP_TRACE_PENDING_COLOUR,
        [TP_IDLE_ALLOC] = TP_TRACE_ALLOC_COLOUR,
        [TP_IDLE_DATALOADER] = TP_TRACE_LOADER_COLOUR,
        [TP_IDLE_BLOCKING] = TP_TRACE_BLOCKING_COLOUR,
        [TP_IDLE_LAUNCH] = TP_TRACE_LAUNCH_COLOUR,
        [TP_IDLE_CPU_OP] = TP_TRACE_OPERATOR_COLOUR,
        [TP_IDLE_NONE] = TP_TRACE_NOTHING_COLOUR};
    return colours[cause];
}

const char *tp_trace_rgb(unsigned colour)
{
    return colour > TP_PANEL_SERIES_MAX && colour < TP_TRACE_COLOURS_END
               ? trace_colours[colour - TP_PANEL_SERIES_MAX - 1].rgb
               : NULL;
}

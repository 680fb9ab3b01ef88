/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_COMPARE_FIGURE_INPUT_H
#define TP_FIGURES_COMPARE_FIGURE_INPUT_H

#include "compare/compare_calls.h"

/* What the figures of a comparison are made from, borrowed. */
struct tp_compare_figure_input {
    const struct tp_comparison *comparison;
    const struct tp_compare_calls *calls;
};

#endif

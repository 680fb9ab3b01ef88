/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIGURES_H
#define TP_FIGURES_FIGURES_H

#include "base/pool.h"
#include "data/figure.h"
#include "figures/figure_input.h"

struct tp_fig; /* a figure in the making, figures/fig.h */

/* One row of the figure table. */
struct tp_figure_info {
    const char *id;       /* file name without ending                     */
    const char *category; /* folder                                       */
    const char *caption;  /* one line, the figure's heading               */
    const char *needs;    /* completes "needs ...", when nothing is drawn */
    void (*build)(struct tp_fig *fig);
};

/* The rows, by category; ended by a row whose id is NULL. */
extern const struct tp_figure_info tp_figure_table[];

/* All figures of a run, in the order of the table. */
struct tp_figure_set {
    struct tp_figure *figures;
    size_t count;
    struct tp_arena *arenas; /* [count]: each owns one figure */
    struct tp_arena names;   /* of rows and panels, shared by the figures */
};

/* An empty set with room for so many figures, each with an arena. Clear it also
 * after a failure (TP_E_MEMORY only). */
enum tp_status tp_figure_set_init(struct tp_figure_set *set, size_t count,
                                  struct tp_error *err);

/*
 * Builds every figure of the table. One without data has no panels and says
 * what it needs in empty_reason. The input is only read, and the set keeps no
 * pointer into it but to texts, so the stages have to outlive the set. The
 * figures do not depend on the pool's size; `pool` NULL works alone. Clear
 * the set also after a failure (TP_E_MEMORY only).
 */
enum tp_status tp_figures_build(const struct tp_figure_input *input,
                                struct tp_pool *pool,
                                struct tp_figure_set *set,
                                struct tp_error *err);

/* Releases a set; it is empty afterwards. Accepts an empty one. */
void tp_figure_set_clear(struct tp_figure_set *set);

#endif

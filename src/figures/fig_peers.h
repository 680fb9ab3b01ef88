/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIG_PEERS_H
#define TP_FIGURES_FIG_PEERS_H

#include "figures/fig_dump.h"

/*
 * Peers: rows that are the same tensor on several ranks. A sample index does
 * not separate peers, since not every run saves it. (The same tensor in several
 * quant types: tensors/pairs.h.)
 */
struct tp_peers {
    uint32_t *rows;   /* row numbers, peers next to each other, by rank,
                         then by sample                                  */
    uint32_t *groups; /* where each group begins; one more entry: the end */
    size_t count;     /* groups of at least two rows                      */
};

/*
 * Finds the groups of peers among rows with finite elements. Release with
 * tp_peers_clear; out of memory sets fig->failed and finds nothing.
 */
void tp_peers_find(struct tp_fig *fig, struct tp_peers *peers);
void tp_peers_clear(struct tp_peers *peers);

/* An array of one number per row, all NaN, in the figure's arena. */
double *tp_fig_row_values(struct tp_fig *fig);

#endif

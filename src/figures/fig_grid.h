/* SPDX-License-Identifier: MIT */
#ifndef TP_FIGURES_FIG_GRID_H
#define TP_FIGURES_FIG_GRID_H

#include "figures/fig_dump.h"

/*
 * Rows sorted into the cells of a grid: x by series. What every panel starts
 * with.
 */

/* Where the codes of one label go; codes that go nowhere have slot -1. */
struct tp_slots {
    enum tp_key key;         /* TP_KEY_COUNT: one slot for all rows     */
    const int32_t *of_code;
    size_t count;
    size_t fold;             /* codes per slot, when folded             */
};

/* One slot for each chosen code. */
struct tp_slots tp_slots_chosen(struct tp_fig *fig, enum tp_key key,
                                const struct tp_choice *choice);

/* All codes of a label in at most `limit` slots, in order. */
struct tp_slots tp_slots_folded(struct tp_fig *fig, enum tp_key key,
                                size_t limit);

/* The same of the codes of picked rows alone. */
struct tp_slots tp_slots_picked(struct tp_fig *fig, const struct tp_pick *pick,
                                enum tp_key key, size_t limit);

/* The number a slot stands for: the middle of its codes' numbers. */
double tp_slot_number(const struct tp_fig *fig, const struct tp_slots *slots,
                      size_t slot);

/* Values by folded slots, [y * x], as a matrix whose lines are named. */
struct tp_matrix tp_slots_matrix(struct tp_fig *fig, const struct tp_slots *x,
                                 const struct tp_slots *y,
                                 const double *values);

/* One row in its cell. */
struct tp_sample {
    uint32_t cell; /* series * x.count + x */
    uint32_t row;
    double value;  /* of the metric, 0 without one */
};

/* Rows by cell, then by value, then by place. */
struct tp_samples {
    struct tp_sample *rows; /* release with free() */
    size_t count;
};

/*
 * Collects the picked rows that have a slot on both sides and a finite value
 * of ask->metric (any, when it is NULL).
 */
void tp_fig_sample(struct tp_fig *fig, const struct tp_ask *ask,
                   const struct tp_slots *x, const struct tp_slots *series,
                   struct tp_samples *samples);

/* The end of the cell that begins at `first`. */
size_t tp_samples_end(const struct tp_samples *samples, size_t first);

/* The pooled numbers of every cell, NaN where empty: [series * x] values. */
double *tp_fig_pool(struct tp_fig *fig, const struct tp_ask *ask,
                    const struct tp_slots *x, const struct tp_slots *series);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_QUANT_GROUPS_H
#define TP_QUANT_QUANT_GROUPS_H

#include "quant/quant_worst.h"
#include "quant/recommend.h"

/*
 * What formats do to groups of tensors, and which format to take. A group's
 * numbers come from merging its tensors' errors in row order: its SQNR is
 * that of all its elements together.
 */

/* How SQNR depends on a scale exponent, for one tensor. */
struct tp_quant_sweep {
    size_t row;          /* of the run                                     */
    struct tp_quant_place place;
    size_t count;        /* exponents, from `first` on                     */
    int first;
    double *sqnr[3];     /* [count]: of tp_quant_sweep_formats; NaN where
                            something overflows. sqnr[0] owns them all     */
};

/* Rows of one place: quant->placed[first] and those up to the next part's. */
struct tp_quant_part {
    size_t first;
    size_t group; /* number of its first group among those of all parts    */
};

struct tp_quant_sums; /* for who makes groups */

/* All of a run. All-zero bytes: nothing was simulated. */
struct tp_quant {
    const struct tp_run *run; /* borrowed                                  */
    struct tp_arena arena;    /* owns the texts made here                  */
    struct tp_cast_group *groups; /* by grouping, place, cast; those of
                                     BY_PLACE, which a checkpoint has as many
                                     of as tensors, are made when they are
                                     asked for                             */
    size_t group_count, group_capacity;
    const struct tp_row **placed; /* rows, by place of BY_PLACE            */
    struct tp_quant_part *parts;  /* [part_count + 1] by place             */
    size_t part_count;
    struct tp_quant_sums *sums;
    struct tp_recommendation *recommendations; /* by grouping, place; of
                                                  BY_PLACE and BY_NAME     */
    size_t recommendation_count, recommendation_capacity;
    size_t *first; /* [rows + 1]: rows of /quantization before each row     */
    struct tp_quant_sweep *sweeps; /* worst first                          */
    size_t sweep_count;
    struct tp_quant_worst worst;
};

/*
 * Makes groups and recommendations of a run whose rows are there; nothing when
 * its plan is empty. `quant` is zeroed by the caller and released with
 * tp_quant_clear, also after a failure. It borrows the run, which has to stay
 * where it is. TP_E_MEMORY only.
 */
enum tp_status tp_quant_make(const struct tp_run *run, struct tp_quant *quant,
                             struct tp_error *err);

/* Groups of BY_PLACE, by place and cast: how many there are, and `count` of
 * them from `first` on. By one thread at a time. */
size_t tp_quant_place_groups(const struct tp_quant *quant);
void tp_quant_make_place_groups(const struct tp_quant *quant, size_t first,
                                size_t count, struct tp_cast_group *made);

/* Releases what it owns; it is empty afterwards. */
void tp_quant_clear(struct tp_quant *quant);

#endif

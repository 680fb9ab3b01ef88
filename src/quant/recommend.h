/* SPDX-License-Identifier: MIT */
#ifndef TP_QUANT_RECOMMEND_H
#define TP_QUANT_RECOMMEND_H

#include "quant/quant_groups.h"

/*
 * Which number format to take for a group of tensors: the narrowest that
 * reaches plan->min_sqnr in all tensors together and in the worst of them,
 * keeps underflow within plan->max_underflow, makes no infinity or NaN and
 * loses no infinity; among equally wide ones the one with the best SQNR.
 * Only formats narrower than what is stored are looked at; when none will
 * do, the advice is to keep that.
 */

struct tp_recommend_input {
    const struct tp_quant_plan *plan;
    const struct tp_quant_group *groups; /* of one place, by cast          */
    size_t count;                        /* at least 1                     */
    enum tp_dtype dtype;                 /* stored, the widest of them     */
    struct tp_arena *arena;              /* owns the texts                 */
};

/* Fills in *made. TP_E_MEMORY only. */
enum tp_status tp_recommend(const struct tp_recommend_input *input,
                            struct tp_recommendation *made,
                            struct tp_error *err);

#endif

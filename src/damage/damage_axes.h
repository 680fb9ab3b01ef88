/* SPDX-License-Identifier: MIT */
#ifndef TP_DAMAGE_DAMAGE_AXES_H
#define TP_DAMAGE_DAMAGE_AXES_H

#include "damage/damage.h"
#include "data/label.h"

/* What the axes of a tensor mean; an axis of the tensor, or -1. */
struct tp_damage_axes {
    int tokens;   /* positions in a sequence                               */
    int heads;    /* one index is one head                                 */
    int features; /* of an activation: one index is one channel            */
    int experts;  /* of a weight                                           */
    bool heads_in_last; /* the last axis may be heads side by side         */
};

/* What label (or NULL) and shape tell. */
struct tp_damage_axes tp_damage_axes_of(const struct tp_damage_plan *plan,
                                        const struct tp_label *label);

/* The columns of a head, if [first, end) of `length` columns are whole heads
 * of a usual size; 0: they are not. */
int64_t tp_damage_head_dim(int64_t first, int64_t end, int64_t length);

#endif

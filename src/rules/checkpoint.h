/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_CHECKPOINT_H
#define TP_RULES_CHECKPOINT_H

#include <stdbool.h>

#include "tensors/run.h"

/* What the rows of a checkpoint are, for the rules about them. */

enum tp_checkpoint_part {
    TP_PART_OTHER,
    TP_PART_WEIGHT,
    TP_PART_BIAS,
    TP_PART_MOMENT_1, /* of an optimiser: exp_avg                            */
    TP_PART_MOMENT_2  /* exp_avg_sq                                          */
};

/* What a row is: by the last words of its path, and by its label. */
enum tp_checkpoint_part tp_checkpoint_part_of(const struct tp_row *row);

/* Weight or bias of a checkpoint: what an optimiser moves. A weight that was
 * saved while an operation ran is none. */
bool tp_checkpoint_is_parameter(const struct tp_row *row);

/* Whether it belongs to a layer that normalises, as its path says. */
bool tp_checkpoint_is_norm(const struct tp_row *row);

/* Whether all elements are finite and the same, and there are several. */
bool tp_checkpoint_is_constant(const struct tp_row *row);

/* Whether two rows hold the same values, as far as all their statistics tell:
 * of more than one element that is so by a chance that does not matter. */
bool tp_checkpoint_are_equal(const struct tp_row *a, const struct tp_row *b);

/* Whether two files lie in one directory. */
bool tp_checkpoint_is_beside(const struct tp_row *a, const struct tp_row *b);

/* Whether a path ends in these words: the ending is the whole, or what is
 * before it ends in '.', '_' or ']'. "#value" is left out. */
bool tp_checkpoint_ends_in(const char *path, const char *ending);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_RULES_CHECKPOINT_H
#define TP_RULES_CHECKPOINT_H

#include <stdbool.h>

#include "rules/findings.h"
#include "tensors/run.h"

/* What the rows of a checkpoint are, for the rules about them. */

/* Weight or bias of a checkpoint: what an optimiser moves. A weight that was
 * saved while an operation ran is none, nor is a mask that is called bias. */
bool tp_checkpoint_is_parameter(const struct tp_row *row);

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

/* Rows of a run that have one fault; all-zero bytes: none. */
struct tp_fault {
    const struct tp_row *worst; /* of the first iteration that has it       */
    double share;               /* how much of that row                     */
    size_t rows, files, source; /* source: of the newest                    */
};

/* Counts a row, whose file's rows come together; a share of 0 is no fault. */
void tp_fault_add(struct tp_fault *fault, const struct tp_row *row,
                  double share);

/* "; so in 3 other tensors, of 2 files in all": what was counted beside the
 * worst; "" if that is the only one. */
const char *tp_fault_others(const struct tp_fault *fault,
                            struct tp_findings *findings);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_RUN_NOTES_H
#define TP_TENSORS_RUN_NOTES_H

#include "tensors/run.h"

/* Says once each, as notes of the run, which tensors have no rows for casts:
 * integers, and those of dtypes that a format does not apply to. */
void tp_run_note_casts(struct tp_run *run);

#endif

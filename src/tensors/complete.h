/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_COMPLETE_H
#define TP_TENSORS_COMPLETE_H

#include "tensors/run.h"

/*
 * Adds a note for each rank with an iteration that lacks tensors which its
 * other iterations, or the other ranks, lead one to expect. TP_E_MEMORY only.
 */
enum tp_status tp_complete_note(struct tp_run *run, struct tp_error *err);

#endif

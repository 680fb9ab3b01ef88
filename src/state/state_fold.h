/* SPDX-License-Identifier: MIT */
#ifndef TP_STATE_STATE_FOLD_H
#define TP_STATE_STATE_FOLD_H

#include "base/file.h"
#include "base/text.h"
#include "state/state.h"

/*
 * Beside a state the other processes of its run keep what they have read until
 * rank 0 has it: STATE.rank-1 and so on. They are there after a run that was
 * cut off.
 */

/* The name of the file of a process. */
void tp_state_side(const char *path, unsigned rank, struct tp_text *side);

/* The files beside a state, sorted, to an empty list. TP_E_MEMORY. */
enum tp_status tp_state_find_sides(const char *path,
                                   struct tp_found_list *sides,
                                   struct tp_error *err);

/*
 * Adds what stands beside a state to it, and removes it there. Nothing happens
 * where nothing is. Fails as tp_state_read and tp_state_write, and with
 * TP_E_UNSUPPORTED where they were made with other options.
 */
enum tp_status tp_state_fold(const char *path, struct tp_error *err);

/* Removes what stands beside a state that is whole. */
void tp_state_drop_sides(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_SAVED_CALLS_H
#define TP_REPLAY_SAVED_CALLS_H

#include "dump/dump_read.h"

/*
 * Calls from files of tensor_saver, as a dump. What one call takes and gives is
 * saved one after the other with the same labels, so that operands wait for
 * their result:
 *
 *     linear forward      input, weight -> output         LN.linear.I.forward
 *     linear backward     grad_output, weight -> grad_input
 *                                                   LN.linear_dgrad.I.forward
 *     attention forward   query, key, value -> (attention_weights,) output
 *                                                 LN.core_attention.I.forward
 *
 * N is the layer, I counts the calls of its kind in a place: an iteration of a
 * rank in a directory.
 */

/*
 * Makes places of the files that dump->found has, of the iterations and ranks
 * that are asked for; steps are iterations. Only the heads of files are read; a
 * file that cannot be is an item without a shape. What waits for a result in
 * vain is counted in a note. TP_E_NOT_FOUND: no call is complete; TP_E_MEMORY,
 * TP_E_INTERRUPTED.
 */
enum tp_status tp_saved_calls_read(const struct tp_dump_read_options *options,
                                   struct tp_dump *dump, struct tp_error *err);

#endif

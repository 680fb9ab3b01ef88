/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_ACTIVATIONS_H
#define TP_DUMP_DUMP_ACTIVATIONS_H

#include "base/bytes.h"
#include "dump/dump.h"

/*
 * A log of torchtitan's activations as a dump: each operator is a call with
 * one result, which has the statistics that the log prints. What it was given
 * is known of the producers that the log has, too: they are its inputs, with
 * the statistics of their results; so is an input "hash", where a hash tells of
 * a NaN that none of these has.
 */

/* Adds the log's calls to an empty place. TP_E_DAMAGED: those before the cut
 * were added; fails else as tp_activation_log_read does. */
enum tp_status tp_dump_activations_read(const struct tp_bytes *bytes,
                                        struct tp_dump_place *place,
                                        struct tp_error *err);

#endif

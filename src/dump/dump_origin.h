/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_ORIGIN_H
#define TP_DUMP_DUMP_ORIGIN_H

#include <signal.h>

#include "base/pool.h"
#include "dump/dump_anomaly.h"
#include "dump/dump_findings.h"

/*
 * A finding for each origin of NaN and Inf; origins of one API, or of one
 * module, are one finding, that of the first step, rank and call. High: where
 * it began; medium: where it was there already, or came from a rank that is
 * not in the dump, when an earlier step or that rank may have it. Of each the
 * tensor is read, where a file has it, for which elements they are; without a
 * pool none is. Nonzero `*stop` gives up. TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_dump_origins_find(const struct tp_dump *dump,
                                    const struct tp_dump_anomalies *anomalies,
                                    struct tp_pool *pool,
                                    const volatile sig_atomic_t *stop,
                                    struct tp_dump_findings *findings,
                                    struct tp_error *err);

/* Adds "float32 [4, 8] from -2 to 3.5" of a tensor. */
void tp_dump_item_range(const struct tp_dump_item *item, struct tp_text *text);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_FLOW_H
#define TP_DUMP_DUMP_FLOW_H

#include <signal.h>

#include "base/pool.h"
#include "data/table.h"
#include "dump/dump.h"
#include "dump/dump_findings.h"
#include "dump/dump_unread.h"

/*
 * Whether what a call uses is what another call made: memory that changed
 * between the two, and contents of another call or step.
 */

/* A tensor that is not what it should be. Texts are never NULL. */
struct tp_dump_flow_row {
    int64_t step, rank;
    const char *kind;     /* "changed", "stale", "repeated"                */
    const char *producer; /* an item                                       */
    int64_t producer_order;
    const char *consumer;
    int64_t consumer_order;
    int64_t numel;
    int64_t differing, first, last; /* elements; -1: none                 */
    int64_t first_byte, last_byte;  /* of the contents, row-major           */
    const char
        *damage; /* id of tp_damage_shapes: their pattern; "": not known */
};

/* All-zero bytes are none. */
struct tp_dump_flow {
    struct tp_dump_flow_row *rows; /* by rank, step, order                 */
    size_t count, capacity;
    size_t inputs;  /* that files have                                     */
    size_t matched; /* that are, bit by bit, something before them         */
    struct tp_dump_unread unread;
    struct tp_arena arena;
};

/*
 * Audits the tensors of a dump that files have, adds findings, and sets the
 * CRC of items. Holds a fingerprint of 180 bytes for each tensor of two steps
 * of a rank, and pieces of two tensors. Release with tp_dump_flow_clear, also
 * after a failure: TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_dump_flow_find(struct tp_dump *dump, struct tp_pool *pool,
                                 const volatile sig_atomic_t *stop,
                                 struct tp_dump_flow *flow,
                                 struct tp_dump_findings *findings,
                                 struct tp_error *err);

/* Releases everything. */
void tp_dump_flow_clear(struct tp_dump_flow *flow);

/* The table `flow`. */
void tp_dump_flow_table(const struct tp_dump_flow *flow,
                        struct tp_table *table);

#endif

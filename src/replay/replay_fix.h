/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_FIX_H
#define TP_REPLAY_REPLAY_FIX_H

#include "replay/replay_run.h"

/*
 * handler_type fix of a dump: a result is replaced by what higher precision
 * gives, rounded to its dtype, and the calls that take it are computed with it.
 * One step: what comes behind these the dump cannot tell.
 */

/* A result, and a call that takes it. Texts are the dump's. */
struct tp_fix_row {
    int64_t step, rank;
    const char *api_name;
    int64_t output_index; /* of the result                                  */
    const char *consumer;
    const char *argument;   /* of the consumer: "0", "weight"                */
    double change;          /* of the result, relative, by L2 norms          */
    double consumer_change; /* of the consumer's results by that, alike     */
    double rounding;        /* one rounding to the dtype of these            */
    int64_t order;          /* of the call                                   */
};

/* All-zero bytes are none. */
struct tp_fixes {
    struct tp_fix_row *rows; /* by place, order, result, consumer           */
    size_t count, capacity;
    uint64_t replaced; /* results that higher precision changes             */
    uint64_t consumed; /* of these, taken by a call that is replayed        */
};

/*
 * Goes through the calls that were judged. `half_only`: calls with an argument
 * in half precision, as improve_precision. The result does not depend on the
 * number of threads. Released with tp_fixes_clear also after a failure:
 * TP_E_MEMORY, TP_E_INTERRUPTED.
 */
enum tp_status tp_fixes_make(const struct tp_dump *dump,
                             const struct tp_replay_options *options,
                             const struct tp_replay_results *results,
                             bool half_only, struct tp_fixes *fixes,
                             struct tp_error *err);

/* Releases the rows; empty afterwards. */
void tp_fixes_clear(struct tp_fixes *fixes);

/* The table "fixes". */
void tp_fixes_table(const struct tp_fixes *fixes, struct tp_table *table);

#endif

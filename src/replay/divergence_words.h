/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_DIVERGENCE_WORDS_H
#define TP_REPLAY_DIVERGENCE_WORDS_H

#include "replay/divergence_row.h"
#include "replay/item_diff.h"
#include "replay/replay.h"

/* Names and sentences of a search for the first divergence. Texts are the
 * arena's or constant; without memory evidence stays "". */

/* Whether an argument is one of an operator's parameters, which no operator
 * makes. `operator` may be NULL: none is. */
bool tp_divergence_is_parameter(const struct tp_operator *operator,
                                const struct tp_dump_item * item);

/* The layer of the module that a call is in; -1: not known. */
int64_t tp_divergence_layer(const struct tp_dump_place *place,
                            const struct tp_dump_call *call);

/* The floating tensor with the largest rounding; NULL: none is floating. */
const struct tp_dump_item *tp_divergence_coarsest(
    const struct tp_dump_place *place, const struct tp_dump_call *call);

/* The dtype of the first result, "bfloat16"; "": there is none. */
const char *tp_divergence_dtype(const struct tp_dump_place *place,
                                const struct tp_dump_call *call,
                                struct tp_arena *arena);

/* Set the evidence of a row: as printf does; ... */
void tp_divergence_say(struct tp_divergence_row *row, struct tp_arena *arena,
                       const char *format, ...) TP_PRINTF(3, 4);

/* ... that data from outside differs; */
void tp_divergence_say_data(struct tp_divergence_row *row,
                            const struct tp_dump_item *item,
                            const struct tp_item_diff *diff,
                            struct tp_arena *arena);

/* ... that an argument does, in value or shape; `b` may be NULL; */
void tp_divergence_say_argument(struct tp_divergence_row *row,
                                const struct tp_dump_item *a,
                                const struct tp_dump_item *b,
                                struct tp_arena *arena);
void tp_divergence_say_shape(struct tp_divergence_row *row,
                             const struct tp_dump_item *a,
                             const struct tp_dump_item *b,
                             struct tp_arena *arena);

/* ... what a run adds, what its dtype does (`coarsest`: the tensor that has it;
 * NULL: not said), or why that is not known. */
void tp_divergence_say_added(struct tp_divergence_row *row,
                             enum tp_divergence_verdict verdict,
                             const struct tp_replay_verdict *a,
                             const struct tp_replay_verdict *b,
                             struct tp_arena *arena);
void tp_divergence_say_low(struct tp_divergence_row *row, const char *run,
                           const struct tp_dump_item *coarsest,
                           const struct tp_replay_verdict *verdict,
                           struct tp_arena *arena);
void tp_divergence_say_unjudged(struct tp_divergence_row *row,
                                const struct tp_replay_verdict *verdict,
                                struct tp_arena *arena);

/* What comes out of all rows, one to three sentences; NULL: no memory. */
const char *tp_divergence_sentence(struct tp_divergence *divergence);

#endif

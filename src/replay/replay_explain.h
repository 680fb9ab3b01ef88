/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_EXPLAIN_H
#define TP_REPLAY_REPLAY_EXPLAIN_H

#include "replay/replay.h"

/* What a wrong result would be the right one of. */

enum tp_explain_id {
    TP_EXPLAIN_NOTHING,    /* none of these                                 */
    TP_EXPLAIN_KEPT,       /* the result of an earlier call: not written    */
    TP_EXPLAIN_STALE,      /* an argument as an earlier call had it         */
    TP_EXPLAIN_NO_BIAS,    /* the bias left out                             */
    TP_EXPLAIN_TRANSPOSED, /* a matrix read along its other axis            */
    TP_EXPLAIN_EPS,        /* another eps                                   */
    TP_EXPLAIN_FORMULA,    /* the other formula, or training or not         */
    TP_EXPLAIN_SCALE,      /* all of it times a number                      */
    TP_EXPLAIN_LOST,       /* sums without their last terms                 */
    TP_EXPLAIN_REGION,     /* right but for a part                          */
    TP_EXPLAIN_STEPS,      /* every step in fewer bits than its tensors have */
    TP_EXPLAIN_UNLIKE,     /* off as sums in its tensors' dtype are not, only
                              bounded by these                              */
    TP_EXPLAIN_CANCELLED,  /* nothing wrong: what is left of terms that cancel,
                              and a rounding of the arguments changes as much */
    TP_EXPLAIN_IDS
};

/* "nothing", "kept", "stale", ... in this order. */
extern const char *const tp_explain_words[TP_EXPLAIN_IDS];

struct tp_explain {
    enum tp_explain_id id;
    char words[240]; /* a clause: "its bias was left out"; "": nothing      */
};

/*
 * Tries one after the other what would make a result of a call right that
 * accumulation in float32 does not explain; `verdict` is the call's. If fewer
 * bits do, only what explains it better counts: with accumulation in float32,
 * and a part only where it has a shape. What cannot be tried explains nothing.
 * TP_E_MEMORY only.
 */
enum tp_status tp_replay_explain(const struct tp_dump *dump, size_t place,
                                 size_t call,
                                 const struct tp_replay_verdict *verdict,
                                 struct tp_explain *explain,
                                 struct tp_error *err);

/* Whether a result is wrong: unexplained by rounding, or better by a mistake
 * than by fewer bits. */
bool tp_replay_is_wrong(const struct tp_replay_verdict *verdict,
                        const struct tp_explain *explain);

/* "explained", "narrow" or "wrong". */
const char *tp_replay_judgement(const struct tp_replay_verdict *verdict,
                                const struct tp_explain *explain);

#endif

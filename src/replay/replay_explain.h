/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_EXPLAIN_H
#define TP_REPLAY_REPLAY_EXPLAIN_H

#include "replay/explain_cause.h"
#include "replay/replay.h"

/* A wrong result is taken apart. */

/* "nothing", "kept", "stale", ... in this order. */
extern const char *const tp_explain_words[TP_EXPLAIN_IDS];

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

/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_TRACE_VERDICT_WORDS_H
#define TP_VERDICT_TRACE_VERDICT_WORDS_H

#include "verdict/judged.h"

/* The sentence of a verdict on a trace, with its figures; `share` is what the
 * verdict was picked by. Owned by `judged`. */
const char *tp_trace_verdict_words(struct tp_trace_judged *judged,
                                   const struct tp_trace *trace,
                                   enum tp_verdict verdict, double share);

/* Where the host is when it is in no operator and no call: in Python, if frames
 * say so. */
const char *tp_trace_unrecorded_words(const struct tp_trace *trace);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_REPAIR_H
#define TP_REPLAY_REPLAY_REPAIR_H

#include "replay/replay_perturbed.h"

/* Why a call loses digits, and the cheapest change that keeps them. */

enum tp_repair_cause {
    TP_REPAIR_UNKNOWN,
    TP_REPAIR_CANCELLATION, /* terms are much larger than their sum         */
    TP_REPAIR_VARIANCE,     /* a denominator near zero: a variance          */
    TP_REPAIR_LOGITS,       /* exponents of numbers with a large step       */
    TP_REPAIR_LOGARITHM,    /* arguments near 1, results near 0             */
    TP_REPAIR_SUM,          /* steps of a sum lose addends                  */
    TP_REPAIR_CAUSES
};

/* "unknown", "cancellation", "variance", "logits", "logarithm", "sum". */
extern const char *const tp_repair_words[TP_REPAIR_CAUSES];

struct tp_replay_repair {
    enum tp_repair_cause cause;
    char why[160];    /* a sentence                                         */
    char change[200]; /* a sentence: a change that was tried and keeps the
                         digits; "": none that was tried does               */
};

/*
 * Of a call whose amplification is above tp_perturbed_limit. Each change is
 * made and its amplification measured. What cannot be computed is unknown.
 * TP_E_MEMORY only.
 */
enum tp_status tp_repair_condition(const struct tp_dump_place *place,
                                   const struct tp_dump_call *call,
                                   const struct tp_operator *operator,
                                   struct tp_replay_repair * repair,
                                   struct tp_error *err);

/* Of a call whose results only steps in its tensors' dtype explain: sums,
 * means and linears; `verdict` names the element. As above. */
enum tp_status tp_repair_steps(const struct tp_dump_place *place,
                               const struct tp_dump_call *call,
                               const struct tp_replay_verdict *verdict,
                               struct tp_replay_repair *repair,
                               struct tp_error *err);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_EXPLAIN_CAUSE_H
#define TP_REPLAY_EXPLAIN_CAUSE_H

/* What a wrong result would be the right one of. */

enum tp_explain_id {
    TP_EXPLAIN_NOTHING,    /* none of these                                 */
    TP_EXPLAIN_KEPT,       /* the result of an earlier call: not written    */
    TP_EXPLAIN_STALE,      /* an argument as an earlier call had it         */
    TP_EXPLAIN_NO_BIAS,    /* the bias left out                             */
    TP_EXPLAIN_TRANSPOSED, /* a matrix read along its other axis            */
    TP_EXPLAIN_EPS,        /* another eps                                   */
    TP_EXPLAIN_FORMULA,    /* the other formula, or another setting         */
    TP_EXPLAIN_MASK,       /* a mask not applied, or one too many           */
    TP_EXPLAIN_DIM,        /* along another axis                            */
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

struct tp_explain {
    enum tp_explain_id id;
    char words[240]; /* a clause: "its bias was left out"; "": nothing      */
};

#endif

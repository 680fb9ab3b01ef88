/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_H
#define TP_REPLAY_REPLAY_H

#include "replay/operators.h"

/*
 * Calls of a dump, computed again in fp64 from their own dumped arguments, and
 * what was dumped judged by it. A backward call has the gradients of its
 * results as arguments, and those of its forward call.
 */

enum tp_replay_state {
    TP_REPLAY_JUDGED,      /* computed, and compared                        */
    TP_REPLAY_RANDOM,      /* its result is random                          */
    TP_REPLAY_UNSET,       /* its result is memory that nobody has set      */
    TP_REPLAY_UNSUPPORTED, /* no operator of that name, or not in that form */
    TP_REPLAY_UNREADABLE,  /* tensors are not there, or damaged             */
    TP_REPLAY_OTHER        /* no call of an operator: a module, a variable,
                              communication                                 */
};

enum { TP_REPLAY_STATES = TP_REPLAY_OTHER + 1 };

/* "judged", "random", "unset", "unsupported", "unreadable", "other". */
extern const char *const tp_replay_state_words[TP_REPLAY_STATES];

/*
 * What was dumped against the replay. The limit of an element is its running
 * error bound plus one rounding to the dtype of the result; `excess` the
 * largest |dumped - computed| / limit, above 1 where the dtype and its
 * accumulation do not explain the result. Infinite where a NaN or infinity
 * stands against a number that its dtype could hold, or exact values differ.
 */
struct tp_replay_verdict {
    enum tp_replay_state state;
    char reason[400]; /* "": judged                                         */
    const struct tp_operator *operator; /* NULL: none of that name         */
    double excess;
    double excess_own; /* the same, had every step been rounded to the coarsest
                          dtype of the call's tensors, as devices without a
                          wider accumulator do; computed where excess > 1   */
    size_t result; /* which one exceeds most ...                           */
    int64_t at;    /* ... at which element, row-major; -1: no element       */
    double dumped, computed, limit; /* there                                */
    double relative; /* |dumped - computed| over |computed|, by L2 norms of
                        the finite elements of all results; NaN: nothing    */
    double bound;    /* the same of the limits: what is explained at most   */
    double ulp;      /* |dumped - computed| over units in the last place of
                        what was computed, by L2 norms; NaN: nothing        */
    double ulp_rounded; /* the same of what was computed, rounded once      */
    double cosine; /* of dumped and computed results; NaN: nothing        */
    bool cast;     /* it casts what goes in, as under autocast              */
    bool counted;  /* a sum whose bound has each rounding to the tensors'
                      dtype: no step more is excused                        */
    bool suspect;  /* each element may be rounding, together they are not: all
                      times a number, or off as sums in float32 are not      */
    bool own_unbounded;   /* no limit of excess_own is finite somewhere       */
    uint64_t given, made; /* digests of what goes in (replay_repeat.h) and of
                             results that were dumped                       */
    uint64_t nonfinite;   /* NaN and infinities of results, both computed and
                             dumped, where all that goes in is finite         */
    uint64_t nans;        /* NaN among them                                  */
    uint64_t beyond;      /* NaN, infinities and zeros of fp16 that steps on the
                             way may have made by leaving its range           */
};

/* The operator of a forward call, and of a backward call; NULL: it calls none
 * that is replayed. `state` says why. */
const struct tp_operator *tp_replay_operator(const struct tp_dump_call *call,
                                             enum tp_replay_state *state);
const struct tp_operator *tp_replay_backward_operator(
    const struct tp_dump_call *call, enum tp_replay_state *state);

/*
 * Computes the results of a call, whose tensors are loaded; they are in
 * replay->outputs, with bounds. TP_E_UNSUPPORTED: it cannot be done, and why.
 */
enum tp_status tp_replay_run(struct tp_replay_call *replay,
                             const struct tp_operator *row,
                             struct tp_error *err);

/* The worst element of a result over its limit; of two of as many elements. */
double tp_replay_excess(const struct tp_array *computed,
                        const struct tp_array *dumped);

/* The same of element i. */
double tp_replay_element_excess(const struct tp_array *computed,
                                const struct tp_array *dumped, int64_t i);

/* How far a result is explained. */
enum tp_replay_level {
    TP_REPLAY_EXPLAINED,     /* by accumulation in fp32, and a few steps in
                                the tensors' dtype                          */
    TP_REPLAY_SUSPECT,       /* the same, but of each element alone         */
    TP_REPLAY_LOW_PRECISION, /* only by every step in the tensors' dtype    */
    TP_REPLAY_UNEXPLAINED    /* by neither                                  */
};

/* Kernels of a few steps keep what is between them in the tensors' dtype, as
 * 1 / sqrt(x) and a sum times a factor are: three roundings beside the last. A
 * sum of losses has them in its bound. */
enum { TP_REPLAY_STEPS = 4 };

/* The level; excess up to TP_REPLAY_STEPS is explained if excess_own is. Sums
 * that are too long for a bound explain nothing that points elsewhere: a cosine
 * below a half, where random signs of a result give about 0. What a call casts
 * by itself is rounded to that dtype: it is no low precision of its steps. */
enum tp_replay_level tp_replay_level_of(
    const struct tp_replay_verdict *verdict);

/*
 * Judges a call; what cannot be judged is its state, no failure. Holds the
 * tensors of the call, once as doubles, and its results twice. TP_E_MEMORY.
 */
enum tp_status tp_replay_judge(const struct tp_dump_place *place,
                               const struct tp_dump_call *call,
                               struct tp_replay_verdict *verdict,
                               struct tp_error *err);

#endif

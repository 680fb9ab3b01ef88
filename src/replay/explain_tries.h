/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_EXPLAIN_TRIES_H
#define TP_REPLAY_EXPLAIN_TRIES_H

#include "dump/dump.h"
#include "replay/explain_cause.h"
#include "replay/replay.h"

/* A call whose result is wrong, and one mistake after the other tried in it. */
struct tp_tries {
    const struct tp_dump *dump;
    size_t place, index;
    const struct tp_replay_verdict *verdict;
    bool strict; /* fewer bits explain it: this has to be better            */
    struct tp_replay_call call;
    struct tp_array *dumped; /* [count]: results of the dump                */
    size_t count;
    double unit;    /* of accumulation, at first                            */
    double off;     /* of what is right from what was dumped, by norms      */
    int64_t beyond; /* elements of the worst result that rounding in float32
                       does not explain                                     */
    uint64_t beyond_results; /* bit i: result i has such elements           */
    struct tp_explain *explain;
};

#define TP_SAY(t, ...) \
    snprintf((t)->explain->words, sizeof(t)->explain->words, __VA_ARGS__)

/* Runs the call as it now is; whether all elements are within their limits of
 * what was dumped. Where it has not the results that were dumped,
 * t->call.output_count is 0. `off`: the difference by norms, of finite
 * elements. */
bool tp_tries_run(struct tp_tries *t, double *off);

/* The results as they now are from what was dumped, each by norms over one
 * rounding of its dtype. */
double tp_tries_misfit(const struct tp_tries *t);

/* As tp_tries_run() of a mistake: it has to take away half of the error, too,
 * or it is only that the limits are wide. */
bool tp_tries_fit(struct tp_tries *t);

/* The call that has the arguments: of a backward call that whose gradients it
 * makes. */
struct tp_replay_call *tp_tries_subject(struct tp_tries *t);

/* The same with other values in the place of a tensor of the call or of its
 * forward call; they are put back. */
bool tp_tries_fit_with(struct tp_tries *t, struct tp_array *array,
                       const double *values);

/* Whether all results that are off are what sums in fewer bits give
 * (sum_terms.h). */
bool tp_tries_sums_in(const struct tp_tries *t, double rounding, bool exactly,
                      bool *known);

/* Whether sums in the tensors' own dtype would have put off elements that are
 * not marked, too. */
bool tp_tries_sums_spare(const struct tp_tries *t, const uint8_t *marks);

/* Whether an infinity may be what sums in fewer bits come to, which strict or
 * not is a cause of its own. */
bool tp_tries_may_overflow(const struct tp_tries *t);

/* The mistakes: whether one is what was dumped, which is then said. */
bool tp_try_bias(struct tp_tries *t);
bool tp_try_transposed(struct tp_tries *t);
bool tp_try_eps(struct tp_tries *t);
bool tp_try_any_eps(struct tp_tries *t);
bool tp_try_formula(struct tp_tries *t);
bool tp_try_mask(struct tp_tries *t);
bool tp_try_axis(struct tp_tries *t);
bool tp_try_kept(struct tp_tries *t);
bool tp_try_kept_otherwise(struct tp_tries *t); /* of the same tensors      */
bool tp_try_stale(struct tp_tries *t);
bool tp_try_scale(struct tp_tries *t);
bool tp_try_region(struct tp_tries *t);
bool tp_try_lost(struct tp_tries *t);
bool tp_try_steps(struct tp_tries *t);
bool tp_try_unlike(struct tp_tries *t);

#endif

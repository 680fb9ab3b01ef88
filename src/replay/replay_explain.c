/* SPDX-License-Identifier: MIT */
/*
 * A table of mistakes, each made in a copy of the arguments and computed: the
 * first whose result is what was dumped is named. Those that change one thing
 * exactly come first, then fewer bits, which are simulated, then what hits a
 * part only, as large errors of few bits do, too. A mistake counts only if all
 * elements fit, within rounding of every step to the tensors' own dtype, which
 * the right arguments did not. Alternative: to compare shapes of errors, which
 * another mistake of the same shape fools. Cost: some twenty runs of the
 * kernel, of wrong results only.
 */
#include "replay/replay_explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/explain_tries.h"
#include "replay/replay_condition.h"

const char *const tp_explain_words[TP_EXPLAIN_IDS] = {
    "nothing", "kept",    "stale", "no_bias", "transposed",
    "eps",     "formula", "mask",  "dim",     "scale",
    "lost",    "region",  "steps", "unlike",  "cancellation"};

/* --- the whole ------------------------------------------------------------ */

static enum tp_status read_dumped(struct tp_tries *t, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    t->dumped = calloc(t->call.output_count + 1, sizeof *t->dumped);
    if (!t->dumped)
        return tp_fail_memory(err);
    t->count = t->call.output_count;
    for (size_t i = 0; i < t->count && status == TP_OK; i++)
        status =
            tp_array_read(tp_replay_result(&t->call, i), &t->dumped[i], err);
    return status;
}

/* Whether a result is nearly nothing beside what a rounding of the arguments
 * makes of it, and off by no more than a few of these. */
static bool is_cancelled(struct tp_tries *t)
{
    enum { ROUNDINGS = 4 };
    double off = 0, size = 0;
    for (size_t i = 0; i < t->count; i++)
        for (int64_t k = 0; k < t->dumped[i].count; k++) {
            const double v = t->call.outputs[i].value[k];
            const double d = t->dumped[i].value[k] - v;
            off += d * d;
            size += isfinite(v) ? v * v : 0;
        }
    const double change = tp_condition_change(&t->call, t->verdict->operator);
    if (!(sqrt(off) <= ROUNDINGS * change) ||
        !(sqrt(size) <= ROUNDINGS * change))
        return false;
    TP_SAY(t,
           "its terms cancel: it is %.2g by norms, a rounding of its "
           "arguments changes it by %.2g, and it is off by %.2g",
           sqrt(size), change, sqrt(off));
    return true;
}

/* Elements of the worst result that a few roundings do not explain, and which
 * results have any that one does not. */
static void count_beyond(struct tp_tries *t)
{
    for (size_t r = 0; r < t->call.output_count && r < t->count; r++)
        for (int64_t i = 0; i < t->dumped[r].count; i++) {
            const double excess =
                tp_replay_element_excess(&t->call.outputs[r], &t->dumped[r], i);
            if (excess > 1 && r < 64 && !t->call.outputs[r].loose)
                t->beyond_results |= (uint64_t)1 << r;
            t->beyond += r == t->verdict->result && excess > TP_REPLAY_STEPS;
        }
}

/* First with accumulation in float32, then with every step in the tensors' own
 * dtype, whose bounds tell less. */
static void try_all(struct tp_tries *t)
{
    static const struct {
        enum tp_explain_id id;
        bool (*holds)(struct tp_tries *t);
    } mistakes[] = {{TP_EXPLAIN_KEPT, tp_try_kept},
                    {TP_EXPLAIN_STALE, tp_try_stale},
                    {TP_EXPLAIN_NO_BIAS, tp_try_bias},
                    {TP_EXPLAIN_TRANSPOSED, tp_try_transposed},
                    {TP_EXPLAIN_EPS, tp_try_eps},
                    {TP_EXPLAIN_FORMULA, tp_try_formula},
                    {TP_EXPLAIN_MASK, tp_try_mask},
                    {TP_EXPLAIN_DIM, tp_try_axis},
                    {TP_EXPLAIN_LOST, tp_try_lost},
                    {TP_EXPLAIN_SCALE, tp_try_scale},
                    {TP_EXPLAIN_EPS, tp_try_any_eps},
                    {TP_EXPLAIN_KEPT, tp_try_kept_otherwise},
                    {TP_EXPLAIN_STEPS, tp_try_steps},
                    {TP_EXPLAIN_REGION, tp_try_region},
                    {TP_EXPLAIN_UNLIKE, tp_try_unlike}};
    const size_t count = sizeof mistakes / sizeof *mistakes;
    if (is_cancelled(t)) {
        t->explain->id = TP_EXPLAIN_CANCELLED;
        return;
    }
    bool known;
    double off;
    tp_tries_run(t, &t->off);
    count_beyond(t);
    t->unit = t->call.unit;
    if (t->call.output_count == 0)
        return;
    if (t->strict && tp_tries_sums_in(t, t->call.own, true, &known))
        return; /* to the last bit                                          */
    for (int pass = t->strict; pass < 2; pass++) {
        /* of long sums in few bits nothing bounds a NaN, either */
        if (pass == 1 && !t->strict && isfinite(t->verdict->dumped))
            t->call.unit = fmax(t->call.unit, t->call.own);
        for (size_t i = 0; i < count; i++) {
            const enum tp_explain_id id = mistakes[i].id;
            t->explain->words[0] = '\0';
            tp_tries_run(t, &off); /* the results as they should be         */
            if (t->call.output_count == t->count &&
                !(t->strict && id == TP_EXPLAIN_STEPS &&
                  !tp_tries_may_overflow(t)) &&
                !(pass == 0 && id >= TP_EXPLAIN_REGION) &&
                mistakes[i].holds(t)) {
                t->explain->id = id;
                return;
            }
        }
    }
    t->explain->words[0] = '\0';
}

enum tp_status tp_replay_explain(const struct tp_dump *dump, size_t place,
                                 size_t call,
                                 const struct tp_replay_verdict *verdict,
                                 struct tp_explain *explain,
                                 struct tp_error *err)
{
    struct tp_error own = {0};
    bool lost = false;
    struct tp_tries t = {.dump = dump,
                         .place = place,
                         .index = call,
                         .verdict = verdict,
                         .strict = tp_replay_level_of(verdict) ==
                                   TP_REPLAY_LOW_PRECISION,
                         .call = {.place = &dump->places[place],
                                  .call = &dump->places[place].calls[call],
                                  .signature = verdict->operator->signature,
                                  .lost = &lost},
                         .explain = explain};
    memset(explain, 0, sizeof *explain);
    enum tp_status status = tp_replay_call_load(&t.call, &own);
    if (status == TP_OK)
        status = tp_replay_run(&t.call, verdict->operator, & own);
    if (status == TP_OK)
        status = read_dumped(&t, &own);
    if (status == TP_OK)
        try_all(&t);
    for (size_t i = 0; i < t.count; i++)
        tp_array_clear(&t.dumped[i]);
    free(t.dumped);
    tp_replay_call_clear(&t.call);
    return status == TP_E_MEMORY || lost ? tp_fail_memory(err) : TP_OK;
}

bool tp_replay_is_wrong(const struct tp_replay_verdict *verdict,
                        const struct tp_explain *explain)
{
    const enum tp_replay_level level = tp_replay_level_of(verdict);
    return verdict->state == TP_REPLAY_JUDGED &&
           explain->id != TP_EXPLAIN_CANCELLED &&
           (level == TP_REPLAY_UNEXPLAINED ||
            (level != TP_REPLAY_EXPLAINED && explain->id));
}

const char *tp_replay_judgement(const struct tp_replay_verdict *verdict,
                                const struct tp_explain *explain)
{
    return tp_replay_is_wrong(verdict, explain) ? "wrong"
           : tp_replay_level_of(verdict) == TP_REPLAY_LOW_PRECISION &&
                   explain->id != TP_EXPLAIN_CANCELLED
               ? "narrow"
               : "explained";
}

/* SPDX-License-Identifier: MIT */
/*
 * A result is wrong where the running error bound of the operator, with every
 * step rounded to the tensors' own dtype, does not reach it; it was computed
 * narrowly where only that bound does. An operator is ill-conditioned where its
 * amplification of a rounding leaves less than half of the significant bits: by
 * more than 1 / sqrt(u), u the rounding of the coarsest floating tensor. That
 * half is a convention: below it a result says little, above it the worst that
 * a step may add is one of the digits that the next step needs.
 */
#include "replay/replay_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notes.h"
#include "dump/dump_call.h"

#define GUIDE "OPERATORS COMPUTED AGAIN"

const struct tp_dump_rule tp_replay_rules[TP_REPLAY_FINDING_IDS] = {
    [TP_REPLAY_WRONG] = {"wrong_result",
                         "a result that rounding does not explain", GUIDE},
    [TP_REPLAY_DROPOUT] = {"dropout",
                           "a dropout whose elements or whose share of zeros "
                           "are not those of its p",
                           GUIDE},
    [TP_REPLAY_NARROW] = {"narrow_steps",
                          "a result that only steps in the tensors' own dtype "
                          "explain",
                          GUIDE},
    [TP_REPLAY_OVERFLOW] = {"overflows",
                            "a result that is finite, but not in its dtype",
                            GUIDE},
    [TP_REPLAY_NONFINITE] = {"makes_nan",
                             "a NaN or infinity that an operator makes of "
                             "numbers",
                             GUIDE},
    [TP_REPLAY_REPEAT] = {"not_repeated",
                          "equal arguments that gave other results", GUIDE},
    [TP_REPLAY_CONDITION] = {"ill_conditioned",
                             "an operator that loses half of the significant "
                             "bits of its arguments",
                             GUIDE},
};

/* The chance below which a share of zeros is none: one dropout of 10^9. */
static const double least_chance = 1e-9;

struct finder {
    const struct tp_dump *dump;
    const struct tp_replay_results *results;
    struct tp_dump_findings *findings;
    struct tp_error *err;
};

static const struct tp_dump_place *place_of(const struct finder *f,
                                            const struct tp_replay_row *row)
{
    return &f->dump->places[row->place];
}

static const struct tp_dump_call *call_of(const struct finder *f,
                                          const struct tp_replay_row *row)
{
    return &place_of(f, row)->calls[row->call];
}

/* --- texts ---------------------------------------------------------------- */

/* " It was called at LINE." as far as it is known. */
static const char *where(const struct finder *f,
                         const struct tp_replay_row *row)
{
    struct tp_text line = {0};
    tp_dump_call_line(place_of(f, row), call_of(f, row), &line);
    f->findings->arena.failed |= line.failed;
    const char *text =
        line.length ? tp_arena_format(&f->findings->arena, " Called at: %s",
                                      tp_text_get(&line))
                    : "";
    tp_text_clear(&line);
    return text;
}

/* As many digits, six at least, as two numbers that differ need to show it. */
static int digits_apart(double a, double b)
{
    enum { LEAST = 6, MOST = 17 };
    char left[32], right[32];
    int digits = LEAST;
    do {
        snprintf(left, sizeof left, "%.*g", digits, a);
        snprintf(right, sizeof right, "%.*g", digits, b);
    } while (!strcmp(left, right) && digits++ < MOST);
    return digits > LEAST && digits < MOST ? digits + 1 : digits;
}

static void say_wrong(const struct finder *f, const struct tp_replay_row *row,
                      struct tp_dump_finding *finding)
{
    const struct tp_replay_verdict *v = &row->verdict;
    const int digits = digits_apart(v->computed, v->dumped);
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "From its dumped arguments element %" PRId64
        " of result %zu is %.*g; the dump has %.*g. Rounding explains a "
        "difference of %.3g, this one is %.3g times that. By norms the results "
        "are off by %.2g, of which %.2g is explained.%s%s%s%s%s",
        v->at, v->result, digits, v->computed, digits, v->dumped, v->limit,
        v->excess, row->error, row->bound,
        tp_replay_level_of(v) == TP_REPLAY_SUSPECT
            ? " Each element alone may be rounding; together they are not."
            : "",
        row->explain.id == TP_EXPLAIN_REGION ? " "
        : row->explain.id                    ? " What fits: "
                                             : "",
        row->explain.words, row->explain.id ? "." : "", where(f, row));
    finding->suggestion =
        "Run this call alone on the device with the dumped arguments: if the "
        "result is the dumped one, its kernel is wrong; if not, something "
        "wrote over an argument or the result between the call and the dump.";
}

static void say_dropout(const struct finder *f, const struct tp_replay_row *row,
                        struct tp_dump_finding *finding)
{
    const struct tp_dropout *d = &row->dropout;
    const int digits = digits_apart(d->dumped, d->computed);
    finding->evidence =
        d->wrong
            ? tp_arena_format(&f->findings->arena,
                              "%" PRIu64
                              " elements are neither zero nor x / (1 - p) "
                              "with p = %g: the first, element %" PRId64
                              ", is %.*g and should be %.*g.%s",
                              d->wrong, d->p, d->at, digits, d->dumped, digits,
                              d->computed, where(f, row))
            : tp_arena_format(
                  &f->findings->arena,
                  "%" PRIu64 " of %" PRIu64
                  " elements are zero where p = %g, which chance gives with a "
                  "probability of %.2g at most.%s",
                  d->zeros, d->count, d->p, d->chance, where(f, row));
    finding->suggestion =
        "Compare p, the training mode and the scale of the kernel that was "
        "called with those of the model.";
}

static void say_narrow(const struct finder *f, const struct tp_replay_row *row,
                       struct tp_dump_finding *finding)
{
    const struct tp_replay_verdict *v = &row->verdict;
    finding->evidence =
        isinf(v->dumped) && isfinite(v->computed)
            ? tp_arena_format(
                  &f->findings->arena,
                  "Its result is %g and not %.6g: added in the dtype of the "
                  "tensors, its terms leave what that reaches to.%s",
                  v->dumped, v->computed, where(f, row))
            : tp_arena_format(&f->findings->arena,
                              "Its results are off by %.2g by norms, %.3g "
                              "times what accumulation in "
                              "float32 explains; rounding every step to the "
                              "dtype of the tensors "
                              "does.%s%s%s",
                              row->error, row->verdict.excess,
                              *row->repair.why ? " " : "", row->repair.why,
                              where(f, row));
    finding->suggestion =
        *row->repair.change
            ? tp_arena_format(&f->findings->arena, "%s", row->repair.change)
            : "Have it accumulate in float32, or give it float32 arguments.";
}

static void say_overflow(const struct finder *f,
                         const struct tp_replay_row *row,
                         struct tp_dump_finding *finding)
{
    if (!row->overflows) {
        finding->evidence = tp_arena_format(
            &f->findings->arena,
            "%" PRIu64
            " elements of its results are NaN, infinite or zero, and "
            "in fp64 they are not: squares, sums or quotients of its arguments "
            "are beyond what fp16 holds.%s",
            row->verdict.beyond, where(f, row));
        finding->suggestion =
            "Scale its arguments, or compute it in bf16 or float32.";
        return;
    }
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "%" PRIu64 " elements of its results are finite, up to %.3g in "
        "magnitude, and no longer as %s.%s",
        row->overflows, row->largest, *row->dtype ? row->dtype : "their dtype",
        where(f, row));
    finding->suggestion =
        "Scale its arguments down, or keep the result in a dtype with more "
        "exponents: bf16 or float32 for fp16.";
}

/* What made a NaN or infinity of numbers. */
enum origin { EMPTY, FEW, INFINITE, OUTSIDE };

static enum origin origin_of(const struct finder *f,
                             const struct tp_replay_row *row)
{
    const struct tp_dump_place *place = place_of(f, row);
    const struct tp_dump_call *call = call_of(f, row);
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &place->items[call->first + i];
        if (item->kind != TP_DUMP_TENSOR || item->place == TP_MSPROBE_OUTPUT)
            continue;
        for (int k = 0; k < item->dims; k++)
            if (item->shape[k] == 0)
                return EMPTY;
    }
    return row->verdict.operator->run == tp_run_variance ? FEW
           : row->verdict.nans                           ? OUTSIDE
                                                         : INFINITE;
}

static void say_nonfinite(const struct finder *f,
                          const struct tp_replay_row *row,
                          struct tp_dump_finding *finding)
{
    static const struct {
        const char *what, *advice;
    } texts[] = {
        [EMPTY] = {"an argument has no elements",
                   "See why nothing was selected: a mean, or a loss, of no "
                   "elements is NaN; leave it out where there are none."},
        [FEW] = {"a variance of no more elements than its correction takes off "
                 "is 0 / 0",
                 "Give it more elements, or correction=0."},
        [INFINITE] = {"it divides by zero, takes the logarithm of zero, or "
                      "the like",
                      "Keep zeros out of its arguments: add an eps to what "
                      "divides, clamp what a logarithm is given."},
        [OUTSIDE] = {"the function is not defined there",
                     "Find what makes the argument leave the range where the "
                     "function is defined: a logarithm or root of a negative "
                     "number, zero times infinity."}};
    const enum origin origin = origin_of(f, row);
    const uint64_t nans = row->verdict.nans;
    const char *some = nans == 0 || nans == row->nonfinite
                           ? ""
                           : tp_arena_format(&f->findings->arena,
                                             ", %" PRIu64 " of them NaN,",
                                             nans);
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "%" PRIu64 " element%s of its results%s %s %s, in fp64 either, of "
        "arguments that are all finite: %s.%s",
        row->nonfinite, row->nonfinite == 1 ? "" : "s", some,
        row->nonfinite == 1 ? "is" : "are",
        nans == row->nonfinite ? "NaN"
        : nans == 0            ? "infinite"
                               : "no numbers",
        texts[origin].what, where(f, row));
    finding->suggestion = texts[origin].advice;
}

static void say_repeat(const struct finder *f, const struct tp_replay_row *row,
                       struct tp_dump_finding *finding)
{
    const struct tp_replay_row *first = &f->results->rows[row->repeats];
    struct tp_text text = {0};
    tp_text_printable(&text, first->api_name);
    if (first->step >= 0 && first->step != row->step)
        tp_text_add(&text, " of step %" PRId64, first->step);
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "Its arguments are those of %s bit by bit, its results are not.%s",
        tp_text_get(&text), where(f, row));
    f->findings->arena.failed |= text.failed;
    tp_text_clear(&text);
    finding->suggestion =
        "A kernel that adds in another order each time does so: ask for "
        "deterministic algorithms, if runs are to be compared.";
}

static void say_condition(const struct finder *f,
                          const struct tp_replay_row *row,
                          struct tp_dump_finding *finding)
{
    if (row->explain.id == TP_EXPLAIN_CANCELLED) {
        finding->evidence = tp_arena_format(&f->findings->arena,
                                            "Cancellation, no damage: %s.%s",
                                            row->explain.words, where(f, row));
        finding->suggestion =
            "Nothing is to be done where this is meant to be zero; else "
            "compute "
            "the arguments, not only the call, in higher precision.";
        return;
    }
    finding->evidence = tp_arena_format(
        &f->findings->arena,
        "With the last bit of its arguments turned, its results change %.3g "
        "times as much as the arguments, relative to their norms: less than "
        "half of the significant bits of %s are left.%s%s%s",
        row->amplification, *row->dtype ? row->dtype : "the arguments",
        *row->repair.why ? " " : "", row->repair.why, where(f, row));
    finding->suggestion =
        *row->repair.change
            ? tp_arena_format(&f->findings->arena, "%s", row->repair.change)
            : "Compute its arguments, not only the call, in higher precision; "
              "or rewrite what cancels, as a difference of nearly equal "
              "numbers does.";
}

/* --- which calls ---------------------------------------------------------- */

/* The rounding of the coarsest floating tensor that goes in. */
static double rounding_of(const struct finder *f,
                          const struct tp_replay_row *row)
{
    const struct tp_dump_place *place = place_of(f, row);
    const struct tp_dump_call *call = call_of(f, row);
    double most = 0;
    for (size_t i = 0; i < call->count; i++) {
        const struct tp_dump_item *item = &place->items[call->first + i];
        if (item->kind == TP_DUMP_TENSOR && item->element < TP_DTYPE_COUNT &&
            item->place != TP_MSPROBE_OUTPUT)
            most = fmax(most, tp_dtype_rounding(item->element));
    }
    return most;
}

/* How far beyond its limit a call is by a rule; 1 or less: it is not. */
static double badness_of(const struct finder *f,
                         const struct tp_replay_row *row,
                         enum tp_replay_finding_id id)
{
    const enum tp_replay_level level = tp_replay_level_of(&row->verdict);
    const bool wrong = tp_replay_is_wrong(&row->verdict, &row->explain);
    if (id == TP_REPLAY_DROPOUT)
        return row->dropout.wrong ? INFINITY
               : row->dropout.judged
                   ? log(row->dropout.chance) / log(least_chance)
                   : 0;
    if (row->verdict.state != TP_REPLAY_JUDGED)
        return 0;
    if (id == TP_REPLAY_WRONG)
        return wrong ? fmax(row->verdict.excess, 2) : 0;
    if (id == TP_REPLAY_NARROW)
        return !wrong && level == TP_REPLAY_LOW_PRECISION && !row->explain.id
                   ? row->verdict.excess
                   : 0;
    if (id == TP_REPLAY_NONFINITE)
        return row->nonfinite ? 1 + (double)row->nonfinite : 0;
    if (id == TP_REPLAY_REPEAT)
        return row->differs ? 2 : 0;
    if (id == TP_REPLAY_OVERFLOW)
        return row->overflows        ? row->largest
               : row->verdict.beyond ? 1 + (double)row->verdict.beyond
                                     : 0;
    if (row->explain.id == TP_EXPLAIN_CANCELLED)
        return 2;
    return row->amplification * sqrt(rounding_of(f, row));
}

static bool same_api(const struct tp_msprobe_name *a,
                     const struct tp_msprobe_name *b)
{
    return a->type.length == b->type.length &&
           a->path.length == b->path.length &&
           !memcmp(a->type.at, b->type.at, a->type.length) &&
           !memcmp(a->path.at, b->path.at, a->path.length);
}

/* The finding of a rule about an API, of wrong results forward or backward,
 * since one may come from the other; NULL: there is none yet. */
static struct tp_dump_finding *find(const struct finder *f,
                                    enum tp_replay_finding_id id,
                                    const struct tp_msprobe_name *name)
{
    for (size_t i = 0; i < f->findings->count; i++) {
        struct tp_dump_finding *finding = &f->findings->rows[i];
        struct tp_msprobe_name other;
        if (finding->rule == &tp_replay_rules[id] &&
            tp_msprobe_name_parse(finding->name, strlen(finding->name),
                                  &other) &&
            same_api(name, &other) &&
            (id != TP_REPLAY_WRONG || name->direction == other.direction))
            return finding;
    }
    return NULL;
}

static enum tp_severity level_of(const struct finder *f,
                                 const struct tp_replay_row *row,
                                 enum tp_replay_finding_id id)
{
    static const enum tp_severity levels[TP_REPLAY_FINDING_IDS] = {
        TP_SEVERITY_HIGH,   TP_SEVERITY_HIGH, TP_SEVERITY_MEDIUM,
        TP_SEVERITY_MEDIUM, TP_SEVERITY_HIGH, TP_SEVERITY_LOW,
        TP_SEVERITY_LOW};
    static const enum tp_severity of_origins[] = {[EMPTY] = TP_SEVERITY_LOW,
                                                  [FEW] = TP_SEVERITY_LOW,
                                                  [INFINITE] =
                                                      TP_SEVERITY_MEDIUM,
                                                  [OUTSIDE] = TP_SEVERITY_HIGH};
    return id == TP_REPLAY_NONFINITE ? of_origins[origin_of(f, row)]
                                     : levels[id];
}

static enum tp_status note(const struct finder *f,
                           const struct tp_replay_row *row,
                           enum tp_replay_finding_id id, double badness)
{
    static void (*const say[TP_REPLAY_FINDING_IDS])(
        const struct finder *f, const struct tp_replay_row *row,
        struct tp_dump_finding *finding) = {
        say_wrong,     say_dropout, say_narrow,   say_overflow,
        say_nonfinite, say_repeat,  say_condition};
    const enum tp_severity level = level_of(f, row, id);
    struct tp_dump_finding *finding = find(f, id, &call_of(f, row)->name);
    const uint64_t count = finding ? finding->count + 1 : 1;
    if (finding && (level < finding->level ||
                    (level == finding->level && badness <= finding->excess))) {
        finding->count = count;
        return TP_OK;
    }
    if (!finding) {
        enum tp_status status = tp_dump_finding_new(
            f->findings, &tp_replay_rules[id], level, &finding, f->err);
        if (status != TP_OK)
            return status;
    }
    finding->level = level;
    finding->step = row->step;
    finding->rank = row->rank;
    finding->order = row->order;
    finding->name = row->api_name;
    finding->count = count;
    finding->excess = badness;
    say[id](f, row, finding);
    return TP_OK;
}

static int compare(const void *a, const void *b)
{
    const struct tp_dump_finding *x = a, *y = b;
    if (x->level != y->level)
        return x->level > y->level ? -1 : 1;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    if (x->rule == &tp_replay_rules[TP_REPLAY_WRONG] && x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rule == &tp_replay_rules[TP_REPLAY_WRONG] && x->order != y->order)
        return x->order < y->order ? -1 : 1; /* where it began              */
    if (x->excess != y->excess)
        return x->excess > y->excess ? -1 : 1;
    return strcmp(x->name, y->name);
}

enum tp_status tp_replay_findings_make(const struct tp_dump *dump,
                                       const struct tp_replay_results *results,
                                       struct tp_dump_findings *findings,
                                       struct tp_error *err)
{
    const struct finder f = {dump, results, findings, err};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < results->count; i++)
        for (int id = 0; id < TP_REPLAY_FINDING_IDS && status == TP_OK; id++) {
            const double badness = badness_of(&f, &results->rows[i],
                                              (enum tp_replay_finding_id)id);
            if (badness > 1)
                status = note(&f, &results->rows[i],
                              (enum tp_replay_finding_id)id, badness);
        }
    if (findings->count)
        qsort(findings->rows, findings->count, sizeof *findings->rows, compare);
    return status;
}

void tp_replay_findings_table(const struct tp_dump_findings *findings,
                              struct tp_table *table)
{
    static const struct tp_column columns[] = {
        TP_DUMP_FINDING_HEAD("rule"),
        TP_COLUMN(struct tp_dump_finding, count, "1"), TP_DUMP_FINDING_END};
    *table = TP_TABLE_OF("findings", columns, findings->rows, findings->count);
}

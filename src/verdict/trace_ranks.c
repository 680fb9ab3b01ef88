/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a run beside each other: missing and doubled ranks, clocks,
 * imbalance, and who is waited for (trace_ranks.h says by what measure).
 *
 * Collectives of all ranks are one array, sorted by kernel, stream, group, step
 * and number there, so that a match is a stretch of neighbours. Against the
 * median rank a single outlier moves nothing, as it would a mean. Lateness is
 * added up over a step and has to be there in half of the steps: so a rank that
 * is late everywhere is told from one that was late once, as one whose
 * recording began late is; HTA looks at the last collective of a step only.
 * O(n log n) for n collectives of all ranks.
 */
#include "verdict/trace_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/text.h"
#include "stats/quantile.h"
#include "trace/trace_facts.h"
#include "verdict/trace_collectives.h"
#include "verdict/trace_rank_notes.h"

/* Times before September 2001 count from the start of some machine: nobody
 * can have recorded them since the epoch. */
#define EPOCH_NS INT64_C(1000000000000000000)

/* Collectives shorter than this part of a step on every rank say nothing. */
enum { STEP_PARTS = 100 };

/* A collective of one rank in one step. */
struct entry {
    const char *kernel, *group;
    int64_t stream, step, number, rank;
    size_t trace;
    size_t row;        /* of the step, in those of all traces              */
    int64_t start, ns; /* start: since the epoch */
};

struct ranks_state {
    const struct tp_trace_run *run;
    struct tp_trace_judged *judged;
    struct entry *entries;
    size_t count, capacity;
    size_t *rows;    /* [trace_count] of the first step, of all traces' */
    double *late;    /* [steps of all traces] sums over collectives, ns */
    int64_t *met;    /* [steps of all traces] collectives in the sum   */
    double *ahead;   /* [trace_count] ns that clocks are ahead by      */
    double *values;  /* room for one of every entry                    */
    double step_ns;  /* mean over ranks                                */
};

/* --- rows and clocks ---------------------------------------------------- */

/* A moment of a trace in ns since the epoch; false if that is not known. */
static bool since_epoch(const struct tp_trace *trace, int64_t moment,
                        int64_t *ns)
{
    const int64_t base = trace->events.has_base ? trace->events.base_ns : 0;
    if (base < 0 || moment > INT64_MAX - base) {
        return false;
    }
    *ns = moment + base;
    return *ns >= EPOCH_NS;
}

static double communication_share(const struct tp_trace *trace)
{
    const struct tp_busy_row *row = tp_trace_busy_window(trace);
    return row && row->total_us > 0 ? row->communication_us / row->total_us
                                    : NAN;
}

static void fill_rows(const struct tp_trace_run *run,
                      struct tp_trace_judged *judged)
{
    int64_t first = INT64_MAX, ns;
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        if (since_epoch(trace, trace->facts.from_ns, &ns) && ns < first) {
            first = ns;
        }
    }
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        const struct tp_trace_means means = tp_trace_step_means(trace, 1);
        const bool known = since_epoch(trace, trace->facts.from_ns, &ns);
        judged->ranks.rows[judged->ranks.count++] = (struct tp_rank_row){
            .rank = trace->rank,
            .world_size = trace->events.world_size,
            .file = trace->path,
            .start_us = known ? (double)(ns - first) / 1e3 : NAN,
            .step_us = means.profiler_step_s * 1e6,
            .data_wait_us = means.data_wait_s * 1e6,
            .busy = trace->facts.device_events ? trace->idle.busy : NAN,
            .communication = communication_share(trace),
            .exposed_communication = tp_trace_exposed_communication(trace),
            .late = NAN,
            .wait_us = NAN,
            .last = NAN,
            .held_us = NAN};
    }
}

/* Whether the traces can be laid over each other; if not, says so. */
static bool check_clocks(struct tp_trace_judged *judged)
{
    size_t unknown = 0;
    const char *example = "";
    for (size_t i = 0; i < judged->ranks.count; i++) {
        if (isnan(judged->ranks.rows[i].start_us)) {
            unknown++;
            example = judged->ranks.rows[i].file;
        }
    }
    if (unknown && judged->ranks.count > 1) {
        tp_judge_note(judged,
                      "%zu of %zu traces do not tell when they were recorded "
                      "(times count from no known moment, no "
                      "baseTimeNanoseconds), so ranks are not laid over each "
                      "other: %s",
                      unknown, judged->ranks.count, example);
    }
    return unknown == 0;
}

/* --- which ranks are there ---------------------------------------------- */

/* Two traces of a rank are two spans of one worker, or one too many. */
static bool is_duplicate(const struct tp_trace *a, const struct tp_trace *b)
{
    return a->rank >= 0 && a->rank == b->rank &&
           (strcmp(a->worker, b->worker) || !*a->worker ||
            a->span == b->span);
}

/* Notes ranks met twice; traces are sorted by rank. */
static bool check_duplicates(const struct tp_trace_run *run,
                             struct tp_trace_judged *judged)
{
    size_t duplicates = 0, example = 0;
    for (size_t i = 1; i < run->trace_count; i++) {
        if (is_duplicate(&run->traces[i - 1], &run->traces[i])) {
            duplicates++;
            example = i;
        }
    }
    if (duplicates) {
        tp_judge_note(judged,
                      "%zu rank%s met twice, so ranks are not compared; "
                      "rank %" PRId64 " is in %s and in %s",
                      duplicates, duplicates == 1 ? " is" : "s are",
                      run->traces[example].rank,
                      run->traces[example - 1].path,
                      run->traces[example].path);
    }
    return duplicates == 0;
}

/* Names gaps in the sequence of ranks, "2, 5-7", and says how many miss. */
static void check_missing(struct tp_trace_judged *judged)
{
    enum { GAPS_MAX = 8 };
    struct tp_text gaps = {0};
    int64_t world = 0, next = 0, missing = 0, shown = 0;
    for (size_t i = 0; i < judged->ranks.count; i++) {
        const int64_t size = judged->ranks.rows[i].world_size;
        world = size > world ? size : world;
    }
    for (size_t i = 0; i <= judged->ranks.count && next < world; i++) {
        const bool end = i == judged->ranks.count;
        int64_t rank = end ? world : judged->ranks.rows[i].rank;
        rank = rank > world ? world : rank;
        if (rank > next) {
            missing += rank - next;
            if (shown < GAPS_MAX) {
                tp_text_add(&gaps, rank - next > 1 ? "%s%" PRId64 "-%" PRId64
                                                   : "%s%" PRId64,
                            shown ? ", " : "", next, rank - 1);
            }
            shown++;
        }
        if (rank >= next)
            next = rank < world ? rank + 1 : world;
    }
    if (missing > 0 && missing < world) {
        tp_judge_note(judged,
                      "%" PRId64 " of %" PRId64 " ranks are missing: %s%s",
                      missing, world, tp_text_get(&gaps),
                      shown > GAPS_MAX ? ", ..." : "");
        judged->arena.failed |= gaps.failed;
    }
    tp_text_clear(&gaps);
}

/* --- stragglers --------------------------------------------------------- */

/* Where a trace has a step, from `from` on and around; steps.count: nowhere. */
static size_t find_step(const struct tp_trace *trace, int64_t step, size_t from)
{
    const size_t count = trace->steps.count;
    for (size_t i = 0; i < count; i++) {
        const size_t at = (from + i) % count;
        if (trace->steps.rows[at].step == step) {
            return at;
        }
    }
    return count;
}

static enum tp_status collect_entries(struct ranks_state *state,
                                      struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < state->run->trace_count; i++) {
        const struct tp_trace *trace = &state->run->traces[i];
        size_t at = 0;
        for (size_t k = 0; k < trace->arrivals.count && !status; k++) {
            const struct tp_arrival_row *row = &trace->arrivals.rows[k];
            struct entry entry = {
                .kernel = row->kernel,
                .group = *row->group_ranks ? row->group_ranks : row->group_name,
                .stream = row->stream,
                .step = row->step,
                .number = row->number,
                .rank = trace->rank,
                .trace = i,
                .ns = row->ns};
            if (trace->rank < 0 || row->step < 0 ||
                !since_epoch(trace, row->start_ns, &entry.start)) {
                continue;
            }
            at = find_step(trace, row->step, at);
            if (at == trace->steps.count) {
                continue;
            }
            entry.row = state->rows[i] + at;
            status = tp_grow(&state->entries, &state->capacity,
                             state->count + 1, sizeof entry, err);
            if (!status) {
                state->entries[state->count++] = entry;
            }
        }
    }
    return status;
}

static int by_kernel(const struct entry *x, const struct entry *y)
{
    int order = strcmp(x->kernel, y->kernel);
    if (!order) {
        order = tp_order_int64(x->stream, y->stream);
    }
    return order ? order : strcmp(x->group, y->group);
}

static int by_kernel_and_step(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = by_kernel(x, y);
    if (!order) {
        order = tp_order_int64(x->step, y->step);
    }
    if (!order) {
        order = tp_order_int64(x->number, y->number);
    }
    if (!order) {
        order = tp_order_int64(x->rank, y->rank);
    }
    return order ? order : tp_order_size(x->trace, y->trace);
}

/* The entries from `first` on that are one collective, of one rank each. */
static size_t end_of_match(const struct ranks_state *state, size_t first)
{
    const struct entry *a = &state->entries[first];
    size_t end = first;
    while (end < state->count && by_kernel(a, &state->entries[end]) == 0 &&
           a->step == state->entries[end].step &&
           a->number == state->entries[end].number) {
        end++;
    }
    return end;
}

/* Whether the ranks wait in a collective, so that it tells something. */
static bool says_something(const struct ranks_state *state, size_t first,
                           size_t end)
{
    bool says = false;
    for (size_t i = first; i < end; i++) {
        says |= (double)state->entries[i].ns >= state->step_ns / STEP_PARTS;
    }
    return says && end - first > 1;
}

/* When a rank starts, or ends, a collective, after the first one starts it by
 * its own clock. */
static double moment_of(const struct ranks_state *state, size_t first,
                        size_t i, bool end)
{
    const struct entry *entry = &state->entries[i];
    const int64_t origin = state->entries[first].start;
    return (double)(entry->start - origin + (end ? entry->ns : 0)) -
           state->ahead[entry->trace];
}

/* The median over the ranks of a match. */
static double median_moment(const struct ranks_state *state, size_t first,
                            size_t last, bool end)
{
    for (size_t i = first; i < last; i++) {
        state->values[i - first] = moment_of(state, first, i, end);
    }
    return tp_median(state->values, last - first);
}

/* How much later than the median rank a trace sees collectives end. */
struct lag {
    size_t trace;
    double ns;
};

static int by_trace(const void *a, const void *b)
{
    const struct lag *x = a;
    const struct lag *y = b;
    const int order = tp_order_size(x->trace, y->trace);
    return order ? order : tp_order_int64(x->ns, y->ns);
}

/* What the clocks are ahead by, from `count` lags. */
static void set_clocks(struct ranks_state *state, struct lag *lags,
                       size_t count)
{
    qsort(lags, count, sizeof *lags, by_trace);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && lags[end].trace == lags[first].trace;
             end++) {
        }
        const size_t n = end - first;
        const size_t trace = lags[first].trace;
        if (n < TP_CLOCK_MATCHES) {
            continue;
        }
        state->ahead[trace] =
            (lags[first + (n - 1) / 2].ns + lags[first + n / 2].ns) / 2;
        if (fabs(state->ahead[trace]) > state->step_ns * TP_CLOCK_PART) {
            state->judged->ranks.rows[trace].clock_us =
                state->ahead[trace] / 1e3;
            tp_judge_note(state->judged,
                          "the clock of rank %" PRId64 " is %.3f ms %s those "
                          "of the other ranks (median over the ends of %zu "
                          "collectives); it is put right before starts are "
                          "compared",
                          state->run->traces[trace].rank,
                          fabs(state->ahead[trace]) / 1e6,
                          state->ahead[trace] > 0 ? "ahead of" : "behind", n);
        }
    }
}

static enum tp_status find_clocks(struct ranks_state *state,
                                  struct tp_error *err)
{
    struct lag *lags = malloc((state->count + 1) * sizeof *lags);
    size_t count = 0;
    if (!lags) {
        return tp_fail_memory(err);
    }
    for (size_t first = 0, last; first < state->count; first = last) {
        last = end_of_match(state, first);
        if (!says_something(state, first, last)) {
            continue;
        }
        const double median = median_moment(state, first, last, true);
        for (size_t i = first; i < last; i++) {
            lags[count++] =
                (struct lag){state->entries[i].trace,
                             moment_of(state, first, i, true) - median};
        }
    }
    if (count > 1) {
        set_clocks(state, lags, count);
    }
    free(lags);
    return TP_OK;
}

/* Adds how much later than the median rank each rank starts. */
static void measure_lateness(struct ranks_state *state)
{
    for (size_t first = 0, last; first < state->count; first = last) {
        last = end_of_match(state, first);
        if (!says_something(state, first, last)) {
            continue;
        }
        const double median = median_moment(state, first, last, false);
        for (size_t i = first; i < last; i++) {
            const size_t row = state->entries[i].row;
            state->late[row] += moment_of(state, first, i, false) - median;
            state->met[row]++;
        }
    }
}

static int by_value(const void *a, const void *b)
{
    return tp_order_double(*(const double *)a, *(const double *)b);
}

/* What half of the steps of some traces of one rank are late by at least, of
 * those with collectives, and shared out to all steps; NaN: none has any. */
static double usual_lateness(const struct ranks_state *state, size_t first,
                             size_t end)
{
    double *late = state->values;
    size_t count = 0, steps = 0;
    for (size_t i = first; i < end; i++) {
        const size_t rows = state->run->traces[i].steps.count;
        for (size_t k = 0; k < rows; k++) {
            if (state->met[state->rows[i] + k] > 0) {
                late[count++] = state->late[state->rows[i] + k];
            }
        }
        steps += rows;
    }
    if (count == 0) {
        return NAN;
    }
    qsort(late, count, sizeof *late, by_value);
    return late[(count - 1) / 2] * (double)count / (double)steps;
}

/* Of a step per rank; all spans of a rank, which are neighbours, have the same.
 * Returns the number of ranks that were met. */
static size_t fill_lateness(const struct ranks_state *state)
{
    struct tp_rank_row *rows = state->judged->ranks.rows;
    const size_t count = state->judged->ranks.count;
    size_t ranks = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && rows[end].rank == rows[first].rank;
             end++) {
        }
        const double late = usual_lateness(state, first, end);
        ranks += !isnan(late);
        for (size_t i = first; i < end; i++) {
            rows[i].late = late / state->step_ns;
        }
    }
    return ranks;
}

/* Marks the ranks that start latest, if they do so by a fair part of a
 * step; ranks that start together are all marked or all not. */
static void mark_stragglers(struct tp_trace_judged *judged, size_t ranks)
{
    const size_t most = ranks / 2 < TP_STRAGGLERS_MAX ? ranks / 2
                                                      : TP_STRAGGLERS_MAX;
    double limit = INFINITY;
    for (size_t found = 0; found < most; found++) {
        double latest = -1;
        for (size_t i = 0; i < judged->ranks.count; i++) {
            const double late = judged->ranks.rows[i].late;
            latest = late < limit && late > latest ? late : latest;
        }
        if (latest < TP_STRAGGLER_LATE) {
            return;
        }
        for (size_t i = 0; i < judged->ranks.count; i++) {
            judged->ranks.rows[i].straggler |=
                judged->ranks.rows[i].late == latest;
        }
        limit = latest;
    }
    for (size_t i = 0; i < judged->ranks.count; i++) {
        const struct tp_rank_row *row = &judged->ranks.rows[i];
        if (!row->straggler && row->late >= TP_STRAGGLER_NEARLY * limit) {
            tp_judge_note(judged,
                          "rank %" PRId64 " starts its collectives nearly as "
                          "late as the stragglers that are named: by %.1f %% "
                          "of a step",
                          row->rank, 100 * row->late);
        }
    }
}

static double mean_step_ns(const struct tp_trace_judged *judged)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < judged->ranks.count; i++) {
        if (judged->ranks.rows[i].step_us > 0) {
            sum += judged->ranks.rows[i].step_us;
            count++;
        }
    }
    return count ? sum / (double)count * 1e3 : 0;
}

static enum tp_status find_stragglers(const struct tp_trace_run *run,
                                      struct tp_trace_judged *judged,
                                      struct tp_error *err)
{
    struct ranks_state state = {
        .run = run,
        .judged = judged,
        .rows = calloc(run->trace_count + 1, sizeof *state.rows),
        .ahead = calloc(run->trace_count + 1, sizeof *state.ahead),
        .step_ns = mean_step_ns(judged),
    };
    size_t steps = 0;
    for (size_t i = 0; state.rows && i < run->trace_count; i++) {
        state.rows[i] = steps;
        steps += run->traces[i].steps.count;
    }
    state.late = calloc(steps + 1, sizeof *state.late);
    state.met = calloc(steps + 1, sizeof *state.met);
    enum tp_status status =
        state.rows && state.late && state.met && state.ahead
            ? TP_OK
            : tp_fail_memory(err);
    if (!status) {
        status = collect_entries(&state, err);
    }
    if (!status) {
        state.values = malloc((state.count + 1) * sizeof *state.values);
        status = state.values ? TP_OK : tp_fail_memory(err);
    }
    if (!status && state.count > 1 && state.step_ns > 0) {
        qsort(state.entries, state.count, sizeof *state.entries,
              by_kernel_and_step);
        status = find_clocks(&state, err);
        measure_lateness(&state);
        mark_stragglers(judged, fill_lateness(&state));
    }
    free(state.entries);
    free(state.rows);
    free(state.late);
    free(state.met);
    free(state.ahead);
    free(state.values);
    return status;
}

enum tp_status tp_trace_ranks_make(const struct tp_trace_run *run,
                                   struct tp_trace_judged *judged,
                                   struct tp_error *err)
{
    const bool several = run->trace_count > 1 &&
                         run->traces[run->trace_count - 1].rank >
                             run->traces[0].rank;
    if (tp_grow(&judged->ranks.rows, &judged->ranks.capacity,
                run->trace_count + 1, sizeof *judged->ranks.rows, err)) {
        return TP_E_MEMORY;
    }
    fill_rows(run, judged);
    check_missing(judged);
    const bool unique = check_duplicates(run, judged);
    if (!several) {
        return TP_OK;
    }
    enum tp_status status = tp_trace_rank_notes_make(run, judged, err);
    if (!status && unique && check_clocks(judged)) {
        status = find_stragglers(run, judged, err);
        if (!status) {
            status = tp_trace_collectives_make(run, judged, err);
        }
    }
    return status;
}

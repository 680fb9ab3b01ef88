/* SPDX-License-Identifier: MIT */
/*
 * The collectives of a run over its ranks (trace_collectives.h says how they
 * are matched and what is measured).
 *
 * Every communication kernel of every rank is one entry; sorting them by what
 * they communicate, rank and start numbers those that look alike, and sorting
 * again with that number before the rank makes each collective a stretch of
 * neighbours. TraceLens (NcclAnalyser) matches by group and order alone, which
 * goes wrong where recordings do not begin at the same collective; HTA looks at
 * one kernel of a step. O(n log n) for n kernels of all ranks.
 */
#include "verdict/trace_collectives.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "trace/trace_collective.h"

/* A collective of one rank. */
struct entry {
    const struct tp_arrival_row *row;
    const char *kind;  /* of a known kind, else as it is called            */
    size_t trace;
    int64_t rank, start; /* ns, put right                                  */
    int64_t number;    /* of those that look alike on this rank            */
};

/* How many were left out, and why. */
struct left_out {
    size_t crowded, apart;
    const char *crowd, *lone; /* a kind of each                            */
};

struct state {
    const struct tp_trace_run *run;
    struct tp_trace_judged *judged;
    struct entry *entries;
    size_t count;
    int64_t first;     /* ns; start of the first window                    */
    double *wait_ns, *held_ns; /* [trace_count]                            */
    int64_t *met, *last;       /* [trace_count]                            */
    struct left_out left;
};

/* --- entries ------------------------------------------------------------ */

static bool has_sequence(const struct entry *entry)
{
    return entry->row->sequence >= 0 && (*entry->row->group_name ||
                                         *entry->row->group_ranks);
}

/* Parts of a message may differ from rank to rank. */
static bool has_parts(const struct entry *entry)
{
    return !strcmp(entry->kind, "alltoallv");
}

static int by_group(const struct entry *x, const struct entry *y)
{
    const struct tp_arrival_row *a = x->row, *b = y->row;
    int order = strcmp(x->kind, y->kind);
    if (!order) {
        order = strcmp(a->group_ranks, b->group_ranks);
    }
    if (!order) {
        order = strcmp(a->group_name, b->group_name);
    }
    if (!order && !*a->group_ranks && !*a->group_name) {
        order = strcmp(a->kernel, b->kernel);
        order = order ? order : tp_order_int64(a->stream, b->stream);
    }
    return order;
}

static int by_size(const struct entry *x, const struct entry *y)
{
    const struct tp_arrival_row *a = x->row, *b = y->row;
    int order = strcmp(a->dtype, b->dtype);
    if (!order && !has_parts(x)) {
        order = tp_order_int64(a->in_bytes, b->in_bytes);
        order = order ? order : tp_order_int64(a->out_bytes, b->out_bytes);
    }
    return order ? order : tp_order_int64(a->group_size, b->group_size);
}

/* What collectives of one match have in common, their number but for. */
static int by_key(const struct entry *x, const struct entry *y)
{
    int order = by_group(x, y);
    if (!order) {
        order = by_size(x, y);
    }
    if (!order) {
        order = tp_order_int64(has_sequence(x), has_sequence(y));
    }
    if (order) {
        return order;
    }
    return has_sequence(x)
               ? tp_order_int64(x->row->sequence, y->row->sequence)
               : tp_order_int64(x->row->step, y->row->step);
}

static int by_rank(const void *left, const void *right)
{
    const struct entry *x = left, *y = right;
    int order = by_key(x, y);
    if (!order) {
        order = tp_order_int64(x->rank, y->rank);
    }
    if (!order) {
        order = tp_order_int64(x->start, y->start);
    }
    return order ? order : tp_order_int64(x->row->number, y->row->number);
}

static int by_number(const void *left, const void *right)
{
    const struct entry *x = left, *y = right;
    int order = by_key(x, y);
    if (!order) {
        order = tp_order_int64(x->number, y->number);
    }
    return order ? order : tp_order_int64(x->rank, y->rank);
}

int64_t tp_trace_clock_shift(const struct tp_trace_run *run,
                             const struct tp_trace_judged *judged,
                             size_t trace)
{
    const struct tp_trace *it = &run->traces[trace];
    const int64_t base = it->events.has_base ? it->events.base_ns : 0;
    return base - (int64_t)(judged->ranks.rows[trace].clock_us * 1e3);
}

static enum tp_status collect(struct state *state, struct tp_error *err)
{
    const struct tp_trace_run *run = state->run;
    size_t most = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        most += run->traces[i].arrivals.count;
    }
    state->entries = calloc(most + 1, sizeof *state->entries);
    if (!state->entries) {
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_trace *trace = &run->traces[i];
        const int64_t shift = tp_trace_clock_shift(run, state->judged, i);
        const int64_t from = trace->facts.from_ns + shift;
        state->first = i == 0 || from < state->first ? from : state->first;
        for (size_t k = 0; k < trace->arrivals.count; k++) {
            const struct tp_arrival_row *row = &trace->arrivals.rows[k];
            const char *kind = tp_collective_kind(row->collective);
            if (trace->rank < 0 || !*row->collective) {
                continue;
            }
            state->entries[state->count++] = (struct entry){
                .row = row,
                .kind = kind ? kind : row->collective,
                .trace = i,
                .rank = trace->rank,
                .start = row->start_ns + shift};
        }
    }
    return TP_OK;
}

static void number_entries(struct state *state)
{
    struct entry *e = state->entries;
    qsort(e, state->count, sizeof *e, by_rank);
    for (size_t i = 1; i < state->count; i++) {
        e[i].number = by_key(&e[i - 1], &e[i]) == 0 &&
                              e[i - 1].rank == e[i].rank
                          ? e[i - 1].number + 1
                          : 0;
    }
    qsort(e, state->count, sizeof *e, by_number);
}

/* --- one collective ----------------------------------------------------- */

static int64_t end_of(const struct entry *entry)
{
    return entry->start + entry->row->ns;
}

/* When the ranks of a match begin and end it. */
struct span {
    const struct entry *first, *last; /* to begin; of equal ones the first */
    int64_t before_last;  /* start of the last but one                     */
    int64_t first_end, last_end, shortest;
    int64_t others_end;   /* last end of all but the last to begin         */
    double wait_ns;
};

static struct span span_of(const struct entry *entries, size_t count)
{
    struct span span = {.first = entries,
                        .last = entries,
                        .before_last = INT64_MIN,
                        .first_end = end_of(entries),
                        .last_end = end_of(entries),
                        .shortest = entries->row->ns};
    for (size_t i = 1; i < count; i++) {
        const struct entry *entry = &entries[i];
        const int64_t end = end_of(entry);
        span.first = entry->start < span.first->start ? entry : span.first;
        span.last = entry->start > span.last->start ? entry : span.last;
        span.first_end = end < span.first_end ? end : span.first_end;
        span.last_end = end > span.last_end ? end : span.last_end;
        span.shortest =
            entry->row->ns < span.shortest ? entry->row->ns : span.shortest;
    }
    span.others_end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        const int64_t end = end_of(entry);
        if (entry != span.last && end > span.others_end) {
            span.others_end = end;
        }
        span.wait_ns += (double)(span.last->start - entry->start);
        if (entry != span.last && entry->start > span.before_last) {
            span.before_last = entry->start;
        }
    }
    return span;
}

/* How long the last rank holds up the others: who also ends that much later
 * has another clock. */
static int64_t held_by(const struct span *span)
{
    const int64_t held = span->last->start - span->before_last;
    const int64_t after = end_of(span->last) - span->others_end;
    const int64_t less = after > 0 ? held - after : held;
    return less > 0 ? less : 0;
}

static struct tp_collective_row row_of(const struct state *state,
                                       const struct entry *entries,
                                       size_t count, const struct span *span)
{
    const struct tp_arrival_row *row = entries->row;
    const bool waits = tp_collective_waits(entries->kind);
    int64_t bytes = -1;
    for (size_t i = 0; i < count; i++) {
        const int64_t own = tp_collective_bytes(entries[i].row->in_bytes,
                                                entries[i].row->out_bytes);
        bytes = own > bytes ? own : bytes;
    }
    struct tp_collective_row made = {
        .collective = entries->kind,
        .group = *row->group_ranks ? row->group_ranks : row->group_name,
        .dtype = row->dtype,
        .matched_by = has_sequence(entries) ? "Seq" : "order",
        .group_size = row->group_size,
        .ranks = (int64_t)count,
        .sequence = row->sequence,
        .step = row->step,
        .bytes = bytes,
        .start_us = (double)(span->first->start - state->first) / 1e3,
        .latency_us = waits ? (double)span->shortest / 1e3 : NAN,
        .skew_us = (double)(span->last->start - span->first->start) / 1e3,
        .end_skew_us = (double)(span->last_end - span->first_end) / 1e3,
        .wait_us = span->wait_ns / 1e3,
        .first_rank = span->first->rank,
        .last_rank = span->last->rank,
        .held_us = (double)held_by(span) / 1e3,
        .number = (int64_t)state->judged->collectives.count + 1};
    /* bytes per ns are GB/s */
    made.algorithm_gbps = waits && bytes >= 0 && span->shortest > 0
                              ? (double)bytes / (double)span->shortest
                              : NAN;
    made.bus_gbps = made.algorithm_gbps *
                    tp_collective_bus_factor(entries->kind, row->group_size);
    return made;
}

/* What ranks wait in a collective, and for whom. */
static void add_waits(struct state *state, const struct entry *entries,
                      size_t count, const struct span *span)
{
    for (size_t i = 0; i < count; i++) {
        const size_t trace = entries[i].trace;
        state->wait_ns[trace] +=
            (double)(span->last->start - entries[i].start);
        state->met[trace]++;
    }
    if (span->last->start > span->first->start) {
        state->last[span->last->trace]++;
        state->held_ns[span->last->trace] +=
            (double)held_by(span);
    }
}

static enum tp_status add_members(struct state *state,
                                  const struct entry *entries, size_t count,
                                  struct tp_error *err)
{
    struct tp_trace_judged *judged = state->judged;
    const enum tp_status status = tp_grow(
        &judged->members.rows, &judged->members.capacity,
        judged->members.count + count, sizeof *judged->members.rows, err);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        judged->members.rows[judged->members.count++] =
            (struct tp_collective_member){
                .collective = (int64_t)judged->collectives.count,
                .trace = entries[i].trace,
                .start_ns = entries[i].row->start_ns,
                .stream = entries[i].row->stream};
    }
    return status;
}

static enum tp_status add_match(struct state *state,
                                const struct entry *entries, size_t count,
                                struct tp_error *err)
{
    struct tp_trace_judged *judged = state->judged;
    const struct span span = span_of(entries, count);
    const int64_t size = entries->row->group_size;
    const bool waits = tp_collective_waits(entries->kind);
    if (count < 2) {
        return TP_OK;
    }
    if (size > 0 && count > (size_t)size) {
        state->left.crowded++;
        state->left.crowd = entries->kind;
        return TP_OK;
    }
    if (waits && span.last->start > span.first_end) {
        state->left.apart++;
        state->left.lone = entries->kind;
        return TP_OK;
    }
    if (tp_grow(&judged->collectives.rows, &judged->collectives.capacity,
                judged->collectives.count + 1,
                sizeof *judged->collectives.rows, err) != TP_OK) {
        return TP_E_MEMORY;
    }
    judged->collectives.rows[judged->collectives.count] =
        row_of(state, entries, count, &span);
    judged->collectives.count++;
    if (!waits) {
        return TP_OK;
    }
    add_waits(state, entries, count, &span);
    return add_members(state, entries, count, err);
}

static enum tp_status match(struct state *state, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t first = 0, end; first < state->count && status == TP_OK;
         first = end) {
        const struct entry *e = state->entries;
        for (end = first + 1; end < state->count &&
                              by_key(&e[first], &e[end]) == 0 &&
                              e[first].number == e[end].number;
             end++) {
        }
        status = add_match(state, &e[first], end - first, err);
    }
    return status;
}

static void say_left_out(struct state *state)
{
    const struct left_out *left = &state->left;
    if (left->crowded) {
        tp_judge_note(state->judged,
                      "%zu collectives (%s) are left out of the comparison "
                      "of ranks: more ranks have one of that name than its "
                      "process group has members, so which belong together "
                      "is not known",
                      left->crowded, left->crowd);
    }
    if (left->apart) {
        tp_judge_note(state->judged,
                      "%zu collectives (%s) are left out of the comparison "
                      "of ranks: some rank ends them before another begins, "
                      "so they are not the same one, or clocks differ",
                      left->apart, left->lone);
    }
}

/* --- sizes -------------------------------------------------------------- */

static bool same_size(const struct tp_collective_row *a,
                      const struct tp_collective_row *b)
{
    return !strcmp(a->collective, b->collective) &&
           !strcmp(a->group, b->group) && !strcmp(a->dtype, b->dtype) &&
           !strcmp(a->matched_by, b->matched_by) && a->bytes == b->bytes &&
           a->group_size == b->group_size;
}

static int by_size_of(const void *left, const void *right)
{
    const struct tp_collective_row *a = left, *b = right;
    int order = strcmp(a->collective, b->collective);
    if (!order) {
        order = strcmp(a->group, b->group);
    }
    if (!order) {
        order = strcmp(a->dtype, b->dtype);
    }
    if (!order) {
        order = strcmp(a->matched_by, b->matched_by);
    }
    if (!order) {
        order = tp_order_int64(a->bytes, b->bytes);
    }
    if (!order) {
        order = tp_order_int64(a->group_size, b->group_size);
    }
    return order ? order : tp_order_double(a->start_us, b->start_us);
}

static struct tp_collective_size_row
sum_up(const struct tp_collective_row *rows, size_t count)
{
    struct tp_collective_size_row sum = {.collective = rows->collective,
                                         .group = rows->group,
                                         .dtype = rows->dtype,
                                         .matched_by = rows->matched_by,
                                         .group_size = rows->group_size,
                                         .ranks = rows->ranks,
                                         .bytes = rows->bytes,
                                         .count = (int64_t)count,
                                         .min_latency_us = rows->latency_us,
                                         .max_latency_us = rows->latency_us};
    const double n = (double)count;
    for (size_t i = 0; i < count; i++) {
        const struct tp_collective_row *row = &rows[i];
        sum.ranks = row->ranks < sum.ranks ? row->ranks : sum.ranks;
        sum.total_latency_us += row->latency_us;
        sum.min_latency_us = fmin(sum.min_latency_us, row->latency_us);
        sum.max_latency_us = fmax(sum.max_latency_us, row->latency_us);
        sum.skew_us += row->skew_us / n;
        sum.max_skew_us = fmax(sum.max_skew_us, row->skew_us);
        sum.end_skew_us += row->end_skew_us / n;
        sum.wait_us += row->wait_us;
        sum.algorithm_gbps += row->algorithm_gbps / n;
        sum.bus_gbps += row->bus_gbps / n;
    }
    sum.latency_us = sum.total_latency_us / n;
    return sum;
}

static int by_latency(const void *left, const void *right)
{
    const struct tp_collective_size_row *a = left, *b = right;
    const double x = isnan(a->total_latency_us) ? -1 : a->total_latency_us;
    const double y = isnan(b->total_latency_us) ? -1 : b->total_latency_us;
    int order = tp_order_double(y, x);
    if (!order) {
        order = strcmp(a->collective, b->collective);
    }
    if (!order) {
        order = strcmp(a->group, b->group);
    }
    if (!order) {
        order = strcmp(a->dtype, b->dtype);
    }
    return order ? order : tp_order_int64(a->bytes, b->bytes);
}

static enum tp_status make_sizes(struct tp_trace_judged *judged,
                                 struct tp_error *err)
{
    struct tp_collective_row *rows = judged->collectives.rows;
    const size_t count = judged->collectives.count;
    if (count > 1) {
        qsort(rows, count, sizeof *rows, by_size_of);
    }
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && same_size(&rows[first], &rows[end]); end++) {
        }
        if (tp_grow(&judged->collective_sizes.rows,
                    &judged->collective_sizes.capacity,
                    judged->collective_sizes.count + 1,
                    sizeof *judged->collective_sizes.rows, err) != TP_OK) {
            return TP_E_MEMORY;
        }
        judged->collective_sizes.rows[judged->collective_sizes.count++] =
            sum_up(&rows[first], end - first);
    }
    if (judged->collective_sizes.count > 1) {
        qsort(judged->collective_sizes.rows, judged->collective_sizes.count,
              sizeof *judged->collective_sizes.rows, by_latency);
    }
    return TP_OK;
}

/* --- ranks -------------------------------------------------------------- */

static void fill_ranks(const struct state *state)
{
    for (size_t i = 0; i < state->run->trace_count; i++) {
        struct tp_rank_row *row = &state->judged->ranks.rows[i];
        if (state->met[i] == 0) {
            continue;
        }
        row->wait_us = state->wait_ns[i] / 1e3;
        row->held_us = state->held_ns[i] / 1e3;
        row->last = (double)state->last[i] / (double)state->met[i];
    }
}

enum tp_status tp_trace_collectives_make(const struct tp_trace_run *run,
                                         struct tp_trace_judged *judged,
                                         struct tp_error *err)
{
    const size_t n = run->trace_count + 1;
    struct state state = {.run = run,
                          .judged = judged,
                          .wait_ns = calloc(n, sizeof(double)),
                          .held_ns = calloc(n, sizeof(double)),
                          .met = calloc(n, sizeof(int64_t)),
                          .last = calloc(n, sizeof(int64_t))};
    enum tp_status status =
        state.wait_ns && state.held_ns && state.met && state.last
            ? collect(&state, err)
            : tp_fail_memory(err);
    if (status == TP_OK && state.count > 1) {
        number_entries(&state);
        status = match(&state, err);
    }
    if (status == TP_OK) {
        say_left_out(&state);
        fill_ranks(&state);
        status = make_sizes(judged, err);
    }
    free(state.entries);
    free(state.wait_ns);
    free(state.held_ns);
    free(state.met);
    free(state.last);
    return status;
}

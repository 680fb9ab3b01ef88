/* SPDX-License-Identifier: MIT */
#include "analyze/trace_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/trace_facts.h"
#include "analyze/trace_run.h"
#include "base/memory.h"

/* Times before September 2001 count from the start of some machine: nobody
 * can have recorded them since the epoch. */
#define EPOCH_NS INT64_C(1000000000000000000)

/* A collective of one rank in one step. */
struct entry {
    const char *kernel;
    int64_t stream, step, rank;
    size_t trace;
    int64_t start, ns; /* start: since the epoch */
};

struct ranks_state {
    struct tp_trace_run *run;
    struct entry *entries;
    size_t count, capacity;
    double *late;    /* [trace_count] sums over steps, parts of a step */
    int64_t *met;    /* [trace_count] steps in the sum                 */
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
    for (size_t i = 0; i < trace->busy.count; i++) {
        const struct tp_busy_row *row = &trace->busy.rows[i];
        if (!strcmp(row->definition, "window")) {
            return row->total_us > 0 ? row->communication_us / row->total_us
                                     : NAN;
        }
    }
    return NAN;
}

static void fill_rows(struct tp_trace_run *run)
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
        run->ranks.rows[run->ranks.count++] = (struct tp_rank_row){
            .rank = trace->rank,
            .world_size = trace->events.world_size,
            .file = trace->path,
            .start_us = known ? (double)(ns - first) / 1e3 : NAN,
            .step_us = means.profiler_step_s * 1e6,
            .data_wait_us = means.data_wait_s * 1e6,
            .busy = trace->idle.busy,
            .communication = communication_share(trace),
            .exposed_communication = tp_trace_exposed_communication(trace),
            .late = NAN};
    }
}

/* Whether the traces can be laid over each other; if not, says so. */
static bool check_clocks(struct tp_trace_run *run)
{
    size_t unknown = 0;
    const char *example = "";
    for (size_t i = 0; i < run->ranks.count; i++) {
        if (isnan(run->ranks.rows[i].start_us)) {
            unknown++;
            example = run->ranks.rows[i].file;
        }
    }
    if (unknown && run->ranks.count > 1) {
        tp_trace_note(run,
                      "%zu of %zu traces do not tell when they were recorded "
                      "(times count from no known moment, no "
                      "baseTimeNanoseconds), so ranks are not laid over each "
                      "other: %s",
                      unknown, run->ranks.count, example);
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
static bool check_duplicates(struct tp_trace_run *run)
{
    size_t duplicates = 0, example = 0;
    for (size_t i = 1; i < run->trace_count; i++) {
        if (is_duplicate(&run->traces[i - 1], &run->traces[i])) {
            duplicates++;
            example = i;
        }
    }
    if (duplicates) {
        tp_trace_note(run,
                      "%zu ranks are met twice, so ranks are not compared; "
                      "rank %" PRId64 " is in %s and in %s",
                      duplicates, run->traces[example].rank,
                      run->traces[example - 1].path,
                      run->traces[example].path);
    }
    return duplicates == 0;
}

/* Names gaps in the sequence of ranks, "2, 5-7", and says how many miss. */
static void check_missing(struct tp_trace_run *run)
{
    enum { GAPS_MAX = 8 };
    struct tp_text gaps = {0};
    int64_t world = 0, next = 0, missing = 0, shown = 0;
    for (size_t i = 0; i < run->ranks.count; i++) {
        const int64_t size = run->ranks.rows[i].world_size;
        world = size > world ? size : world;
    }
    for (size_t i = 0; i <= run->ranks.count && next < world; i++) {
        const bool end = i == run->ranks.count;
        int64_t rank = end ? world : run->ranks.rows[i].rank;
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
        next = rank + 1 > next ? rank + 1 : next;
    }
    if (missing > 0 && missing < world) {
        tp_trace_note(run,
                      "%" PRId64 " of %" PRId64 " ranks are missing: %s%s",
                      missing, world, tp_text_get(&gaps),
                      shown > GAPS_MAX ? ", ..." : "");
    }
    tp_text_clear(&gaps);
}

/* --- steps and collectives ---------------------------------------------- */

static void note_imbalance(struct tp_trace_run *run)
{
    const struct tp_rank_row *least = NULL, *most = NULL;
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < run->ranks.count; i++) {
        const struct tp_rank_row *row = &run->ranks.rows[i];
        if (row->rank < 0 || !(row->step_us > 0)) {
            continue;
        }
        least = !least || row->step_us < least->step_us ? row : least;
        most = !most || row->step_us > most->step_us ? row : most;
        sum += row->step_us;
        count++;
    }
    if (count < 2 || least->rank == most->rank) {
        return;
    }
    const double mean = sum / (double)count;
    tp_trace_note(run,
                  "steps take %.2f ms on rank %" PRId64 " to %.2f ms on rank "
                  "%" PRId64 ": imbalance %.1f %% ((longest - shortest) / "
                  "mean)",
                  least->step_us / 1e3, least->rank, most->step_us / 1e3,
                  most->rank,
                  100 * (most->step_us - least->step_us) / mean);
}

/* One row of /collectives with the trace it is of. */
struct shared {
    const struct tp_comm_row *row;
    int64_t rank;
};

static int by_collective(const void *a, const void *b)
{
    const struct tp_comm_row *x = ((const struct shared *)a)->row;
    const struct tp_comm_row *y = ((const struct shared *)b)->row;
    int order = strcmp(x->kernel, y->kernel);
    if (!order) {
        order = strcmp(x->collective, y->collective);
    }
    if (!order) {
        order = strcmp(x->group, y->group);
    }
    return order ? order : strcmp(x->dtype, y->dtype);
}

/* A run of rows about one collective. */
struct collective {
    const struct shared *first;
    size_t count;
    double us;
};

static struct collective find_slowest(const struct shared *items, size_t count)
{
    struct collective slowest = {0};
    for (size_t first = 0, end; first < count; first = end) {
        double us = 0;
        for (end = first;
             end < count && by_collective(&items[first], &items[end]) == 0;
             end++) {
            us += items[end].row->total_us;
        }
        if (us > slowest.us) {
            slowest = (struct collective){items + first, end - first, us};
        }
    }
    return slowest;
}

static void say_slowest(struct tp_trace_run *run,
                        const struct collective *slowest)
{
    const struct shared *least = slowest->first, *most = slowest->first;
    for (size_t i = 1; i < slowest->count; i++) {
        const struct shared *item = &slowest->first[i];
        least = item->row->total_us < least->row->total_us ? item : least;
        most = item->row->total_us > most->row->total_us ? item : most;
    }
    const struct tp_comm_row *row = slowest->first->row;
    tp_trace_note(run,
                  "the slowest collective is %s (%.60s): %.2f ms on rank "
                  "%" PRId64 " to %.2f ms on rank %" PRId64 "; what is more "
                  "than the shortest is waiting for others",
                  *row->collective ? row->collective : "a kernel", row->kernel,
                  least->row->total_us / 1e3, least->rank,
                  most->row->total_us / 1e3, most->rank);
}

static enum tp_status note_slowest(struct tp_trace_run *run,
                                   struct tp_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        count += run->traces[i].comms.count;
    }
    struct shared *items = malloc((count + 1) * sizeof *items);
    if (!items) {
        return tp_fail_memory(err);
    }
    count = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t k = 0; k < run->traces[i].comms.count; k++) {
            items[count++] = (struct shared){&run->traces[i].comms.rows[k],
                                             run->traces[i].rank};
        }
    }
    if (count > 1) {
        qsort(items, count, sizeof *items, by_collective);
    }
    const struct collective slowest = find_slowest(items, count);
    if (slowest.count > 1) {
        say_slowest(run, &slowest);
    }
    free(items);
    return TP_OK;
}

/* --- stragglers --------------------------------------------------------- */

static enum tp_status collect_entries(struct ranks_state *state,
                                      struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < state->run->trace_count; i++) {
        const struct tp_trace *trace = &state->run->traces[i];
        for (size_t k = 0; k < trace->arrivals.count && !status; k++) {
            const struct tp_arrival_row *row = &trace->arrivals.rows[k];
            struct entry entry = {row->kernel, row->stream, row->step,
                                  trace->rank, i,           0,
                                  row->ns};
            if (trace->rank < 0 ||
                !since_epoch(trace, row->start_ns, &entry.start)) {
                continue;
            }
            status = tp_grow(&state->entries, &state->capacity,
                             state->count + 1, sizeof entry, err);
            if (!status) {
                state->entries[state->count++] = entry;
            }
        }
    }
    return status;
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_kernel(const struct entry *x, const struct entry *y)
{
    const int order = strcmp(x->kernel, y->kernel);
    return order ? order : by_number(x->stream, y->stream);
}

static int by_kernel_and_step(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = by_kernel(x, y);
    if (!order) {
        order = by_number(x->step, y->step);
    }
    if (!order) {
        order = by_number(x->rank, y->rank);
    }
    return order ? order : by_number((int64_t)x->trace, (int64_t)y->trace);
}

/* The end of the entries from `first` on with its kernel, stream and step. */
static size_t end_of_step(const struct ranks_state *state, size_t first)
{
    size_t end = first;
    while (end < state->count &&
           by_kernel(&state->entries[first], &state->entries[end]) == 0 &&
           state->entries[first].step == state->entries[end].step) {
        end++;
    }
    return end;
}

/* Unbiased standard deviation of the durations, ns. */
static double deviation(const struct entry *entries, size_t count)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double off = (double)entries[i].ns - mean;
        mean += off / (double)(i + 1);
        squares += off * ((double)entries[i].ns - mean);
    }
    return sqrt(squares / (double)(count - 1));
}

/* The entries of the kernel and stream whose durations differ most between
 * ranks, mean over steps; [0, 0) if no step has two ranks. */
static void find_uneven(const struct ranks_state *state, size_t range[2])
{
    double most = -1;
    range[0] = range[1] = 0;
    for (size_t first = 0, end = 0; first < state->count; first = end) {
        double sum = 0;
        size_t steps = 0;
        for (end = first;
             end < state->count &&
             by_kernel(&state->entries[first], &state->entries[end]) == 0;) {
            const size_t next = end_of_step(state, end);
            if (next - end > 1) {
                sum += deviation(state->entries + end, next - end);
                steps++;
            }
            end = next;
        }
        if (steps > 0 && sum / (double)steps > most) {
            most = sum / (double)steps;
            range[0] = first;
            range[1] = end;
        }
    }
}

/* Adds how much later than the first each rank starts, step after step. */
static void measure_lateness(struct ranks_state *state, const size_t range[2])
{
    for (size_t first = range[0], end; first < range[1]; first = end) {
        end = end_of_step(state, first);
        int64_t earliest = INT64_MAX;
        for (size_t i = first; i < end; i++) {
            const int64_t start = state->entries[i].start;
            earliest = start < earliest ? start : earliest;
        }
        for (size_t i = first; i < end && end - first > 1; i++) {
            const struct entry *entry = &state->entries[i];
            state->late[entry->trace] +=
                (double)(entry->start - earliest) / state->step_ns;
            state->met[entry->trace]++;
        }
    }
}

/* Means per rank; all spans of a rank, which are neighbours, have the same.
 * Returns the number of ranks that were met. */
static size_t fill_lateness(const struct ranks_state *state)
{
    struct tp_rank_row *rows = state->run->ranks.rows;
    const size_t count = state->run->ranks.count;
    size_t ranks = 0;
    for (size_t first = 0, end; first < count; first = end) {
        double late = 0;
        int64_t met = 0;
        for (end = first; end < count && rows[end].rank == rows[first].rank;
             end++) {
            late += state->late[end];
            met += state->met[end];
        }
        ranks += met > 0;
        for (size_t i = first; i < end; i++) {
            rows[i].late = met > 0 ? late / (double)met : NAN;
        }
    }
    return ranks;
}

/* Marks the ranks that start latest, if they do so by a fair part of a
 * step; ranks that start together are all marked or all not. */
static void mark_stragglers(struct tp_trace_run *run, size_t ranks)
{
    const size_t most = ranks / 2 < TP_STRAGGLERS_MAX ? ranks / 2
                                                      : TP_STRAGGLERS_MAX;
    double limit = INFINITY;
    for (size_t found = 0; found < most; found++) {
        double latest = -1;
        for (size_t i = 0; i < run->ranks.count; i++) {
            const double late = run->ranks.rows[i].late;
            latest = late < limit && late > latest ? late : latest;
        }
        if (latest < TP_STRAGGLER_LATE) {
            return;
        }
        for (size_t i = 0; i < run->ranks.count; i++) {
            run->ranks.rows[i].straggler |= run->ranks.rows[i].late == latest;
        }
        limit = latest;
    }
}

static double mean_step_ns(const struct tp_trace_run *run)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < run->ranks.count; i++) {
        if (run->ranks.rows[i].step_us > 0) {
            sum += run->ranks.rows[i].step_us;
            count++;
        }
    }
    return count ? sum / (double)count * 1e3 : 0;
}

static enum tp_status find_stragglers(struct tp_trace_run *run,
                                      struct tp_error *err)
{
    struct ranks_state state = {
        .run = run,
        .late = calloc(run->trace_count + 1, sizeof *state.late),
        .met = calloc(run->trace_count + 1, sizeof *state.met),
        .step_ns = mean_step_ns(run),
    };
    size_t range[2];
    enum tp_status status =
        state.late && state.met ? TP_OK : tp_fail_memory(err);
    if (!status) {
        status = collect_entries(&state, err);
    }
    if (!status && state.count > 1 && state.step_ns > 0) {
        qsort(state.entries, state.count, sizeof *state.entries,
              by_kernel_and_step);
        find_uneven(&state, range);
        measure_lateness(&state, range);
        mark_stragglers(run, fill_lateness(&state));
    }
    free(state.entries);
    free(state.late);
    free(state.met);
    return status;
}

enum tp_status tp_trace_ranks(struct tp_trace_run *run, struct tp_error *err)
{
    const bool several = run->trace_count > 1 &&
                         run->traces[run->trace_count - 1].rank >
                             run->traces[0].rank;
    if (tp_grow(&run->ranks.rows, &run->ranks.capacity, run->trace_count + 1,
                sizeof *run->ranks.rows, err)) {
        return TP_E_MEMORY;
    }
    fill_rows(run);
    check_missing(run);
    const bool unique = check_duplicates(run);
    if (!several) {
        return TP_OK;
    }
    note_imbalance(run);
    enum tp_status status = note_slowest(run, err);
    if (!status && unique && check_clocks(run)) {
        status = find_stragglers(run, err);
    }
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * The events of the tracks that are added to a trace, in the JSON of Chrome's
 * tracing: slices ("B", "E"), counters ("C"), arrows ("s", "f") and names
 * ("M"), all of TP_EVENT_ADDED, in a process that the trace does not have.
 * Slices of a row must lie in each other or apart, but critical paths of steps
 * in a row may overlap, as may collectives of two streams: then a track has
 * several rows, and a slice takes the first that is free. One pass over the
 * rows, a few KB at a time; matched collectives and rates are sorted: O(n log
 * n).
 *
 * Times are decimal microseconds with all their nanoseconds. Programs round
 * them, start and length alone, so of slices with a length ("X") that touch
 * Perfetto finds many to overlap, and drops them. An end and a begin at one
 * moment stay at one moment however they are rounded. There Perfetto has the
 * end first: a slice whose own two are rounded to one would end the one before
 * and never end itself, so it is a moment ("i") that tells its length.
 */
#include "report/annotate_tracks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "figures/trace_colours.h"
#include "trace/trace_collective.h"
#include "trace/trace_facts.h"
#include "trace/trace_path.h"
#include "verdict/trace_collectives.h"
#include "verdict/trace_step_verdict.h"
#include "verdict/trace_verdict.h"

enum { FULL = 64 << 10 }; /* bytes that are handed on at once */
/* Rows of the process, from the top; each may be several. */
enum track {
    TRACK_VERDICT,
    TRACK_STEPS,
    TRACK_IDLE,
    TRACK_PATH,
    TRACK_WAITS,
    TRACKS
};

static const char *const track_names[TRACKS] = {
    [TRACK_VERDICT] = "verdict",
    [TRACK_STEPS] = "verdict by step",
    [TRACK_IDLE] = "GPU idle, by cause",
    [TRACK_PATH] = "critical path",
    [TRACK_WAITS] = "waits for other ranks",
};

/* Where the last slice of each row of a track ends. */
struct rows {
    int64_t *ends;
    size_t count, capacity;
};

struct writer {
    const struct tp_trace_run *run;
    const struct tp_trace_judged *judged;
    const struct tp_trace *trace;
    size_t number; /* of the trace */
    const struct tp_annotate_sink *sink;
    struct tp_text text;
    /* of the slice that was begun; ns: of what it stands for            */
    int64_t tid, to_ns, drawn_ns, ns;
    bool lasts; /* it has an end of its own */
    struct rows rows[TRACKS];
};

/* --- events -------------------------------------------------------------- */

static enum tp_status flush(struct writer *w, size_t room, struct tp_error *err)
{
    if (w->text.failed)
        return tp_fail_memory(err);
    if (w->text.length <= room)
        return TP_OK;
    const enum tp_status status =
        w->sink->take(w->sink->context, &w->text, err);
    w->text.length = 0;
    return status;
}

/* Ends an event, and hands on what is written when it is much. */
static enum tp_status end(struct writer *w, const char *closing,
                          struct tp_error *err)
{
    tp_text_add(&w->text, "%s,\n", closing);
    return flush(w, FULL, err);
}

static void add_us(struct tp_text *text, int64_t ns)
{
    const int64_t whole = ns / 1000, rest = ns % 1000;
    if (ns < 0 && whole == 0)
        tp_text_bytes(text, "-", 1);
    tp_text_integer(text, whole);
    tp_text_add(text, ".%03d", (int)(rest < 0 ? -rest : rest));
}

/* {"ph":"X","cat":..,"pid":.. */
static void begin(struct writer *w, char phase)
{
    tp_text_add(&w->text,
                "{\"ph\":\"%c\",\"cat\":\"" TP_EVENT_ADDED "\",\"pid\":",
                phase);
    tp_text_integer(&w->text, w->trace->events.free_pid);
}

static void begin_name(struct writer *w, const char *what, int64_t tid)
{
    begin(w, 'M');
    tp_text_add(&w->text,
                ",\"tid\":%" PRId64
                ",\"ts\":0,\"name\":\"%s\",\"args\":{",
                tid, what);
}

static enum tp_status add_name(struct writer *w, const char *what, int64_t tid,
                               const char *name, struct tp_error *err)
{
    begin_name(w, what, tid);
    tp_text_add(&w->text, "\"name\":");
    tp_text_json(&w->text, name);
    return end(w, "}}", err);
}

static enum tp_status add_place(struct writer *w, const char *what, int64_t tid,
                                int64_t place, struct tp_error *err)
{
    begin_name(w, what, tid);
    tp_text_add(&w->text, "\"sort_index\":%" PRId64, place);
    return end(w, "}}", err);
}

static int64_t tid_of(enum track track, size_t row)
{
    return (int64_t)row * TRACKS + track + 1;
}

static enum tp_status name_row(struct writer *w, enum track track, size_t row,
                               struct tp_error *err)
{
    struct tp_text name = {0};
    const int64_t tid = tid_of(track, row);
    tp_text_add(&name, "%s", track_names[track]);
    if (row > 0)
        tp_text_add(&name, " (%zu)", row + 1);
    enum tp_status status =
        name.failed ? tp_fail_memory(err)
                    : add_name(w, "thread_name", tid, tp_text_get(&name), err);
    tp_text_clear(&name);
    return status == TP_OK ? add_place(w, "thread_sort_index", tid,
                                       (int64_t)track * 1000 + (int64_t)row,
                                       err)
                           : status;
}

/* The first row of a track that is free from a moment on. */
static enum tp_status find_row(struct writer *w, enum track track,
                               int64_t from_ns, int64_t to_ns, size_t *row,
                               struct tp_error *err)
{
    struct rows *rows = &w->rows[track];
    for (*row = 0; *row < rows->count; ++*row) {
        if (rows->ends[*row] <= from_ns)
            break;
    }
    enum tp_status status = TP_OK;
    if (*row == rows->count) {
        status = tp_grow(&rows->ends, &rows->capacity, rows->count + 1,
                         sizeof *rows->ends, err);
        if (status == TP_OK)
            status = name_row(w, track, rows->count, err);
        if (status == TP_OK)
            rows->count++;
    }
    if (status == TP_OK)
        rows->ends[*row] = to_ns;
    return status;
}

/* Whether a slice has two ends where times are doubles of us, times 1000: each
 * off by less than 1.02 of the distance of doubles, and cut to whole ns. */
static bool can_last(int64_t from_ns, int64_t ns)
{
    const double us = fabs((double)from_ns / 1e3) + (double)ns / 1e3;
    return (double)ns > 1 + 2.04 * 1e3 * (nextafter(us, INFINITY) - us);
}

/* A slice up to its arguments, which follow; a moment, if it is too short. */
static void begin_slice(struct writer *w, int64_t tid, const char *name,
                        int64_t from_ns, int64_t ns)
{
    w->tid = tid;
    w->to_ns = from_ns + ns;
    w->ns = w->drawn_ns = ns;
    w->lasts = can_last(from_ns, ns);
    begin(w, w->lasts ? 'B' : 'i');
    tp_text_add(&w->text, "%s,\"tid\":%" PRId64 ",\"ts\":",
                w->lasts ? "" : ",\"s\":\"t\"", tid);
    add_us(&w->text, from_ns);
    tp_text_add(&w->text, ",\"name\":");
    tp_text_json(&w->text, name);
    tp_text_add(&w->text, ",\"args\":{");
}

/* Ends the arguments, with the length if it does not show, and the slice. */
static enum tp_status end_slice(struct writer *w, struct tp_error *err)
{
    if (!w->lasts || w->ns != w->drawn_ns) {
        const size_t length = w->text.length;
        if (length > 0 && w->text.data[length - 1] != '{')
            tp_text_bytes(&w->text, ",", 1);
        tp_text_add(&w->text, "\"us\":");
        add_us(&w->text, w->ns);
    }
    if (!w->lasts)
        return end(w, "}}", err);
    tp_text_add(&w->text, "}},\n");
    begin(w, 'E');
    tp_text_add(&w->text, ",\"tid\":%" PRId64 ",\"ts\":", w->tid);
    add_us(&w->text, w->to_ns);
    return end(w, "}", err);
}

/* --- verdicts ------------------------------------------------------------ */

static void add_share(struct tp_text *text, const char *name, double share)
{
    if (isfinite(share))
        tp_text_add(text, ",\"%s %%\":%.2f", name, 100 * share);
}

static enum tp_status add_verdict(struct writer *w, struct tp_error *err)
{
    const struct tp_trace_facts *facts = &w->trace->facts;
    const struct tp_trace_verdict *verdict = &w->judged->verdicts[w->number];
    size_t row;
    if (facts->from_ns >= facts->to_ns)
        return TP_OK;
    const enum tp_status status =
        find_row(w, TRACK_VERDICT, facts->from_ns, facts->to_ns, &row, err);
    if (status != TP_OK)
        return status;
    begin_slice(w, tid_of(TRACK_VERDICT, row),
                tp_trace_verdict_table[verdict->verdict].id, facts->from_ns,
                facts->to_ns - facts->from_ns);
    tp_text_add(&w->text, "\"why\":");
    tp_text_json(&w->text, verdict->sentence);
    tp_text_add(&w->text, ",\"window\":");
    tp_text_json(&w->text, facts->window);
    return end_slice(w, err);
}

/* As figures have it. */
static const char *cause_name(enum tp_idle_cause cause)
{
    return tp_trace_colour_of(tp_trace_idle_colour(cause))->name;
}

static enum tp_status add_step(struct writer *w,
                               const struct tp_step_span_row *step,
                               struct tp_error *err)
{
    const struct tp_idle_row idle = tp_trace_step_idle(w->trace, step);
    const double ns = (double)(step->to_ns - step->from_ns);
    double share;
    size_t row;
    const enum tp_verdict verdict = tp_trace_step_verdict(
        w->trace, &w->judged->limits, step, &share);
    const enum tp_status status =
        find_row(w, TRACK_STEPS, step->from_ns, step->to_ns, &row, err);
    if (status != TP_OK)
        return status;
    begin_slice(w, tid_of(TRACK_STEPS, row), tp_trace_verdict_table[verdict].id,
                step->from_ns, step->to_ns - step->from_ns);
    tp_text_add(&w->text, "\"step\":%" PRId64, step->step);
    add_share(&w->text, "GPU busy", idle.busy);
    for (int i = 0; i < TP_IDLE_CAUSES; i++) {
        if (step->idle_ns[i] > 0) {
            tp_text_add(&w->text, ",\"idle: %s %%\":%.2f",
                        cause_name(i),
                        100 * (double)step->idle_ns[i] / ns);
        }
    }
    if (step->exposed_communication_ns > 0)
        add_share(&w->text, "communication that nothing hides",
                  (double)step->exposed_communication_ns / ns);
    if (step->exposed_transfer_ns > 0)
        add_share(&w->text, "copies that nothing hides",
                  (double)step->exposed_transfer_ns / ns);
    return end_slice(w, err);
}

static enum tp_status add_steps(struct writer *w, struct tp_error *err)
{
    const struct tp_trace *trace = w->trace;
    enum tp_status status = add_verdict(w, err);
    if (trace->facts.device_events == 0)
        return status;
    for (size_t i = 0; i < trace->step_spans.count && status == TP_OK; i++) {
        if (trace->step_spans.rows[i].from_ns < trace->step_spans.rows[i].to_ns)
            status = add_step(w, &trace->step_spans.rows[i], err);
    }
    return status;
}

/* --- idle time ----------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    return tp_order_int64(((const struct tp_stretch_row *)a)->from_ns,
                          ((const struct tp_stretch_row *)b)->from_ns);
}

static enum tp_status add_idle(struct writer *w, struct tp_error *err)
{
    const size_t count = w->trace->stretches.count;
    enum tp_status status = TP_OK;
    if (count > 1)
        qsort(w->trace->stretches.rows, count,
              sizeof *w->trace->stretches.rows, by_start);
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        const struct tp_stretch_row *it = &w->trace->stretches.rows[i];
        size_t row;
        status = find_row(w, TRACK_IDLE, it->from_ns, it->from_ns + it->ns,
                          &row, err);
        if (status != TP_OK)
            break;
        begin_slice(w, tid_of(TRACK_IDLE, row), cause_name(it->why),
                    it->from_ns, it->ns);
        status = end_slice(w, err);
    }
    return status;
}

/* --- critical paths ------------------------------------------------------ */

/* Whether the edge before ends where this one begins, in the same path. */
static bool goes_on(const struct tp_piece_row *rows, size_t i)
{
    return i > 0 && rows[i - 1].step == rows[i].step &&
           rows[i - 1].from_ns + rows[i - 1].ns == rows[i].from_ns;
}

/* The end of the latest edge of a path that begins at rows[first]. */
static int64_t end_of_path(const struct tp_piece_row *rows, size_t first,
                           size_t count)
{
    int64_t last = rows[first].from_ns;
    for (size_t i = first; i < count && (i == first || goes_on(rows, i)); i++) {
        if (rows[i].from_ns + rows[i].ns > last)
            last = rows[i].from_ns + rows[i].ns;
    }
    return last;
}

/* An edge, of which only what comes after `shown` can be a slice of the row;
 * edges of no length, or below, are none. */
static enum tp_status add_piece(struct writer *w, int64_t tid,
                                const struct tp_piece_row *piece,
                                int64_t *shown, struct tp_error *err)
{
    const int64_t to = piece->from_ns + piece->ns;
    const int64_t from = piece->from_ns > *shown ? piece->from_ns : *shown;
    const char *kind = tp_path_kind_name(piece->spent_on);
    if (piece->ns == 0)
        return TP_OK;
    begin_slice(w, tid, *piece->name ? piece->name : kind,
                to > from ? from : piece->from_ns, to > from ? to - from : 0);
    *shown = to > *shown ? to : *shown;
    w->ns = piece->ns;
    tp_text_add(&w->text, "\"step\":%" PRId64 ",\"spent on\":\"%s\"",
                piece->step, kind);
    return end_slice(w, err);
}

static enum tp_status add_paths(struct writer *w, struct tp_error *err)
{
    const struct tp_piece_row *rows = w->trace->pieces.rows;
    const size_t count = w->trace->pieces.count;
    enum tp_status status = TP_OK;
    int64_t shown = 0, tid = 0;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        if (!goes_on(rows, i)) {
            size_t row;
            shown = rows[i].from_ns;
            status = find_row(w, TRACK_PATH, shown, end_of_path(rows, i, count),
                              &row, err);
            tid = tid_of(TRACK_PATH, row);
        }
        if (status == TP_OK)
            status = add_piece(w, tid, &rows[i], &shown, err);
    }
    return status;
}

/* A number as such: those of processes and threads are, mostly. */
static void add_lane(struct tp_text *text, const char *name)
{
    const size_t length = strlen(name);
    if (length < 18 && tp_digits_value(name, length) >= 0 &&
        (name[0] != '0' || length == 1))
        tp_text_bytes(text, name, length);
    else
        tp_text_json(text, name);
}

static enum tp_status add_end_of_arrow(struct writer *w, size_t number,
                                       bool last, struct tp_error *err)
{
    const struct tp_arrow_row *it = &w->trace->arrows.rows[number];
    tp_text_add(&w->text,
                "{\"ph\":\"%c\",\"cat\":\"" TP_EVENT_ADDED
                "\",\"name\":\"critical path\",\"id\":%zu,\"pid\":",
                last ? 'f' : 's', number + 1);
    add_lane(&w->text, last ? it->to_pid : it->from_pid);
    tp_text_add(&w->text, ",\"tid\":");
    add_lane(&w->text, last ? it->to_tid : it->from_tid);
    tp_text_add(&w->text, ",\"ts\":");
    add_us(&w->text, last ? it->to_ns : it->from_ns);
    return end(w, last ? ",\"bp\":\"e\"}" : "}", err);
}

static enum tp_status add_arrows(struct writer *w, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < w->trace->arrows.count && status == TP_OK; i++) {
        status = add_end_of_arrow(w, i, false, err);
        if (status == TP_OK)
            status = add_end_of_arrow(w, i, true, err);
    }
    return status;
}

/* --- waits for other ranks ----------------------------------------------- */

/* A wait of this trace's rank, and the collective's number. */
struct wait {
    int64_t from_ns, to_ns, collective;
};

static int by_wait_start(const void *left, const void *right)
{
    const struct wait *a = left, *b = right;
    const int order = tp_order_int64(a->from_ns, b->from_ns);
    return order ? order : tp_order_int64(a->collective, b->collective);
}

/* From this rank's begin of each collective to the last rank's, by this rank's
 * clock. Members of one collective stand together. */
static enum tp_status find_waits(const struct writer *w, struct wait **waits,
                                 size_t *count, struct tp_error *err)
{
    const struct tp_collective_member *rows = w->judged->members.rows;
    const size_t members = w->judged->members.count;
    size_t capacity = 0;
    for (size_t first = 0, next; first < members; first = next) {
        int64_t last = INT64_MIN, from = INT64_MIN;
        const int64_t shift =
            tp_trace_clock_shift(w->run, w->judged, w->number);
        for (next = first; next < members &&
                           rows[next].collective == rows[first].collective;
             next++) {
            const int64_t at =
                rows[next].start_ns +
                tp_trace_clock_shift(w->run, w->judged, rows[next].trace);
            last = at > last ? at : last;
            from = rows[next].trace == w->number ? at : from;
        }
        if (from == INT64_MIN || last <= from)
            continue;
        if (tp_grow(waits, &capacity, *count + 1, sizeof **waits, err))
            return TP_E_MEMORY;
        (*waits)[(*count)++] = (struct wait){from - shift, last - shift,
                                             rows[first].collective};
    }
    if (*count > 1)
        qsort(*waits, *count, sizeof **waits, by_wait_start);
    return TP_OK;
}

static enum tp_status add_wait(struct writer *w, const struct wait *it,
                               const struct tp_collective_row *what,
                               struct tp_error *err)
{
    size_t row;
    const enum tp_status status =
        find_row(w, TRACK_WAITS, it->from_ns, it->to_ns, &row, err);
    struct tp_text name = {0};
    if (status != TP_OK)
        return status;
    tp_text_add(&name, "waits for rank %" PRId64, what->last_rank);
    begin_slice(w, tid_of(TRACK_WAITS, row), tp_text_get(&name), it->from_ns,
                it->to_ns - it->from_ns);
    tp_text_add(&w->text, "\"collective\":");
    tp_text_json(&w->text, what->collective);
    tp_text_add(&w->text, ",\"group\":");
    tp_text_json(&w->text, what->group);
    tp_text_add(&w->text,
                ",\"matched by\":\"%s\",\"sequence\":%" PRId64
                ",\"ranks\":%" PRId64,
                what->matched_by, what->sequence, what->ranks);
    w->text.failed |= name.failed;
    tp_text_clear(&name);
    return end_slice(w, err);
}

static enum tp_status add_waits(struct writer *w, struct tp_error *err)
{
    const size_t collectives = w->judged->collectives.count;
    const struct tp_collective_row **rows =
        calloc(collectives + 1, sizeof *rows);
    struct wait *waits = NULL;
    size_t count = 0;
    enum tp_status status =
        rows ? find_waits(w, &waits, &count, err) : tp_fail_memory(err);
    for (size_t i = 0; i < collectives && rows; i++)
        rows[w->judged->collectives.rows[i].number] =
            &w->judged->collectives.rows[i];
    for (size_t i = 0; i < count && status == TP_OK; i++)
        status = add_wait(w, &waits[i], rows[waits[i].collective], err);
    free(waits);
    free(rows);
    return status;
}

/* --- counters ------------------------------------------------------------ */

static void begin_counter(struct writer *w, const char *name, int64_t at_ns)
{
    begin(w, 'C');
    tp_text_add(&w->text, ",\"tid\":0,\"name\":\"%s\",\"ts\":", name);
    add_us(&w->text, at_ns);
}

static enum tp_status add_queue(struct writer *w, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < w->trace->levels.count && status == TP_OK; i++) {
        const struct tp_level_row *it = &w->trace->levels.rows[i];
        begin_counter(w, "queue length", it->at_ns);
        tp_text_add(&w->text, ",\"args\":{\"launches\":");
        tp_text_integer(&w->text, it->waiting);
        status = end(w, "}}", err);
    }
    return status;
}

/* A kernel that communicates begins, or ends (below 0), at its mean rate. */
struct change {
    int64_t at_ns;
    double gbps;
};

static int by_moment(const void *a, const void *b)
{
    return tp_order_int64(((const struct change *)a)->at_ns,
                          ((const struct change *)b)->at_ns);
}

static size_t find_changes(const struct tp_trace *trace, struct change *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->arrivals.count; i++) {
        const struct tp_arrival_row *it = &trace->arrivals.rows[i];
        const int64_t bytes = tp_collective_bytes(it->in_bytes, it->out_bytes);
        if (bytes <= 0 || it->ns <= 0)
            continue;
        const double gbps = (double)bytes / (double)it->ns;
        changes[count++] = (struct change){it->start_ns, gbps};
        changes[count++] = (struct change){it->start_ns + it->ns, -gbps};
    }
    if (count > 1)
        qsort(changes, count, sizeof *changes, by_moment);
    return count;
}

static enum tp_status add_rates(struct writer *w, struct tp_error *err)
{
    struct change *changes =
        calloc(2 * w->trace->arrivals.count + 1, sizeof *changes);
    if (!changes)
        return tp_fail_memory(err);
    const size_t count = find_changes(w->trace, changes);
    enum tp_status status = TP_OK;
    double gbps = 0;
    int64_t running = 0;
    for (size_t i = 0; i < count && status == TP_OK; i++) {
        running += changes[i].gbps > 0 ? 1 : -1;
        gbps = running ? gbps + changes[i].gbps : 0;
        if (i + 1 < count && changes[i + 1].at_ns == changes[i].at_ns)
            continue;
        begin_counter(w, "communication", changes[i].at_ns);
        tp_text_add(&w->text, ",\"args\":{\"GB/s\":%.9g",
                    gbps > 0 ? gbps : 0.0);
        status = end(w, "}}", err);
    }
    free(changes);
    return status;
}

/* --- the whole ----------------------------------------------------------- */

static enum tp_status name_process(struct writer *w, struct tp_error *err)
{
    struct tp_text name = {0};
    tp_text_add(&name, "tprof-analyze");
    if (w->trace->events.truncated_at >= 0)
        tp_text_add(&name, ": the trace was cut off at byte %" PRId64,
                    w->trace->events.truncated_at);
    enum tp_status status =
        name.failed ? tp_fail_memory(err)
                    : add_name(w, "process_name", 0, tp_text_get(&name), err);
    tp_text_clear(&name);
    return status == TP_OK ? add_place(w, "process_sort_index", 0, -1, err)
                           : status;
}

enum tp_status tp_annotate_tracks(const struct tp_trace_run *run,
                                  const struct tp_trace_judged *judged,
                                  size_t trace,
                                  const struct tp_annotate_sink *sink,
                                  struct tp_error *err)
{
    static enum tp_status (*const parts[])(struct writer *,
                                           struct tp_error *) = {
        name_process, add_steps, add_idle,  add_paths,
        add_arrows,   add_waits, add_queue, add_rates};
    struct writer w = {.run = run,
                       .judged = judged,
                       .trace = &run->traces[trace],
                       .number = trace,
                       .sink = sink};
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == TP_OK; i++)
        status = parts[i](&w, err);
    if (status == TP_OK)
        status = flush(&w, 0, err);
    for (int i = 0; i < TRACKS; i++)
        free(w.rows[i].ends);
    tp_text_clear(&w.text);
    return status;
}

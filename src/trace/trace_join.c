/* SPDX-License-Identifier: MIT */
#include "trace/trace_join.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "formats/trace/trace_reader.h"
#include "trace/trace_beside.h"
#include "trace/trace_device.h"
#include "trace/trace_what_if.h"

static enum tp_status add_skipped(struct tp_trace_run *run,
                                  struct tp_trace_skipped skipped,
                                  struct tp_error *err)
{
    if (tp_grow(&run->skipped.rows, &run->skipped.capacity,
                run->skipped.count + 1, sizeof *run->skipped.rows,
                err) != TP_OK)
        return TP_E_MEMORY;
    run->skipped.rows[run->skipped.count++] = skipped;
    return TP_OK;
}

/* What was put right is a note, events that were lost a row of /skipped. */
static enum tp_status say_repairs(struct tp_trace_run *run,
                                  const struct tp_trace *trace,
                                  struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    enum tp_status status = TP_OK;
    for (enum tp_repair r = 0; r < TP_REPAIRS && status == TP_OK; r++) {
        if (events->repairs[r] == 0 || r >= TP_REPAIR_TRUNCATED)
            continue;
        const char *text = tp_arena_format(
            &run->arena, "%" PRIu64 " x %s, the first at byte %" PRId64,
            events->repairs[r], tp_repair_name(r), events->first_repair[r]);
        if (r == TP_REPAIR_DROPPED)
            status = add_skipped(
                run,
                (struct tp_trace_skipped){trace->path, text,
                                          events->first_repair[r], true},
                err);
        else
            tp_notes_add(&run->notes,
                         tp_arena_format(&run->arena, "%s: repaired: %s",
                                         trace->path, text));
    }
    return status;
}

/* Whether it is said otherwise why a trace ends where it does. */
static bool has_other_end(const struct tp_events *events)
{
    return events->repairs[TP_REPAIR_LIMIT] > 0 ||
           events->repairs[TP_REPAIR_CHECKSUM] > 0 ||
           events->repairs[TP_REPAIR_LENGTH] > 0;
}

/* What is not there, or was not read: rows of /skipped. */
static enum tp_status say_rest(struct tp_trace_run *run,
                               const struct tp_trace *trace,
                               struct tp_error *err)
{
    static const struct {
        enum tp_repair repair;
        const char *before, *after;
    } rests[] = {
        {TP_REPAIR_TRUNCATED, "cut off at byte ", "; analysed up to there"},
        {TP_REPAIR_LIMIT, "from byte ",
         " on more stands without another event than is read at once, a limit; "
         "analysed up to there"},
        {TP_REPAIR_CHECKSUM, "the checksum of gzip does not fit the ",
         " bytes of JSON before it; these were read"},
        {TP_REPAIR_LENGTH, "the length that gzip says does not fit the ",
         " bytes of JSON before it; these were read"},
        {TP_REPAIR_SECOND,
         "a second list of events (\"traceEvents\"), at byte ",
         ", is not read"},
        {TP_REPAIR_FOLLOWED, "what follows the trace from byte ",
         " on is not read"},
    };
    const struct tp_events *events = &trace->events;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        const int64_t at = events->first_repair[rests[i].repair];
        if (status != TP_OK || events->repairs[rests[i].repair] == 0 ||
            (rests[i].repair == TP_REPAIR_TRUNCATED && has_other_end(events)))
            continue;
        const char *text =
            tp_arena_format(&run->arena, "%s%" PRId64 "%s", rests[i].before, at,
                            rests[i].after);
        status = add_skipped(
            run, (struct tp_trace_skipped){trace->path, text, at, true}, err);
    }
    return status;
}

static enum tp_status name_trace(struct tp_trace_run *run,
                                 struct tp_trace *trace, struct tp_error *err)
{
    const char *worker;
    size_t length;
    tp_trace_name_parts(trace->path, &worker, &length, &trace->span);
    trace->worker = tp_arena_text(&run->arena, length ? worker : "", length);
    return trace->worker ? TP_OK : tp_fail_memory(err);
}

/* A file that gave no trace. Of what a directory held, other JSON files are
 * no damage. */
static enum tp_status refuse(struct tp_trace_run *run,
                             const struct tp_trace_record *record,
                             struct tp_error *err)
{
    const bool other = record->status == TP_E_UNSUPPORTED && !record->named;
    return add_skipped(run,
                       (struct tp_trace_skipped){record->path, record->reason,
                                                 record->offset, !other},
                       err);
}

/* Moves the trace of a record into the run. */
static enum tp_status take(struct tp_trace_run *run,
                           struct tp_trace_record *record, struct tp_error *err)
{
    struct tp_trace *trace = &record->trace;
    run->bytes_read += record->size;
    if (record->status != TP_OK)
        return refuse(run, record, err);
    enum tp_status status = say_repairs(run, trace, err);
    if (status == TP_OK)
        status = say_rest(run, trace, err);
    if (status == TP_OK && record->empty)
        return add_skipped(run,
                           (struct tp_trace_skipped){record->path,
                                                     "a trace without events",
                                                     -1, false},
                           err);
    if (status == TP_OK)
        status = name_trace(run, trace, err);
    if (status == TP_OK)
        status = tp_grow(&run->traces, &run->trace_capacity,
                         run->trace_count + 1, sizeof *run->traces, err);
    if (status != TP_OK)
        return status;
    run->traces[run->trace_count++] = *trace;
    *trace = (struct tp_trace){.path = record->path};
    return TP_OK;
}

static enum tp_status say_problems(const struct tp_trace_records *records,
                                   struct tp_trace_run *run,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < records->problem_count && status == TP_OK; i++)
        status = add_skipped(
            run, (struct tp_trace_skipped){"", records->problems[i], -1, true},
            err);
    return status;
}

static int compare_traces(const void *left, const void *right)
{
    const struct tp_trace *a = left, *b = right;
    int result = tp_order_int64(a->rank, b->rank);
    if (!result)
        result = strcmp(a->worker, b->worker);
    if (!result)
        result = tp_order_int64(a->span, b->span);
    if (!result)
        result = strcmp(a->path, b->path);
    return result ? result : tp_order_size(a->place, b->place);
}

void tp_trace_run_sort(struct tp_trace_run *run)
{
    if (run->trace_count)
        qsort(run->traces, run->trace_count, sizeof *run->traces,
              compare_traces);
}

/* What a state does not have of a trace. */
static void complete(struct tp_trace *trace, const struct tp_roof_choice *roofs)
{
    trace->roofs = *roofs;
    if (!trace->device.name)
        trace->device = tp_roof_of(trace->facts.device_name, roofs);
}

enum tp_status tp_trace_run_join(struct tp_trace_records *records,
                                 const struct tp_roof_choice *roofs,
                                 struct tp_trace_run *run, struct tp_error *err)
{
    enum tp_status status = say_problems(records, run, err);
    for (size_t i = 0; i < records->count && status == TP_OK; i++) {
        struct tp_trace *trace = &records->items[i].trace;
        trace->path = records->items[i].path;
        trace->place = i;
        tp_what_if_settle(trace, records->count == 1);
        status = take(run, &records->items[i], err);
    }
    for (size_t i = 0; i < run->trace_count; i++)
        complete(&run->traces[i], roofs);
    tp_trace_run_sort(run);
    return status == TP_OK ? tp_trace_beside_add(run, &records->said, err)
                           : status;
}

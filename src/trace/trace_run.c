/* SPDX-License-Identifier: MIT */
/*
 * From paths to a run: files are found, read and turned into rows in batches
 * of about BATCH_BYTES of JSON, a task for each, and moved into the run in the
 * order of their paths, so that nothing depends on which thread was first.
 *
 * Only rows stay: the events of a trace are released when its rows' texts have
 * been moved to the run's arena. Reading all files at once would need the
 * memory of all events together; reading them one by one leaves threads idle
 * when ranks are small. Memory is bounded by the events of one batch, or of
 * one large file, and the rows.
 */
#include "trace/trace_run.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"
#include "base/order.h"
#include "formats/trace/trace_reader.h"
#include "trace/trace_beside.h"
#include "trace/trace_call_frames.h"
#include "trace/trace_facts.h"
#include "trace/trace_lists.h"
#include "trace/trace_settings.h"
#include "trace/trace_spent.h"

/* Traces that together hold no more JSON than this are analysed at once, so
 * that many small ranks keep all threads busy; a larger one is alone and
 * shares out its own reading. The events of a batch are half of its JSON. */
#define BATCH_BYTES ((uint64_t)64 << 20)

/* How far traces shrink under gzip: 13 to 32 times in public ones. */
enum { GZIP_RATIO = 20 };

static enum tp_status make_rows(struct tp_trace *trace, struct tp_error *err)
{
    enum tp_status status =
        tp_trace_index_make(&trace->events, &trace->index, err);
    if (status == TP_OK)
        status = tp_trace_lists_make(trace, err);
    if (status == TP_OK)
        status = tp_trace_facts_make(trace, err);
    if (status == TP_OK && trace->compared)
        status = tp_trace_spent(trace, err);
    return status == TP_OK ? tp_trace_settings_make(trace, err) : status;
}

/* What a file says beside its events is all that stays of them. */
static void release_events(struct tp_trace *trace)
{
    struct tp_events *events = &trace->events;
    struct tp_events kept = {
        .base_ns = events->base_ns, .has_base = events->has_base,
        .rank = events->rank, .world_size = events->world_size,
        .backend = events->backend, .trace_name = events->trace_name,
        .record_shapes = events->record_shapes,
        .profile_memory = events->profile_memory,
        .with_stack = events->with_stack, .with_modules = events->with_modules,
        .with_flops = events->with_flops, .bytes = events->bytes,
        .seen = events->seen, .truncated_at = events->truncated_at,
        .array_end = events->array_end, .free_pid = events->free_pid,
        .is_list = events->is_list, .added = events->added};
    memcpy(kept.repairs, events->repairs, sizeof kept.repairs);
    memcpy(kept.first_repair, events->first_repair, sizeof kept.first_repair);
    memcpy(kept.untimed, events->untimed, sizeof kept.untimed);
    memcpy(kept.zeroed, events->zeroed, sizeof kept.zeroed);
    tp_trace_index_clear(&trace->index);
    tp_events_clear(events);
    *events = kept;
}

static enum tp_status keep(struct tp_trace *trace, struct tp_intern *texts,
                           struct tp_arena *arena, struct tp_error *err)
{
    enum tp_status status = tp_trace_keep_texts(trace, texts, arena, err);
    release_events(trace);
    return status;
}

enum tp_status tp_trace_analyse(struct tp_trace *trace, struct tp_arena *arena,
                                struct tp_error *err)
{
    struct tp_intern texts = {0};
    enum tp_status status = make_rows(trace, err);
    trace->rank = trace->events.rank;
    if (status == TP_OK)
        status = keep(trace, &texts, arena, err);
    tp_intern_clear(&texts);
    return status;
}

/* One file on its way: read and analysed by a task of its own. */
struct slot {
    struct tp_trace trace;
    enum tp_status status;
    struct tp_error err;
};

struct collector {
    const struct tp_trace_options *options;
    struct tp_trace_run *run;
    struct tp_pool *pool;
    struct tp_intern texts;
    const struct tp_found **files; /* those that are traces */
    size_t file_count;
    uint64_t bytes_all;    /* of them                           */
    pthread_mutex_t lock;  /* guards the next two               */
    uint64_t files_done, bytes_done;
    size_t first;       /* file of slots[0] */
    struct slot *slots; /* of the batch     */
};

static bool is_named(const struct tp_trace_options *options, const char *path)
{
    for (size_t i = 0; i < options->root_count; i++) {
        if (!strcmp(options->roots[i], path))
            return true;
    }
    return false;
}

static enum tp_status find_files(struct collector *c, struct tp_error *err)
{
    struct tp_found_list *list = &c->run->files;
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < c->options->root_count && status == TP_OK; i++)
        status = tp_file_find(c->options->roots[i], list, err);
    if (status == TP_OK)
        status = tp_found_sort(list, err);
    if (status != TP_OK)
        return status;
    c->files = calloc(list->count + 1, sizeof *c->files);
    if (!c->files)
        return tp_fail_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->files[i].path;
        if (tp_trace_is_name(path) || is_named(c->options, path))
            c->files[c->file_count++] = &list->files[i];
    }
    for (size_t i = 0; i < c->file_count; i++)
        c->bytes_all += c->files[i]->size;
    return TP_OK;
}

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

/* Bytes of JSON a file may hold. */
static uint64_t likely_bytes(const struct tp_found *file)
{
    const size_t length = strlen(file->path);
    const bool packed = length > 3 && !strcmp(file->path + length - 3, ".gz");
    return packed ? file->size * GZIP_RATIO : file->size;
}

/* Adds to what has been done and says so. */
static void advance(struct collector *c, uint64_t files, uint64_t bytes)
{
    const struct tp_trace_options *options = c->options;
    pthread_mutex_lock(&c->lock);
    c->files_done += files;
    c->bytes_done += bytes;
    if (options->progress)
        options->progress(options->progress_context, c->files_done,
                          c->file_count, c->bytes_done, c->bytes_all);
    pthread_mutex_unlock(&c->lock);
}

static void taken(void *context, uint64_t bytes)
{
    advance(context, 0, bytes);
}

static void run_slot(void *context, size_t i, unsigned worker)
{
    struct collector *c = context;
    const struct tp_trace_watch watch = {
        c->options->stop, taken, c,
        c->options->group_by.by == TP_GROUP_STACK ||
            c->options->group_by.by == TP_GROUP_MODULE};
    struct slot *slot = &c->slots[i];
    struct tp_trace *trace = &slot->trace;
    (void)worker;
    trace->path = c->files[c->first + i]->path;
    trace->roofs = c->options->roofs;
    trace->compared = c->options->compared;
    trace->annotated = c->options->annotated;
    trace->group_by = c->options->group_by;
    trace->alone = c->file_count == 1;
    slot->status = tp_trace_read(trace->path, c->pool, &watch, &trace->events,
                                 &slot->err);
    if (slot->status == TP_OK && trace->events.count)
        slot->status = make_rows(trace, &slot->err);
    if (slot->status == TP_OK && c->options->is_frame)
        slot->status = tp_trace_call_frames_make(
            trace, c->options->is_frame, c->options->frame_context, &slot->err);
    trace->rank = trace->events.rank;
    advance(c, 1, 0);
}

/* What was put right is a note, what was lost a row of /skipped. */
static enum tp_status say_repairs(struct tp_trace_run *run,
                                  const struct tp_trace *trace,
                                  struct tp_error *err)
{
    const struct tp_events *events = &trace->events;
    enum tp_status status = TP_OK;
    for (enum tp_repair r = 0; r < TP_REPAIRS && status == TP_OK; r++) {
        if (events->repairs[r] == 0 || r == TP_REPAIR_TRUNCATED)
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
    if (status != TP_OK || events->truncated_at < 0)
        return status;
    const char *text =
        tp_arena_format(&run->arena,
                        "cut off at byte %" PRId64 "; analysed up to there",
                        events->truncated_at);
    return add_skipped(run,
                       (struct tp_trace_skipped){trace->path, text,
                                                 events->truncated_at, true},
                       err);
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
static enum tp_status refuse(struct collector *c, const struct slot *slot,
                             struct tp_error *err)
{
    const char *path = slot->trace.path;
    const bool other = slot->status == TP_E_UNSUPPORTED &&
                       !strstr(path, ".pt.trace.json") &&
                       !is_named(c->options, path);
    const char *reason =
        tp_arena_format(&c->run->arena, "%s", slot->err.message);
    return add_skipped(
        c->run,
        (struct tp_trace_skipped){path, reason, slot->err.offset, !other}, err);
}

static bool ends_the_run(enum tp_status status)
{
    return status == TP_E_MEMORY || status == TP_E_INTERRUPTED;
}

/* Moves the trace of a slot into the run. */
static enum tp_status take(struct collector *c, struct slot *slot,
                           struct tp_error *err)
{
    struct tp_trace_run *run = c->run;
    struct tp_trace *trace = &slot->trace;
    if (slot->status != TP_OK && ends_the_run(slot->status)) {
        *err = slot->err;
        tp_error_in_file(err, trace->path);
        return slot->status;
    }
    if (slot->status != TP_OK)
        return refuse(c, slot, err);
    enum tp_status status = say_repairs(run, trace, err);
    if (status == TP_OK && trace->events.count == 0)
        return add_skipped(run,
                           (struct tp_trace_skipped){trace->path,
                                                     "a trace without events",
                                                     -1, false},
                           err);
    if (status == TP_OK)
        status = name_trace(run, trace, err);
    if (status == TP_OK)
        status = keep(trace, &c->texts, &run->arena, err);
    if (status == TP_OK)
        status = tp_grow(&run->traces, &run->trace_capacity,
                         run->trace_count + 1, sizeof *run->traces, err);
    if (status != TP_OK)
        return status;
    run->traces[run->trace_count++] = *trace;
    *trace = (struct tp_trace){.path = trace->path};
    return TP_OK;
}

/* Reads files from c->first on; *count tells how many. */
static enum tp_status run_batch(struct collector *c, size_t *count,
                                struct tp_error *err)
{
    uint64_t bytes = 0;
    for (*count = 0; c->first + *count < c->file_count; ++*count) {
        bytes += likely_bytes(c->files[c->first + *count]);
        if (*count && bytes > BATCH_BYTES)
            break;
    }
    c->slots = calloc(*count, sizeof *c->slots);
    if (!c->slots)
        return tp_fail_memory(err);
    tp_pool_for(c->pool, *count, run_slot, c);
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < *count; i++) {
        if (status == TP_OK)
            status = take(c, &c->slots[i], err);
        tp_trace_clear(&c->slots[i].trace);
        c->run->bytes_read += c->files[c->first + i]->size;
    }
    free(c->slots);
    return status;
}

static enum tp_status read_files(struct collector *c, struct tp_error *err)
{
    const struct tp_trace_options *options = c->options;
    enum tp_status status = TP_OK;
    while (c->first < c->file_count && status == TP_OK) {
        size_t count;
        if (options->stop && *options->stop)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        status = run_batch(c, &count, err);
        c->first += count;
    }
    return status;
}

static enum tp_status say_problems(struct tp_trace_run *run,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < run->files.problem_count && status == TP_OK; i++)
        status = add_skipped(
            run,
            (struct tp_trace_skipped){"", run->files.problems[i], -1, true},
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
    return result ? result : strcmp(a->path, b->path);
}

void tp_trace_run_sort(struct tp_trace_run *run)
{
    if (run->trace_count)
        qsort(run->traces, run->trace_count, sizeof *run->traces,
              compare_traces);
}

enum tp_status tp_trace_collect(struct tp_pool *pool,
                                const struct tp_trace_options *options,
                                struct tp_trace_run *run, struct tp_error *err)
{
    struct collector c = {.options = options, .run = run, .pool = pool};
    pthread_mutex_init(&c.lock, NULL);
    enum tp_status status = find_files(&c, err);
    if (status == TP_OK)
        status = say_problems(run, err);
    if (status == TP_OK)
        status = read_files(&c, err);
    tp_trace_run_sort(run);
    if (status == TP_OK)
        status = tp_trace_beside_add(run, err);
    pthread_mutex_destroy(&c.lock);
    tp_intern_clear(&c.texts);
    free(c.files);
    return status;
}

bool tp_trace_run_lost(const struct tp_trace_run *run)
{
    bool lost = run->arena.failed || run->notes.failed;
    for (size_t i = 0; i < run->trace_count; i++)
        lost |= run->traces[i].events.arena.failed;
    return lost;
}

void tp_trace_run_clear(struct tp_trace_run *run)
{
    for (size_t i = 0; i < run->trace_count; i++)
        tp_trace_clear(&run->traces[i]);
    free(run->traces);
    free(run->skipped.rows);
    tp_notes_clear(&run->notes);
    tp_found_clear(&run->files);
    tp_arena_clear(&run->arena);
    memset(run, 0, sizeof *run);
}

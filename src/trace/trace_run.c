/* SPDX-License-Identifier: MIT */
/*
 * From paths to a run: files are found, read and turned into rows in batches
 * of about BATCH_BYTES of JSON, a task for each, to a record for each file, and
 * moved into the run in the order of their paths, so that nothing depends on
 * which thread was first, or on which process: in a team each claims files, the
 * largest first, and its records go to rank 0. Records of an earlier run are
 * taken as they are. Each thread finishes what it read, and one of them keeps
 * from time to time what is finished, while the others go on.
 *
 * Only rows stay: the events of a trace are released when its rows' texts have
 * been moved to the run's arena. Reading all files at once would need the
 * memory of all events together; reading them one by one leaves threads idle
 * when ranks are small. Memory is bounded by the events of one batch, or of
 * one large file, and the rows.
 */
#include "trace/trace_run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/share.h"
#include "formats/trace/trace_reader.h"
#include "trace/trace_beside.h"
#include "trace/trace_call_frames.h"
#include "trace/trace_facts.h"
#include "trace/trace_join.h"
#include "trace/trace_lists.h"
#include "trace/trace_settings.h"
#include "trace/trace_spent.h"

/* Traces that together hold no more JSON than this are analysed at once, where
 * there are threads: what each does alone is a third of its time, which others
 * fill. A larger one is alone. Events of a batch are a third of its JSON. */
#define BATCH_BYTES ((uint64_t)192 << 20)

/* How far traces shrink under gzip: 13 to 32 times in public ones. */
enum { GZIP_RATIO = 20 };

static enum tp_status make_rows(struct tp_trace *trace, struct tp_pool *pool,
                                struct tp_error *err)
{
    enum tp_status status =
        tp_trace_index_make(&trace->events, &trace->index, err);
    tp_events_drop_correlation(&trace->events);
    if (status == TP_OK)
        status = tp_trace_lists_make(trace, pool, err);
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
    struct tp_events kept = {.base_ns = events->base_ns,
                             .has_base = events->has_base,
                             .rank = events->rank,
                             .world_size = events->world_size,
                             .backend = events->backend,
                             .trace_name = events->trace_name,
                             .record_shapes = events->record_shapes,
                             .profile_memory = events->profile_memory,
                             .with_stack = events->with_stack,
                             .with_modules = events->with_modules,
                             .with_flops = events->with_flops,
                             .bytes = events->bytes,
                             .seen = events->seen,
                             .truncated_at = events->truncated_at,
                             .array_end = events->array_end,
                             .free_pid = events->free_pid,
                             .is_list = events->is_list,
                             .added = events->added};
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
    enum tp_status status = make_rows(trace, NULL, err);
    trace->rank = trace->events.rank;
    if (status == TP_OK)
        status = keep(trace, &texts, arena, err);
    tp_intern_clear(&texts);
    return status;
}

/* A file of a batch, on its way. */
struct slot {
    struct tp_trace_record *record;
    enum tp_status status; /* of the run, not of the file                 */
    struct tp_error err;
};

struct collector {
    const struct tp_trace_options *options;
    struct tp_trace_run *run;
    struct tp_pool *pool;
    struct tp_trace_records records; /* of the files that are traces */
    uint64_t bytes_all;              /* of them                           */
    pthread_mutex_t lock;            /* guards the next two               */
    uint64_t files_done, bytes_done;
    size_t *order; /* of claims; NULL: this process reads alone */
    size_t next;   /* record to read, if there is no order      */
    struct tp_trace_record *held; /* begins the next batch           */
    struct slot *slots;           /* of the batch                    */
    size_t count;
    /* Guards the next two, which records are done, and all texts. A record that
     * is not done belongs to the thread that reads it; one that is, is left. */
    pthread_mutex_t finishing;
    bool keeping; /* one of the threads does                   */
    double kept;  /* when records were kept last               */
};

static bool is_root(const void *options, const char *path)
{
    const struct tp_trace_options *o = options;
    for (size_t i = 0; i < o->root_count; i++) {
        if (!strcmp(o->roots[i], path))
            return true;
    }
    return false;
}

/* Bytes of JSON a file may hold. */
static uint64_t likely_bytes(const struct tp_trace_record *record)
{
    const size_t length = strlen(record->path);
    const bool packed = length > 3 && !strcmp(record->path + length - 3, ".gz");
    return packed ? record->size * GZIP_RATIO : record->size;
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
                          c->records.count, c->bytes_done, c->bytes_all);
    pthread_mutex_unlock(&c->lock);
}

static void taken(void *context, uint64_t bytes)
{
    advance(context, 0, bytes);
}

/* What is wanted of a trace. */
static void describe(const struct collector *c, struct tp_trace_record *record)
{
    const struct tp_trace_options *options = c->options;
    struct tp_trace *trace = &record->trace;
    trace->path = record->path;
    trace->roofs = options->roofs;
    trace->compared = options->compared;
    trace->annotated = options->annotated;
    trace->group_by = options->group_by;
    trace->kept = options->keeper != NULL;
    trace->alone = !trace->kept && c->records.count == 1;
}

static void tell_reading(const struct collector *c, const char *path,
                         unsigned worker)
{
    const struct tp_trace_team *team = c->options->team;
    if (team && team->reading)
        team->reading(team->context, path, worker);
}

static void read_slot(struct collector *c, struct slot *slot)
{
    const struct tp_trace_options *options = c->options;
    const struct tp_trace_watch watch = {
        options->stop, taken, c,
        options->group_by.by == TP_GROUP_STACK ||
            options->group_by.by == TP_GROUP_MODULE};
    struct tp_trace_record *record = slot->record;
    struct tp_trace *trace = &record->trace;
    describe(c, record);
    record->status =
        tp_trace_read(trace->path, c->pool, &watch, &trace->events, &slot->err);
    if (record->status == TP_OK && trace->events.count)
        record->status = make_rows(trace, c->pool, &slot->err);
    if (record->status == TP_OK && options->is_frame)
        record->status = tp_trace_call_frames_make(
            trace, options->is_frame, options->frame_context, &slot->err);
    trace->rank = trace->events.rank;
}

static bool ends_the_run(enum tp_status status)
{
    return status == TP_E_MEMORY || status == TP_E_INTERRUPTED;
}

/* The texts of what was read become the arena's. */
static enum tp_status keep_slot(struct collector *c, struct slot *slot)
{
    struct tp_trace_record *record = slot->record;
    struct tp_trace_records *records = &c->records;
    if (record->status == TP_OK) {
        record->empty = record->trace.events.count == 0;
        return keep(&record->trace, &records->texts, records->arena,
                    &slot->err);
    }
    tp_trace_clear(&record->trace);
    record->offset = slot->err.offset;
    record->reason =
        tp_intern(&records->texts, records->arena, slot->err.message);
    return record->reason ? TP_OK : tp_fail_memory(&slot->err);
}

static enum tp_status finish(struct collector *c, struct slot *slot)
{
    struct tp_trace_record *record = slot->record;
    if (ends_the_run(record->status)) {
        tp_error_in_file(&slot->err, record->path);
        return record->status;
    }
    pthread_mutex_lock(&c->finishing);
    enum tp_status status = keep_slot(c, slot);
    pthread_mutex_unlock(&c->finishing);
    return status == TP_OK && c->options->keeper
               ? tp_trace_record_seal(record, &slot->err)
               : status;
}

/* Whether it is time to keep what was read. Called under the lock; true: the
 * caller is to do it. */
static bool is_time_to_keep(struct collector *c)
{
    const struct tp_trace_keeper *keeper = c->options->keeper;
    if (!keeper || c->keeping || tp_now() - c->kept < keeper->seconds)
        return false;
    c->keeping = true;
    return true;
}

/* Keeps what was read. Other threads go on meanwhile: what they write to is
 * not done. What cannot be written now is said at the end. */
static void checkpoint(struct collector *c)
{
    const struct tp_trace_keeper *keeper = c->options->keeper;
    struct tp_trace_records done;
    pthread_mutex_lock(&c->finishing);
    done = c->records;
    done.items = malloc((done.count + 1) * sizeof *done.items);
    done.count = 0;
    for (size_t i = 0; done.items && i < c->records.count; i++) {
        const struct tp_trace_record *record = &c->records.items[i];
        if (record->done && !record->elsewhere)
            done.items[done.count++] = *record;
    }
    pthread_mutex_unlock(&c->finishing);
    if (done.items)
        keeper->keep(keeper->context, &done, false, NULL);
    free(done.items);
    pthread_mutex_lock(&c->finishing);
    c->keeping = false;
    c->kept = tp_now();
    pthread_mutex_unlock(&c->finishing);
}

static void run_slot(void *context, size_t i, unsigned worker)
{
    struct collector *c = context;
    struct slot *slot = &c->slots[i];
    struct tp_trace_record *record = slot->record;
    tell_reading(c, record->path, worker);
    read_slot(c, slot);
    tell_reading(c, "", worker);
    slot->status = finish(c, slot);
    if (slot->status != TP_OK)
        tp_trace_clear(&record->trace);
    pthread_mutex_lock(&c->finishing);
    record->done = slot->status == TP_OK;
    const bool due = record->done && is_time_to_keep(c);
    pthread_mutex_unlock(&c->finishing);
    advance(c, 1, 0);
    if (due)
        checkpoint(c);
}

/* --- batches -------------------------------------------------------------- */

/* The next file to read, of those that nobody knows; NULL: there is none. */
static struct tp_trace_record *next_record(struct collector *c)
{
    const struct tp_trace_team *team = c->options->team;
    struct tp_trace_record *record = c->held;
    c->held = NULL;
    while (!record) {
        const uint64_t number =
            c->order ? team->world->claim(team->world->context) : c->next++;
        if (number >= c->records.count)
            return NULL;
        record = &c->records.items[c->order ? c->order[number] : number];
        if (record->done)
            record = NULL;
    }
    return record;
}

/* Takes files of a batch; a team's process takes no more than it has threads,
 * so that there is something left for the others. */
static void fill_batch(struct collector *c, size_t most)
{
    uint64_t bytes = 0;
    c->count = 0;
    while (c->count < most && (c->held = next_record(c))) {
        bytes += likely_bytes(c->held);
        if (c->count && (bytes > BATCH_BYTES || tp_pool_size(c->pool) == 1))
            return;
        c->slots[c->count++] = (struct slot){.record = c->held};
        c->held = NULL;
    }
}

static enum tp_status run_batch(struct collector *c, struct tp_error *err)
{
    tp_pool_for(c->pool, c->count, run_slot, c);
    for (size_t i = 0; i < c->count; i++) {
        if (c->slots[i].status == TP_OK)
            continue;
        *err = c->slots[i].err;
        return c->slots[i].status;
    }
    return TP_OK;
}

static enum tp_status read_batches(struct collector *c, size_t most,
                                   struct tp_error *err)
{
    const struct tp_trace_options *options = c->options;
    enum tp_status status = TP_OK;
    do {
        if (options->stop && *options->stop)
            return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        fill_batch(c, most);
        status = run_batch(c, err);
    } while (c->count && status == TP_OK);
    return status;
}

static enum tp_status read_files(struct collector *c, struct tp_error *err)
{
    const size_t most = c->order ? tp_pool_size(c->pool) : c->records.count + 1;
    c->slots = calloc(most, sizeof *c->slots);
    if (!c->slots)
        return tp_fail_memory(err);
    c->kept = tp_now();
    enum tp_status status = read_batches(c, most, err);
    free(c->slots);
    /* a team waits now for who is at the largest file */
    if (c->options->keeper &&
        (status == TP_E_INTERRUPTED || (status == TP_OK && c->order)))
        checkpoint(c);
    return status;
}

/* Looks beside the traces, once in each folder. */
static enum tp_status look_beside(struct tp_trace_records *records,
                                  struct tp_error *err)
{
    const char **folders = calloc(records->count + 1, sizeof *folders);
    size_t count = 0;
    enum tp_status status = folders ? TP_OK : tp_fail_memory(err);
    for (size_t i = 0; i < records->count && status == TP_OK; i++) {
        const struct tp_trace_record *record = &records->items[i];
        size_t k = 0;
        if (record->status != TP_OK || record->empty)
            continue;
        const char *folder = tp_trace_folder_of(records->arena, record->path);
        while (folder && k < count && strcmp(folders[k], folder) != 0)
            k++;
        if (folder && k < count)
            continue;
        status = folder ? tp_trace_beside_find(folder, records->arena,
                                               &records->said, err)
                        : tp_fail_memory(err);
        folders[count++] = folder;
    }
    free(folders);
    return status;
}

static enum tp_status find_files(struct collector *c, struct tp_error *err)
{
    const struct tp_trace_options *options = c->options;
    const struct tp_world *world = options->team ? options->team->world : NULL;
    struct tp_found_list *list = &c->run->files;
    enum tp_status status = TP_OK;
    if (!world || world->rank == 0) {
        for (size_t i = 0; i < options->root_count && status == TP_OK; i++)
            status = tp_file_find(options->roots[i], list, err);
        if (status == TP_OK)
            status = tp_found_sort(list, err);
    }
    if (status == TP_OK && world)
        status = tp_share_files(world, list, err);
    if (status == TP_OK)
        status =
            tp_trace_records_make(&c->records, list, is_root, options, err);
    for (size_t i = 0; i < c->records.count; i++)
        c->bytes_all += c->records.items[i].size;
    return status;
}

/* What an earlier run knew; rank 0 knows it for the others. */
static void reuse(struct collector *c)
{
    const struct tp_trace_keeper *keeper = c->options->keeper;
    struct tp_trace_records *records = &c->records;
    if (keeper) { /* rows of both share words */
        records->texts = keeper->known->texts;
        keeper->known->texts = (struct tp_intern){.slots = NULL};
        tp_trace_records_reuse(keeper->known, records, keeper->reused);
    }
    for (size_t i = 0; i < records->count; i++) {
        if (records->items[i].done)
            advance(c, 1, records->items[i].size);
    }
}

/* The files are shared out, the largest first. */
static enum tp_status share(struct collector *c, struct tp_error *err)
{
    const struct tp_world *world = c->options->team->world;
    const size_t count = c->records.count;
    bool *done = calloc(count + 1, sizeof *done);
    uint64_t *sizes = calloc(count + 1, sizeof *sizes);
    for (size_t i = 0; done && sizes && i < count; i++) {
        done[i] = c->records.items[i].done;
        sizes[i] = likely_bytes(&c->records.items[i]);
    }
    if (sizes)
        c->order = tp_share_order(sizes, count);
    enum tp_status status = done && c->order
                                ? tp_share_done(world, done, count, err)
                                : tp_fail_memory(err);
    for (size_t i = 0; status == TP_OK && world->rank > 0 && i < count; i++)
        c->records.items[i].done = c->records.items[i].elsewhere = done[i];
    free(done);
    free(sizes);
    return status;
}

static enum tp_status collect(struct collector *c, struct tp_error *err)
{
    const struct tp_trace_options *options = c->options;
    const struct tp_trace_team *team = options->team;
    enum tp_status status = find_files(c, err);
    if (status == TP_OK)
        reuse(c);
    if (status == TP_OK && team)
        status = share(c, err);
    if (status == TP_OK)
        status = read_files(c, err);
    if (status == TP_OK && team)
        status = team->gather(team->context, &c->records, err);
    if (status != TP_OK || (team && team->world->rank > 0))
        return status;
    status = look_beside(&c->records, err);
    if (status == TP_OK && options->keeper)
        status = options->keeper->keep(options->keeper->context, &c->records,
                                       true, err);
    return status == TP_OK
               ? tp_trace_run_join(&c->records, &options->roofs, c->run, err)
               : status;
}

enum tp_status tp_trace_collect(struct tp_pool *pool,
                                const struct tp_trace_options *options,
                                struct tp_trace_run *run, struct tp_error *err)
{
    struct collector c = {.options = options,
                          .run = run,
                          .pool = pool,
                          .records = {.arena = &run->arena}};
    pthread_mutex_init(&c.lock, NULL);
    pthread_mutex_init(&c.finishing, NULL);
    enum tp_status status = collect(&c, err);
    pthread_mutex_destroy(&c.finishing);
    pthread_mutex_destroy(&c.lock);
    tp_trace_records_clear(&c.records);
    free(c.order);
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

/* SPDX-License-Identifier: MIT */
/*
 * From files to rows: the pool reads files in parallel, each by one worker,
 * which scans the file's tensors one after the other. A file has a slot for its
 * rows and problems, and slots are joined in the order of paths, so that the
 * rows do not depend on threads. Texts and packed summaries go into the run's
 * arena under one lock, equal texts once.
 *
 * One list that all workers append to would need no slots, but a sort behind
 * it, and a lock for each row. A file that cannot be read becomes a skipped
 * row; once files are found, only lack of memory and the user's signal end the
 * run. Memory is a scan's result for each worker, and the rows; how often a
 * tensor is read is the scan's affair.
 *
 * In a team each process claims files one by one, of large ones parts
 * (tensors/claims.h), and its records go to rank 0.
 * What units tell of other files every process has to know: each opens all of
 * them first, and reads those that it claims.
 */
#include "tensors/collect.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/share.h"
#include "base/text.h"
#include "tensors/collect_file.h"
#include "tensors/dump_labels.h"
#include "tensors/join.h"
#include "tensors/lone_shards.h"
#include "tensors/roots.h"

/* Whether it is time to keep what was read. Called under the lock; true: the
 * caller is to do it. */
static bool is_time_to_keep(struct tp_collector *c)
{
    const struct tp_collect_keeper *keeper = c->options->keeper;
    if (!keeper || c->keeping || tp_now() - c->kept < keeper->seconds)
        return false;
    c->keeping = true;
    return true;
}

/* Other threads go on meanwhile: what they write to is not done. */
static void keep(struct tp_collector *c)
{
    const struct tp_collect_keeper *keeper = c->options->keeper;
    struct tp_records records;
    pthread_mutex_lock(&c->lock);
    records = c->records;
    records.items = malloc((records.count + 1) * sizeof *records.items);
    records.count = 0;
    for (size_t i = 0; i < c->records.count && records.items; i++) {
        const struct tp_record *record = &c->records.items[i];
        if (record->done && !record->elsewhere)
            records.items[records.count++] = *record;
    }
    pthread_mutex_unlock(&c->lock);
    if (records.items) /* what cannot be written now is said at the end */
        keeper->keep(keeper->context, &records, false, NULL);
    free(records.items);
    pthread_mutex_lock(&c->lock);
    c->keeping = false;
    c->kept = tp_now();
    pthread_mutex_unlock(&c->lock);
}

static bool is_over(const struct tp_collector *c)
{
    return (c->options->stop && *c->options->stop) || c->no_memory;
}

/* Reads a file, unless another has its tensors or it is known. */
static void take_file(struct tp_collector *c, size_t index, bool claimed,
                      unsigned number)
{
    const struct tp_collect_options *options = c->options;
    const struct tp_found *found = &c->run->files.files[index];
    struct tp_record *record = &c->records.items[index];
    if (!record->taken && !record->done)
        tp_collect_file(c, index, record, claimed, number);
    if (c->telling)
        return;
    if (tp_lone_shards_has(found->path, &record->lone) != TP_OK)
        c->no_memory = true;
    if (options->keeper && !record->done)
        tp_record_seal(record);
    pthread_mutex_lock(&c->lock);
    record->done = !is_over(c);
    c->files_done += !c->claims.items;
    c->bytes_done += c->claims.items ? 0 : found->size;
    if (options->progress)
        options->progress(options->progress_context, c->files_done,
                          c->run->files.count, c->bytes_done, c->bytes_all);
    const bool due = is_time_to_keep(c);
    pthread_mutex_unlock(&c->lock);
    if (due)
        keep(c);
}

/* Reads a file in the pass that it belongs to: patterns, then other files that
 * describe tensors of more files than themselves, each time what was not taken
 * before, then the rest. */
static void collect_file(struct tp_collector *c, enum tp_name_claim pass,
                         size_t index, unsigned number)
{
    const enum tp_name_claim claim =
        tp_format_claims(c->run->files.files[index].path);
    if (!is_over(c) && claim == pass)
        take_file(c, index, claim != TP_NAME_OTHER, number);
}

static void collect_pattern(void *context, size_t index, unsigned number)
{
    collect_file(context, TP_NAME_PATTERN, index, number);
}

static void collect_unit(void *context, size_t index, unsigned number)
{
    collect_file(context, TP_NAME_FILE, index, number);
}

static void collect_rest(void *context, size_t index, unsigned number)
{
    collect_file(context, TP_NAME_OTHER, index, number);
}

/* What the processes of a team have claimed is done, or nearly. */
static void count_claims(struct tp_collector *c, size_t claims)
{
    pthread_mutex_lock(&c->lock);
    for (; c->claimed < claims; c->claimed++) {
        const struct tp_claim *claim = &c->claims.items[c->claimed];
        c->bytes_done += c->run->files.files[claim->file].size / claim->parts;
        c->files_done += claim->part + 1 == claim->parts;
    }
    pthread_mutex_unlock(&c->lock);
}

/* Reads a part of a file, which becomes a record of its own. */
static void take_part(struct tp_collector *c, const struct tp_claim *claim,
                      bool claimed, unsigned number)
{
    const struct tp_record *file = &c->records.items[claim->file];
    struct tp_record part = {.path = file->path,
                             .size = file->size,
                             .modified = file->modified,
                             .told = file->told,
                             .part = claim->part,
                             .parts = claim->parts};
    tp_collect_file(c, claim->file, &part, claimed, number);
    if (tp_lone_shards_has(file->path, &part.lone) != TP_OK)
        c->no_memory = true;
    part.done = true;
    pthread_mutex_lock(&c->lock);
    if (tp_grow(&c->records.parts, &c->records.part_capacity,
                c->records.part_count + 1, sizeof part, NULL) == TP_OK)
        c->records.parts[c->records.part_count++] = part;
    else
        c->no_memory = true;
    pthread_mutex_unlock(&c->lock);
}

static void take_claim(struct tp_collector *c, const struct tp_claim *claim,
                       unsigned number)
{
    const struct tp_record *record = &c->records.items[claim->file];
    const bool claimed = tp_format_claims(record->path) != TP_NAME_OTHER;
    if (record->elsewhere || (record->done && claim->parts > 1))
        return;
    if (claim->parts == 1 || (record->taken && claim->part == 0))
        take_file(c, claim->file, claimed, number);
    else if (!record->taken)
        take_part(c, claim, claimed, number);
}

/* One thread of a process of a team. */
static void collect_claims(void *context, size_t index, unsigned number)
{
    struct tp_collector *c = context;
    const struct tp_world *world = c->options->team->world;
    uint64_t claim;
    (void)index;
    while (!is_over(c) &&
           (claim = world->claim(world->context)) < c->claims.count) {
        count_claims(c, claim);
        take_claim(c, &c->claims.items[claim], number);
    }
    if (c->options->team->reading)
        c->options->team->reading(c->options->team->context, "", number);
}

/* What there is to read of each file by itself. A file that is inflated as a
 * whole would be so for each part. */
static bool weigh_files(struct tp_collector *c)
{
    c->weights = calloc(c->records.count + 1, sizeof *c->weights);
    for (size_t i = 0; c->weights && i < c->records.count; i++) {
        const struct tp_record *record = &c->records.items[i];
        const bool packed = tp_text_ends_with(record->path, ".gz");
        c->weights[i] = packed ? 0 : record->size;
    }
    return c->weights != NULL;
}

/* Reads files together with the other processes. */
static enum tp_status collect_in_team(struct tp_collector *c,
                                      struct tp_pool *pool,
                                      struct tp_error *err)
{
    const struct tp_collect_team *team = c->options->team;
    if (!weigh_files(c))
        return tp_fail_memory(err);
    c->telling = true;
    tp_pool_for(pool, c->records.count, collect_pattern, c);
    tp_pool_for(pool, c->records.count, collect_unit, c);
    c->telling = false;
    c->told = true;
    for (size_t i = 0; i < c->records.count; i++) {
        const struct tp_record *record = &c->records.items[i];
        if (record->done || record->taken)
            c->weights[i] = 0;
    }
    const enum tp_status status = tp_claims_make(
        team->world, c->weights, c->records.count,
        team->part_bytes ? team->part_bytes : TP_CLAIM_BYTES, &c->claims, err);
    if (status == TP_OK)
        tp_pool_for(pool, tp_pool_size(pool), collect_claims, c);
    return status;
}

static void collect_alone(struct tp_collector *c, struct tp_pool *pool)
{
    const size_t count = c->records.count;
    tp_pool_for(pool, count, collect_pattern, c);
    tp_pool_for(pool, count, collect_unit, c);
    tp_pool_for(pool, count, collect_rest, c);
}

static void collector_clear(struct tp_collector *c, unsigned jobs)
{
    for (unsigned i = 0; c->workers && i < jobs; i++) {
        tp_arena_clear(&c->workers[i].file.arena);
        tp_dims_clear(&c->workers[i].dims);
    }
    tp_records_clear(&c->records);
    free(c->weights);
    tp_claims_clear(&c->claims);
    free(c->workers);
    tp_scanner_free(c->scanner);
    pthread_mutex_destroy(&c->lock);
}

/* Reads what is not known. */
static enum tp_status run_jobs(struct tp_collector *c, struct tp_pool *pool,
                               struct tp_error *err)
{
    c->workers = calloc(tp_pool_size(pool), sizeof *c->workers);
    if (!c->workers)
        return tp_fail_memory(err);
    enum tp_status status = tp_scanner_new(pool, &c->scanner, err);
    if (status != TP_OK)
        return status;
    tp_scanner_stop_on(c->scanner, c->options->stop);
    tp_scanner_use(c->scanner, c->options->device);
    c->kept = tp_now();
    if (c->options->team)
        status = collect_in_team(c, pool, err);
    else
        collect_alone(c, pool);
    if (status != TP_OK)
        return status;
    if (c->no_memory)
        return tp_fail_memory(err);
    const bool stopped = c->options->stop && *c->options->stop;
    /* a team waits now for who is at the largest file */
    if (c->options->keeper && (stopped || c->options->team))
        keep(c);
    return stopped ? tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted") : TP_OK;
}

/* A record for each file, those of an earlier run where they hold. */
static enum tp_status make_records(struct tp_collector *c, struct tp_error *err)
{
    const struct tp_collect_keeper *keeper = c->options->keeper;
    struct tp_records *records = &c->records;
    if (keeper) /* rows of both share words */
        records->texts = keeper->known->texts;
    if (keeper)
        keeper->known->texts = (struct tp_intern){.slots = NULL};
    records->arena = &c->run->arena;
    enum tp_status status = tp_records_make(records, &c->run->files, err);
    if (status == TP_OK && keeper)
        tp_records_reuse(keeper->known, c->options->dims, records,
                         keeper->reused);
    return status;
}

static enum tp_status join_parts(struct tp_collector *c, struct tp_error *err)
{
    const enum tp_status status = tp_claims_join(&c->records, err);
    for (size_t i = 0; i < c->records.part_count && c->options->keeper; i++) {
        const struct tp_record *part = &c->records.parts[i];
        if (part->part == 0 && status == TP_OK)
            tp_record_seal(
                &c->records.items[tp_found_index(&c->run->files, part->path)]);
    }
    return status;
}

static enum tp_status collect(struct tp_collector *c, struct tp_pool *pool,
                              struct tp_error *err)
{
    const struct tp_collect_options *options = c->options;
    const struct tp_collect_team *team = options->team;
    enum tp_status status = make_records(c, err);
    if (status == TP_OK && team)
        status = tp_records_share(team->world, &c->records, err);
    if (status == TP_OK)
        status = run_jobs(c, pool, err);
    if (status == TP_OK && team)
        status = team->gather(team->context, &c->records, err);
    if (team && team->world->rank > 0)
        return status;
    if (status == TP_OK)
        status = join_parts(c, err);
    if (status == TP_OK)
        status = tp_dump_label(&c->records, err);
    if (status == TP_OK && options->keeper)
        status = options->keeper->keep(options->keeper->context, &c->records,
                                       true, err);
    if (status == TP_OK)
        status = tp_records_join(&c->records, options->dims != TP_DIMS_NONE,
                                 c->run, err);
    return status;
}

enum tp_status tp_collect(struct tp_pool *pool,
                          const struct tp_collect_options *options,
                          struct tp_run *run, struct tp_error *err)
{
    const struct tp_world *world = options->team ? options->team->world : NULL;
    enum tp_status status = TP_OK;
    if (!world || world->rank == 0)
        status = tp_roots_find(options->roots, options->root_count, &run->files,
                               err);
    if (status == TP_OK && world)
        status = tp_share_files(world, &run->files, err);
    if (status != TP_OK)
        return status;
    struct tp_collector c = {.options = options, .run = run};
    run->parts = options->parts;
    if (options->quant)
        run->plan = *options->quant;
    for (size_t i = 0; i < run->files.count; i++)
        c.bytes_all += run->files.files[i].size;
    pthread_mutex_init(&c.lock, NULL);
    status = collect(&c, pool, err);
    collector_clear(&c, tp_pool_size(pool));
    return status;
}

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
 * In a team each process claims files one by one, and its records go to rank 0.
 * What units tell of other files every process has to know: each opens all of
 * them first, and reads those that it claims.
 */
#include "tensors/collect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/share.h"
#include "base/text.h"
#include "data/dtype.h"
#include "formats/reader.h"
#include "scan/scan.h"
#include "tensors/dump_labels.h"
#include "tensors/join.h"
#include "tensors/lone_shards.h"
#include "tensors/quantised.h"
#include "tensors/roots.h"
#include "tensors/row.h"

struct worker {
    struct tp_tensor_file file;
    struct tp_scan_result scan; /* 32 KiB: too large for a stack */
    struct tp_quant_choice quant;
    struct tp_dims_room dims;
    struct tp_code_use use;
};

struct collector {
    const struct tp_collect_options *options;
    struct tp_run *run;
    struct tp_scanner *scanner;
    struct worker *workers;
    atomic_bool no_memory;     /* the run cannot go on; read without the lock */
    pthread_mutex_t lock;      /* guards everything below, and run->arena */
    struct tp_records records; /* a slot per file makes the result independent
                                  of the order in which workers finish      */
    uint64_t files_done, bytes_done, bytes_all;
    double kept;    /* when records were kept last                   */
    bool keeping;   /* a thread does so                               */
    bool telling;   /* units are opened for what they tell, of a team         */
    bool told;      /* that was done                                          */
    size_t *order;  /* of claims                                            */
    size_t claimed; /* seen to be, by whomever                              */
};

/* Whether the user named the file. */
static bool is_root(const struct collector *c, const char *path)
{
    return tp_roots_have(c->options->roots, c->options->root_count, path);
}

/* Named by the user, or by a name that promises tensors: then whatever is
 * wrong with it must be said. */
static bool is_expected(const struct collector *c, const char *path)
{
    return tp_format_has_suffix(path) || is_root(c, path);
}

/* Any other file counts when it carries a magic; of zip archives only those
 * that open as torch's are ours. */
static bool carries_magic(const char *path)
{
    unsigned char head[TP_FORMAT_HEAD];
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t length = fread(head, 1, sizeof head, file);
    fclose(file);
    const struct tp_format *format = tp_format_by_content(head, length);
    return format && !format->any_content;
}

static void add_skipped(struct collector *c, struct tp_record *record,
                        const char *file, const struct tp_skip *skip)
{
    pthread_mutex_lock(&c->lock);
    if (tp_record_skip(&c->records, record, file, skip, NULL) != TP_OK)
        c->no_memory = true;
    pthread_mutex_unlock(&c->lock);
}

static void add_failure(struct collector *c, struct tp_record *result,
                        const char *file, const char *path,
                        const struct tp_error *err)
{
    struct tp_text reason = {0};
    tp_text_add(&reason, "%s", err->message);
    struct tp_skip skip = {.path = path,
                           .code = err->code,
                           .reason = tp_text_get(&reason),
                           .offset = err->offset};
    if (err->code == TP_E_MEMORY)
        c->no_memory = true;
    else
        add_skipped(c, result, file, &skip);
    tp_text_clear(&reason);
}

/* Whether a row gets statistics by index: codes, scales and counters do not. */
static bool has_dims(const struct collector *c, const struct tp_row *row)
{
    return c->options->dims != TP_DIMS_NONE && !row->aside;
}

/* Moves what a row borrows from the open file into the run. */
static bool keep_texts(struct collector *c, const struct tp_tensor *tensor,
                       struct tp_row *row, const struct worker *worker)
{
    struct tp_label *label = &row->label;
    const char **const texts[] = {&row->path,         &row->shape,
                                  &label->layer_type, &label->operation,
                                  &label->phase,      &label->component,
                                  &label->quant_type, &label->tensor_name,
                                  &label->timestamp,  &label->module};
    bool kept = true;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = tp_records_text(&c->records, *texts[i]);
        kept = kept && *texts[i];
    }
    row->packed = tp_summary_pack(&worker->scan.summary, &c->run->arena);
    kept = kept && row->packed;
    if (worker->quant.count)
        row->quant = tp_quant_pack(&worker->quant, &c->run->arena);
    kept = kept && (row->quant || !worker->quant.count);
    if (tensor->scaled) {
        row->quantised =
            tp_quantised_pack(tensor, &worker->use, &c->run->arena);
        kept = kept && row->quantised;
    }
    if (has_dims(c, row)) {
        row->dims =
            tp_dims_pack(&worker->dims.dims, c->options->dims, &c->run->arena);
        kept = kept && row->dims;
    }
    pthread_mutex_unlock(&c->lock);
    return kept;
}

static void scan_tensor(struct collector *c, struct tp_record *result,
                        const char *path, size_t place, unsigned number)
{
    struct worker *worker = &c->workers[number];
    struct tp_tensor *tensor = &worker->file.tensors[place];
    struct tp_error err = {0};
    char shape[TP_ROW_SHAPE_MAX];
    struct tp_row row;
    const struct tp_row_rules rules = {c->options->mx_scale,
                                       c->options->backward_format};
    struct tp_label label;
    if (tp_tensor_file_label(&worker->file, place, &label, &err) != TP_OK) {
        c->no_memory = true;
        return;
    }
    const struct tp_number *target =
        tp_row_describe(tensor, &label, &rules, shape, &row);
    worker->quant.count = 0;
    if (c->options->quant && !row.aside)
        tp_quant_choose(c->options->quant, tensor->dtype, target,
                        &worker->quant);
    const struct tp_scan_request request = {
        .target = target,
        .scale_rule = c->options->mx_scale,
        .nonfinite = c->options->mx_nonfinite,
        .worker = number,
        .block_axis = c->options->block_axis,
        .specs = worker->quant.specs,
        .spec_count = worker->quant.count,
        .errors = worker->quant.errors,
        .dims = has_dims(c, &row) ? &worker->dims : NULL,
        .dims_keep = result->dims_keep,
        .dims_notable = c->options->dims == TP_DIMS_WORST,
        .dims_reduce = c->options->reduce,
        .ahead = true,
    };
    row.file = path;
    row.place = place;
    enum tp_status status =
        tp_scan(c->scanner, tensor, &request, &worker->scan, &err);
    if (status == TP_OK && tensor->scaled)
        status = tp_code_use_count(tensor->scaled, &worker->use, &err);
    if (status != TP_OK) {
        add_failure(c, result, path, tensor->path, &err);
        return;
    }
    tp_row_measure(&row, &worker->scan);
    if (!keep_texts(c, tensor, &row, worker)) {
        c->no_memory = true;
        return;
    }
    result->rows[result->row_count++] = row;
}

/* A sentence about the open file, for the run; "" becomes NULL. */
static const char *keep_sentence(struct collector *c, const char *sentence)
{
    pthread_mutex_lock(&c->lock);
    const char *kept =
        *sentence ? tp_records_text(&c->records, sentence) : NULL;
    pthread_mutex_unlock(&c->lock);
    return kept;
}

static void read_open_file(struct collector *c, struct tp_record *result,
                           const char *path, unsigned number)
{
    struct tp_tensor_file *file = &c->workers[number].file;
    for (const struct tp_skip *s = file->skips; s; s = s->next)
        add_skipped(c, result, path, s);
    if (file->tensor_count == 0 && !file->skips && !file->rank_file_count) {
        const struct tp_skip none = {
            .path = "", .reason = "no tensor", .offset = -1};
        add_skipped(c, result, path, &none);
        result->empty = file->format->only_tensors;
    }
    result->conflict = keep_sentence(c, file->label_conflict);
    result->assumption = keep_sentence(c, file->assumption);
    const size_t count = file->tensor_count;
    result->tensors = count;
    result->dims_keep =
        tp_record_dims_keep(c->options->dims, c->records.count, count);
    if (tp_record_reserve(result, count, NULL) != TP_OK)
        c->no_memory = true;
    for (size_t i = 0, ahead = 0; result->rows && i < count; i++) {
        if (c->options->stop && *c->options->stop)
            return;
        if (i == ahead)
            ahead +=
                tp_scan_ahead(c->scanner, file->tensors + i, count - i, number);
        if (c->options->parts || !tp_rank_file_joined(result->told, i))
            scan_tensor(c, result, path, i, number);
    }
}

/* The path of a file. */
static const char *shown_path(struct collector *c, const char *path)
{
    if (tp_text_is_utf8(path))
        return path;
    pthread_mutex_lock(&c->lock);
    const char *shown = tp_records_text(&c->records, path);
    pthread_mutex_unlock(&c->lock);
    return shown ? shown : "";
}

/* What an earlier run knew of a file does not hold. */
static void forget(struct tp_record *record)
{
    if (record->borrowed)
        *record = (struct tp_record){.path = record->path,
                                     .size = record->size,
                                     .modified = record->modified};
}

/* The unit goes with a file that it describes. Called under the lock. */
static void add_tie(struct collector *c, struct tp_record *unit,
                    const struct tp_text *path)
{
    if (c->telling)
        return;
    const char *kept =
        path->failed
            ? NULL
            : tp_intern(&c->records.texts, &c->run->arena, tp_text_get(path));
    if (kept && unit->ties)
        unit->ties[unit->tie_count++] = kept;
    else
        c->no_memory = true;
}

/* Room for the ties of a unit, and for one more. */
static void make_ties(struct collector *c, struct tp_record *unit,
                      const struct tp_tensor_file *file)
{
    const size_t count = file->member_count + file->rank_file_count;
    if (count == 0)
        return;
    pthread_mutex_lock(&c->lock);
    unit->ties = tp_arena_alloc(&c->run->arena, count * sizeof *unit->ties);
    pthread_mutex_unlock(&c->lock);
}

/* Whether what a unit says of a file is taken down: once, and not of those that
 * the user named. */
static bool is_told(const struct collector *c, size_t file,
                    const struct tp_text *path)
{
    return !c->told && file < c->run->files.count &&
           !is_root(c, tp_text_get(path));
}

/* The files whose tensors this one has are not read by themselves. */
static void take_members(struct collector *c, const char *path,
                         struct tp_record *result,
                         const struct tp_tensor_file *file)
{
    const int folder = (int)(tp_file_base_name(path) - path);
    for (size_t i = 0; i < file->member_count; i++) {
        struct tp_text member = {0};
        tp_text_add(&member, "%.*s%s", folder, path, file->members[i]);
        const size_t found =
            tp_found_index(&c->run->files, tp_text_get(&member));
        pthread_mutex_lock(&c->lock);
        if (is_told(c, found, &member)) {
            forget(&c->records.items[found]);
            c->records.items[found].taken = true;
        }
        add_tie(c, result, &member);
        pthread_mutex_unlock(&c->lock);
        tp_text_clear(&member);
    }
}

/* What a unit tells of files goes with them. */
static void tell_files(struct collector *c, const char *path,
                       struct tp_record *result,
                       const struct tp_tensor_file *file)
{
    const int folder = (int)(tp_file_base_name(path) - path);
    for (size_t i = 0; i < file->rank_file_count; i++) {
        struct tp_text name = {0};
        tp_text_add(&name, "%.*s%s", folder, path, file->rank_files[i].name);
        const size_t found = tp_found_index(&c->run->files, tp_text_get(&name));
        pthread_mutex_lock(&c->lock);
        if (is_told(c, found, &name)) {
            struct tp_record *told = &c->records.items[found];
            forget(told);
            told->told = tp_rank_file_keep(&file->rank_files[i],
                                           &c->records.texts, &c->run->arena);
            c->no_memory = c->no_memory || !told->told;
        }
        add_tie(c, result, &name);
        pthread_mutex_unlock(&c->lock);
        tp_text_clear(&name);
    }
}

static void read_file(struct collector *c, size_t index, bool claimed,
                      unsigned number)
{
    const struct tp_found *found = &c->run->files.files[index];
    struct tp_record *result = &c->records.items[index];
    struct tp_tensor_file *file = &c->workers[number].file;
    bool expected = is_expected(c, found->path);
    if (!expected && !claimed && !carries_magic(found->path)) {
        result->ignored = true;
        return;
    }
    if (c->options->team && c->options->team->reading && !c->telling)
        c->options->team->reading(c->options->team->context, found->path,
                                  number);
    struct tp_error err = {0};
    const char *shown = shown_path(c, found->path);
    file->parts = c->options->parts;
    enum tp_status status = tp_tensor_file_open(found->path, file, &err);
    if (status == TP_OK) {
        make_ties(c, result, file);
        take_members(c, found->path, result, file);
        tell_files(c, found->path, result, file);
    }
    if (c->telling) {
        c->no_memory |= status == TP_E_MEMORY;
    } else if (status == TP_OK) {
        file->shifts = result->told ? result->told->shifts : NULL;
        file->shift_count = result->told ? result->told->shift_count : 0;
        read_open_file(c, result, shown, number);
        if (tp_tensor_file_unchanged(file, &err) != TP_OK) {
            result->row_count = 0; /* they may be of two files */
            add_failure(c, result, shown, "", &err);
        }
    } else if (expected || err.code != TP_E_UNSUPPORTED)
        add_failure(c, result, shown, "", &err);
    else
        result->ignored = true;
    tp_tensor_file_close(file);
}

/* Whether it is time to keep what was read. Called under the lock; true: the
 * caller is to do it. */
static bool is_time_to_keep(struct collector *c)
{
    const struct tp_collect_keeper *keeper = c->options->keeper;
    if (!keeper || c->keeping || tp_now() - c->kept < keeper->seconds)
        return false;
    c->keeping = true;
    return true;
}

/* Other threads go on meanwhile: what they write to is not done. */
static void keep(struct collector *c)
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

static bool is_over(const struct collector *c)
{
    return (c->options->stop && *c->options->stop) || c->no_memory;
}

/* Reads a file, unless another has its tensors or it is known. */
static void take_file(struct collector *c, size_t index, bool claimed,
                      unsigned number)
{
    const struct tp_collect_options *options = c->options;
    const struct tp_found *found = &c->run->files.files[index];
    struct tp_record *record = &c->records.items[index];
    if (!record->taken && !record->done)
        read_file(c, index, claimed, number);
    if (c->telling)
        return;
    record->lone = tp_lone_shards_has(found->path);
    if (options->keeper && !record->done)
        tp_record_seal(record);
    pthread_mutex_lock(&c->lock);
    record->done = !is_over(c);
    c->files_done += !c->order;
    c->bytes_done += c->order ? 0 : found->size;
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
static void collect_file(struct collector *c, enum tp_name_claim pass,
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
static void count_claims(struct collector *c, size_t claims)
{
    pthread_mutex_lock(&c->lock);
    for (; c->claimed < claims; c->claimed++)
        c->bytes_done += c->run->files.files[c->order[c->claimed]].size;
    c->files_done = c->claimed;
    pthread_mutex_unlock(&c->lock);
}

/* One thread of a process of a team. */
static void collect_claims(void *context, size_t index, unsigned number)
{
    struct collector *c = context;
    const struct tp_world *world = c->options->team->world;
    uint64_t claim;
    (void)index;
    while (!is_over(c) &&
           (claim = world->claim(world->context)) < c->records.count) {
        const size_t file = c->order[claim];
        const char *path = c->run->files.files[file].path;
        count_claims(c, claim);
        if (!c->records.items[file].elsewhere)
            take_file(c, file, tp_format_claims(path) != TP_NAME_OTHER, number);
    }
    if (c->options->team->reading)
        c->options->team->reading(c->options->team->context, "", number);
}

/* Reads files together with the other processes. */
static enum tp_status collect_in_team(struct collector *c, struct tp_pool *pool,
                                      struct tp_error *err)
{
    c->order = tp_records_order(&c->records);
    if (!c->order)
        return tp_fail_memory(err);
    c->telling = true;
    tp_pool_for(pool, c->records.count, collect_pattern, c);
    tp_pool_for(pool, c->records.count, collect_unit, c);
    c->telling = false;
    c->told = true;
    tp_pool_for(pool, tp_pool_size(pool), collect_claims, c);
    return TP_OK;
}

static void collect_alone(struct collector *c, struct tp_pool *pool)
{
    const size_t count = c->records.count;
    tp_pool_for(pool, count, collect_pattern, c);
    tp_pool_for(pool, count, collect_unit, c);
    tp_pool_for(pool, count, collect_rest, c);
}

static void collector_clear(struct collector *c, unsigned jobs)
{
    for (unsigned i = 0; c->workers && i < jobs; i++) {
        tp_arena_clear(&c->workers[i].file.arena);
        tp_dims_clear(&c->workers[i].dims);
    }
    tp_records_clear(&c->records);
    free(c->order);
    free(c->workers);
    tp_scanner_free(c->scanner);
    pthread_mutex_destroy(&c->lock);
}

/* Reads what is not known. */
static enum tp_status run_jobs(struct collector *c, struct tp_pool *pool,
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
    if (!c->options->team)
        collect_alone(c, pool);
    else if (collect_in_team(c, pool, err) != TP_OK)
        return TP_E_MEMORY;
    if (c->no_memory)
        return tp_fail_memory(err);
    const bool stopped = c->options->stop && *c->options->stop;
    /* a team waits now for who is at the largest file */
    if (c->options->keeper && (stopped || c->options->team))
        keep(c);
    return stopped ? tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted") : TP_OK;
}

/* A record for each file, those of an earlier run where they hold. */
static enum tp_status make_records(struct collector *c, struct tp_error *err)
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

static enum tp_status collect(struct collector *c, struct tp_pool *pool,
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
    struct collector c = {.options = options, .run = run};
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

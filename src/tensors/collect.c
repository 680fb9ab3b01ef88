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
 */
#include "tensors/collect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/text.h"
#include "data/dtype.h"
#include "formats/reader.h"
#include "scan/scan.h"
#include "tensors/dims_table.h"
#include "tensors/dump_labels.h"
#include "tensors/lone_shards.h"
#include "tensors/quantised.h"
#include "tensors/rank_file.h"
#include "tensors/rank_grid.h"
#include "tensors/rank_tree.h"
#include "tensors/row.h"
#include "tensors/run_notes.h"

/* What one file gave; a slot per file makes the result independent of the
 * order in which workers finish. */
struct file_result {
    struct tp_row *rows; /* room for one per tensor of the file */
    size_t row_count;
    struct tp_skipped *skipped;
    size_t skipped_count, skipped_capacity;
    const char *conflict;   /* between metadata and name, or NULL */
    const char *assumption; /* of the reader, or NULL           */
    bool ignored;
    bool empty; /* by its nature: it may hold nothing but tensors */
    bool taken; /* its tensors are among those of another file    */
    const struct tp_rank_file *told; /* by a unit; NULL: nothing   */
};

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
    struct file_result *results;
    atomic_bool no_memory; /* the run cannot go on; read without the lock */
    pthread_mutex_t lock;  /* guards everything below, and run->arena */
    struct tp_intern texts;
    uint64_t files_done, bytes_done, bytes_all;
};

/* Whether the user named the file. */
static bool is_root(const struct collector *c, const char *path)
{
    for (size_t i = 0; i < c->options->root_count; i++) {
        if (!strcmp(c->options->roots[i], path))
            return true;
    }
    return false;
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

/* A text as tables show it: names are any bytes, a table is UTF-8. NULL: no
 * memory. Called under the lock. */
static const char *shown_text(struct collector *c, const char *text)
{
    if (tp_text_is_utf8(text))
        return tp_intern(&c->texts, &c->run->arena, text);
    struct tp_text printable = {0};
    tp_text_printable(&printable, text);
    const char *shown =
        tp_intern(&c->texts, &c->run->arena, tp_text_get(&printable));
    tp_text_clear(&printable);
    return shown;
}

static void add_skipped(struct collector *c, struct file_result *result,
                        const char *file, const struct tp_skip *skip)
{
    if (tp_grow(&result->skipped, &result->skipped_capacity,
                result->skipped_count + 1, sizeof *result->skipped,
                NULL) != TP_OK) {
        c->no_memory = true;
        return;
    }
    pthread_mutex_lock(&c->lock);
    const char *path = shown_text(c, skip->path);
    const char *reason = shown_text(c, skip->reason);
    pthread_mutex_unlock(&c->lock);
    if (!path || !reason)
        c->no_memory = true;
    if (path && reason)
        result->skipped[result->skipped_count++] =
            (struct tp_skipped){.file = file,
                                .path = path,
                                .reason = reason,
                                .offset = skip->offset,
                                .damage = skip->code != TP_OK,
                                .missing = skip->code == TP_E_NOT_FOUND};
}

static void add_failure(struct collector *c, struct file_result *result,
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
        *texts[i] = shown_text(c, *texts[i]);
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

/*
 * Indices to keep of an axis: a run of up to 1 000 tensors keeps all it may,
 * a larger one less of each, so that it keeps some 10^5 in all (48 bytes each,
 * and a row of a table); but two of the largest and two of the smallest.
 */
static size_t dims_keep(const struct collector *c, const struct worker *worker)
{
    double files = (double)c->run->files.count;
    double tensors = files * (double)worker->file.tensor_count;
    if (c->options->dims == TP_DIMS_ALL || tensors <= 1000)
        return TP_DIM_KEPT;
    double share = 1000 * TP_DIM_KEPT / tensors;
    return share < 4 ? 4 : (size_t)share;
}

static void scan_tensor(struct collector *c, struct file_result *result,
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
        .dims_keep = dims_keep(c, worker),
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
    const char *kept = *sentence ? shown_text(c, sentence) : NULL;
    pthread_mutex_unlock(&c->lock);
    return kept;
}

static void read_open_file(struct collector *c, struct file_result *result,
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
    /* exactly: a run has 10^5 files of one tensor each */
    result->rows = calloc(file->tensor_count, sizeof *result->rows);
    if (!result->rows && file->tensor_count > 0)
        c->no_memory = true;
    const size_t count = file->tensor_count;
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
    const char *shown = shown_text(c, path);
    pthread_mutex_unlock(&c->lock);
    return shown ? shown : "";
}

/* The files whose tensors this one has are not read by themselves, unless the
 * user named them. */
static void take_members(struct collector *c, const char *path,
                         const struct tp_tensor_file *file)
{
    const int folder = (int)(tp_file_base_name(path) - path);
    for (size_t i = 0; i < file->member_count; i++) {
        struct tp_text member = {0};
        tp_text_add(&member, "%.*s%s", folder, path, file->members[i]);
        const size_t found =
            tp_found_index(&c->run->files, tp_text_get(&member));
        pthread_mutex_lock(&c->lock);
        if (found < c->run->files.count && !is_root(c, tp_text_get(&member)))
            c->results[found].taken = true;
        c->no_memory = c->no_memory || member.failed;
        pthread_mutex_unlock(&c->lock);
        tp_text_clear(&member);
    }
}

/* What a unit tells of files goes with them, unless the user named them. */
static void tell_files(struct collector *c, const char *path,
                       const struct tp_tensor_file *file)
{
    const int folder = (int)(tp_file_base_name(path) - path);
    for (size_t i = 0; i < file->rank_file_count; i++) {
        struct tp_text name = {0};
        tp_text_add(&name, "%.*s%s", folder, path, file->rank_files[i].name);
        const size_t found = tp_found_index(&c->run->files, tp_text_get(&name));
        pthread_mutex_lock(&c->lock);
        if (found < c->run->files.count && !is_root(c, tp_text_get(&name))) {
            c->results[found].told = tp_rank_file_keep(
                &file->rank_files[i], &c->texts, &c->run->arena);
            c->no_memory = c->no_memory || !c->results[found].told;
        }
        c->no_memory = c->no_memory || name.failed;
        pthread_mutex_unlock(&c->lock);
        tp_text_clear(&name);
    }
}

static void read_file(struct collector *c, size_t index, bool claimed,
                      unsigned number)
{
    const struct tp_found *found = &c->run->files.files[index];
    struct file_result *result = &c->results[index];
    struct tp_tensor_file *file = &c->workers[number].file;
    bool expected = is_expected(c, found->path);
    if (!expected && !claimed && !carries_magic(found->path)) {
        result->ignored = true;
        return;
    }
    struct tp_error err = {0};
    const char *shown = shown_path(c, found->path);
    file->parts = c->options->parts;
    if (tp_tensor_file_open(found->path, file, &err) == TP_OK) {
        take_members(c, found->path, file);
        tell_files(c, found->path, file);
        file->shifts = result->told ? result->told->shifts : NULL;
        file->shift_count = result->told ? result->told->shift_count : 0;
        read_open_file(c, result, shown, number);
    } else if (expected || err.code != TP_E_UNSUPPORTED)
        add_failure(c, result, shown, "", &err);
    else
        result->ignored = true;
    tp_tensor_file_close(file);
}

/* Reads a file in the pass that it belongs to: patterns, then other files that
 * describe tensors of more files than themselves, each time what was not taken
 * before, then the rest. */
static void collect_file(struct collector *c, enum tp_name_claim pass,
                         size_t index, unsigned number)
{
    const struct tp_collect_options *options = c->options;
    const enum tp_name_claim claim =
        tp_format_claims(c->run->files.files[index].path);
    if ((options->stop && *options->stop) || c->no_memory || claim != pass)
        return;
    if (!c->results[index].taken)
        read_file(c, index, claim != TP_NAME_OTHER, number);
    pthread_mutex_lock(&c->lock);
    c->files_done++;
    c->bytes_done += c->run->files.files[index].size;
    if (options->progress)
        options->progress(options->progress_context, c->files_done,
                          c->run->files.count, c->bytes_done, c->bytes_all);
    pthread_mutex_unlock(&c->lock);
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

/* Adds the patterns that stand for files that belong together without an index;
 * a file that the user named stands for itself. */
static enum tp_status add_patterns(const struct tp_collect_options *options,
                                   struct tp_run *run, struct tp_error *err)
{
    const struct collector c = {.options = options};
    enum tp_status status = TP_OK;
    for (size_t i = 0; status == TP_OK && i < run->files.count; i++) {
        struct tp_text pattern = {0};
        const size_t before = run->files.count;
        if (!is_root(&c, run->files.files[i].path) &&
            tp_format_pattern(run->files.files[i].path, &pattern))
            status = pattern.failed ? tp_fail_memory(err)
                                    : tp_found_add(&run->files,
                                                   tp_text_get(&pattern), err);
        i += run->files.count - before; /* '*' sorts before digits */
        tp_text_clear(&pattern);
    }
    return status;
}

static enum tp_status find_files(const struct tp_collect_options *options,
                                 struct tp_run *run, struct tp_error *err)
{
    for (size_t i = 0; i < options->root_count; i++) {
        enum tp_status status =
            tp_file_find(options->roots[i], &run->files, err);
        if (status != TP_OK)
            return status;
    }
    enum tp_status status = tp_found_sort(&run->files, err);
    return status == TP_OK ? add_patterns(options, run, err) : status;
}

/* Says of how many files there is a sentence, at `place`, and the first. */
static void note_files(struct tp_run *run, const struct file_result *results,
                       size_t place, const char *what, const char *then)
{
    size_t count = 0, first = 0;
    const char *told = NULL;
    for (size_t i = 0; i < run->files.count; i++) {
        const char *const *sentence =
            (const void *)((const char *)&results[i] + place);
        if (*sentence && count++ == 0) {
            told = *sentence;
            first = i;
        }
    }
    if (count)
        tp_run_note(run, "%s %zu file%s%s. First: %s: %s", what, count,
                    count == 1 ? "" : "s", then, run->files.files[first].path,
                    told);
}

static void add_totals(struct tp_run *run, const struct file_result *result,
                       uint64_t size)
{
    for (size_t i = 0; i < result->row_count; i++)
        run->aside_count += result->rows[i].aside;
    run->row_count += result->row_count;
    run->skipped_count += result->skipped_count;
    run->files_ignored += result->ignored;
    run->files_read += !result->ignored;
    run->files_empty += result->empty;
    run->bytes_read += result->ignored ? 0 : size;
}

/* Names what is missing of files that belong together. */
static void note_missing(struct collector *c,
                         size_t (*find)(const struct tp_found_list *files,
                                        size_t *next, struct tp_text *missing))
{
    const struct tp_found_list *files = &c->run->files;
    for (size_t next = 0; next < files->count;) {
        struct tp_text missing = {0};
        struct tp_error err = {0};
        const size_t first = find(files, &next, &missing);
        if (first < files->count && missing.length) {
            tp_fail(&err, TP_E_NOT_FOUND, -1, "%s", tp_text_get(&missing));
            add_failure(c, &c->results[first],
                        shown_path(c, files->files[first].path), "", &err);
        }
        tp_text_clear(&missing);
    }
}

/* Joins the files' results in the order of their paths. */
static enum tp_status assemble(const struct collector *c, struct tp_error *err)
{
    struct tp_run *run = c->run;
    struct file_result *results = c->results;
    for (size_t i = 0; i < run->files.count; i++)
        add_totals(run, &results[i], run->files.files[i].size);
    run->row_count -= run->aside_count;
    size_t problems = run->files.problem_count;
    run->rows =
        calloc(run->row_count + run->aside_count + 1, sizeof *run->rows);
    run->skipped =
        calloc(run->skipped_count + problems + 1, sizeof *run->skipped);
    if (!run->rows || !run->skipped)
        return tp_fail_memory(err);
    size_t row = 0, aside = run->row_count, skipped = 0;
    for (size_t i = 0; i < problems; i++)
        run->skipped[skipped++] =
            (struct tp_skipped){.file = "",
                                .path = "",
                                .reason = run->files.problems[i],
                                .offset = -1,
                                .damage = true};
    run->skipped_count += problems;
    for (size_t i = 0; i < run->files.count; i++) {
        struct file_result *result = &results[i];
        for (size_t j = 0; j < result->row_count; j++) {
            result->rows[j].source = i;
            run->rows[result->rows[j].aside ? aside++ : row++] =
                result->rows[j];
        }
        for (size_t j = 0; j < result->skipped_count; j++)
            run->skipped[skipped++] = result->skipped[j];
        free(result->rows);
        result->rows = NULL;
    }
    if (c->options->quant)
        run->plan = *c->options->quant;
    note_files(run, results, offsetof(struct file_result, conflict),
               "metadata and file name disagree in", "; metadata holds");
    note_files(run, results, offsetof(struct file_result, assumption),
               "something had to be assumed in", "");
    tp_run_note_casts(run);
    tp_row_note_unknown_types(run);
    if (c->options->dims != TP_DIMS_NONE && tp_dims_number(run, err) != TP_OK)
        return TP_E_MEMORY;
    if (tp_quantised_number(run, err) != TP_OK)
        return TP_E_MEMORY;
    if (tp_dump_label(run, err) != TP_OK)
        return TP_E_MEMORY;
    tp_rank_grid(run);
    return tp_run_number(run, err);
}

static void collector_clear(struct collector *c, unsigned jobs)
{
    for (size_t i = 0; c->results && i < c->run->files.count; i++) {
        free(c->results[i].rows);
        free(c->results[i].skipped);
    }
    for (unsigned i = 0; c->workers && i < jobs; i++) {
        tp_arena_clear(&c->workers[i].file.arena);
        tp_dims_clear(&c->workers[i].dims);
    }
    free(c->results);
    free(c->workers);
    tp_scanner_free(c->scanner);
    tp_intern_clear(&c->texts);
    pthread_mutex_destroy(&c->lock);
}

static enum tp_status run_jobs(struct collector *c, struct tp_pool *pool,
                               struct tp_error *err)
{
    size_t count = c->run->files.count;
    c->results = calloc(count + 1, sizeof *c->results);
    c->workers = calloc(tp_pool_size(pool), sizeof *c->workers);
    if (!c->results || !c->workers)
        return tp_fail_memory(err);
    enum tp_status status = tp_scanner_new(pool, &c->scanner, err);
    if (status != TP_OK)
        return status;
    tp_scanner_stop_on(c->scanner, c->options->stop);
    tp_scanner_use(c->scanner, c->options->device);
    tp_pool_for(pool, count, collect_pattern, c);
    tp_pool_for(pool, count, collect_unit, c);
    tp_pool_for(pool, count, collect_rest, c);
    if (c->options->stop && *c->options->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (c->no_memory)
        return tp_fail_memory(err);
    note_missing(c, tp_rank_tree_next);
    note_missing(c, tp_lone_shards_next);
    return c->no_memory ? tp_fail_memory(err) : assemble(c, err);
}

enum tp_status tp_collect(struct tp_pool *pool,
                          const struct tp_collect_options *options,
                          struct tp_run *run, struct tp_error *err)
{
    enum tp_status status = find_files(options, run, err);
    if (status != TP_OK)
        return status;
    struct collector c = {.options = options, .run = run};
    run->parts = options->parts;
    for (size_t i = 0; i < run->files.count; i++)
        c.bytes_all += run->files.files[i].size;
    pthread_mutex_init(&c.lock, NULL);
    status = run_jobs(&c, pool, err);
    collector_clear(&c, tp_pool_size(pool));
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * Rows whose tensors are in the same two files are one task of the pool, so
 * that a checkpoint is opened once and not for each of its tensors; a large
 * tensor is split over the pool inside of it (scan/difference_scan.h). Two
 * tensors are held at a time by each worker, in pieces. From the sums of one
 * reading come msprobe's six metrics (stats/difference_msprobe.h) and our own.
 * Cost: one reading of both.
 */
#include "compare/compare_tensor.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "formats/reader.h"
#include "scan/difference_scan.h"

/* A row to be read. */
struct job {
    size_t pair, row;
    struct tp_found *files[2]; /* of A and of B                            */
};

struct task {
    size_t first, count; /* jobs of the same files                          */
};

struct measurer {
    const struct tp_compare_tensor_options *options;
    struct tp_compare_pair *pairs;
    struct job *jobs;
    struct task *tasks;
    size_t job_count, task_count;
    struct tp_readers readers;
    struct tp_difference_scan *scans; /* [workers]                          */
    atomic_bool no_memory;
    pthread_mutex_t lock; /* guards arenas of pairs, and what follows       */
    uint64_t done, bytes_done;
};

/* --- from sums to columns ------------------------------------------------- */

static void set_elements(const struct tp_difference_numbers *n,
                         struct tp_compare_line *row)
{
    struct tp_compare_elements *elements = &row->elements;
    *elements = (struct tp_compare_elements){
        .compared = true,
        .values = (double)n->values,
        .unequal = (double)n->differ,
        .first = n->first_at,
        .norm_a = n->norm_x,
        .norm_b = n->norm_y,
        .relative_l2 = n->differ == 0  ? 0
                       : n->norm_y > 0 ? n->l2 / n->norm_y
                       : n->l2 > 0     ? INFINITY
                                       : NAN,
        .sqnr = n->sqnr_db,
        .ulp50 = n->ulp_p50,
        .ulp99 = n->ulp_p99,
        .ulp_max = n->ulp_max,
        .ks = n->ks};
    if (n->nonfinite_apart > 0) /* no finite number says how bad that is */
        elements->relative_l2 = INFINITY;
}

/* --- one row -------------------------------------------------------------- */

static struct tp_compare_line *row_of(const struct measurer *m,
                                      const struct job *job)
{
    return &m->pairs[job->pair].rows[job->row];
}

/* Notes why a row was not compared. */
static void keep_problem(struct measurer *m, const struct job *job,
                         enum tp_status status, const char *message)
{
    struct tp_compare_pair *pair = &m->pairs[job->pair];
    struct tp_compare_line *row = row_of(m, job);
    pthread_mutex_lock(&m->lock);
    row->problem = tp_arena_text(&pair->arena, message, strlen(message));
    pthread_mutex_unlock(&m->lock);
    row->damaged = status != TP_E_UNSUPPORTED && status != TP_E_LIMIT;
    if (!row->problem) {
        row->problem = "";
        m->no_memory = true;
    }
    m->no_memory = m->no_memory || status == TP_E_MEMORY;
}

static const struct tp_tensor *tensor_of(const struct tp_compare_entry *entry,
                                         const struct tp_tensor_file *file)
{
    return entry->item->tensor < file->tensor_count
               ? &file->tensors[entry->item->tensor]
               : NULL;
}

static bool same_shape(const struct tp_tensor *a, const struct tp_tensor *b)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static enum tp_status measure(struct measurer *m,
                              const struct tp_tensor *const tensors[2],
                              unsigned worker, struct tp_error *err)
{
    struct tp_pair_view view;
    enum tp_status status =
        tp_pair_view_make(tensors[0], tensors[1], &view, err);
    return status == TP_OK
               ? tp_difference_scan(&m->readers, worker, &view,
                                    &m->scans[worker], err)
               : status;
}

static void set_row(const struct tp_difference_scan *scan, bool scalar,
                    struct tp_compare_line *row)
{
    struct tp_difference_numbers numbers;
    tp_difference_numbers(&scan->plan, &scan->difference, scan->totals,
                          &numbers);
    tp_difference_msprobe(&scan->plan, &scan->difference, scalar,
                          row->metrics);
    set_elements(&numbers, row);
}

/* A row that could not be compared, told of the tensor of A or of B. */
static void fail_row(struct measurer *m, const struct job *job, int side,
                     const struct tp_error *why)
{
    const struct tp_compare_pair *pair = &m->pairs[job->pair];
    const struct tp_compare_line *row = row_of(m, job);
    keep_problem(m, job, why->code, why->message);
    if (!row->damaged || why->code == TP_E_MEMORY)
        return;
    const char *name = (side ? tp_compare_row_b(pair, row)
                             : tp_compare_row_a(pair, row))
                           ->name;
    if (tp_found_fail(job->files[side], name, why, NULL) != TP_OK)
        m->no_memory = true;
}

static void measure_job(struct measurer *m, const struct job *job,
                        const struct tp_tensor_file files[2], unsigned worker)
{
    const struct tp_compare_pair *pair = &m->pairs[job->pair];
    struct tp_compare_line *row = row_of(m, job);
    struct tp_error err = {.code = TP_OK};
    const struct tp_tensor *const tensors[2] = {
        tensor_of(tp_compare_row_a(pair, row), &files[0]),
        tensor_of(tp_compare_row_b(pair, row), &files[1])};
    if (!tensors[0] || !tensors[1]) {
        tp_fail(&err, TP_E_DAMAGED, -1, "the file has no such tensor");
        fail_row(m, job, tensors[0] ? 1 : 0, &err);
        return;
    }
    if (tensors[0]->numel == 0)
        return;
    if (!same_shape(tensors[0], tensors[1])) {
        tp_msprobe_set_all(TP_MSPROBE_SHAPES, row->metrics);
        return;
    }
    if (measure(m, tensors, worker, &err) == TP_OK) {
        set_row(&m->scans[worker], tensors[0]->ndim == 0, row);
        return;
    }
    fail_row(m, job, err.of_second, &err);
}

/* --- tasks ---------------------------------------------------------------- */

static bool is_stopped(const struct measurer *m)
{
    return (m->options->stop && *m->options->stop) || m->no_memory;
}

static void tell_progress(struct measurer *m, uint64_t bytes)
{
    const struct tp_compare_tensor_options *options = m->options;
    pthread_mutex_lock(&m->lock);
    m->done++;
    m->bytes_done += bytes;
    if (options->progress)
        options->progress(options->progress_context, m->done, m->job_count,
                          m->bytes_done, 0);
    pthread_mutex_unlock(&m->lock);
}

static void measure_jobs(struct measurer *m, const struct task *task, bool open,
                         const struct tp_tensor_file files[2], unsigned worker)
{
    for (size_t i = 0; i < task->count && !is_stopped(m); i++) {
        if (open)
            measure_job(m, &m->jobs[task->first + i], files, worker);
        tell_progress(m,
                      i == 0 ? files[0].bytes.size + files[1].bytes.size : 0);
    }
}

/* Nothing that was read of a file that changed, or could not be opened,
 * counts. */
static void forget(struct measurer *m, const struct task *task,
                   enum tp_status status, const struct tp_error *why)
{
    for (size_t i = 0; i < task->count; i++) {
        const struct job *job = &m->jobs[task->first + i];
        struct tp_compare_line *row = row_of(m, job);
        row->elements = tp_compare_elements_none;
        tp_msprobe_set_all(TP_MSPROBE_UNSUPPORTED, row->metrics);
        keep_problem(m, job, status, why->message);
    }
}

static void measure_task(void *context, size_t index, unsigned worker)
{
    struct measurer *m = context;
    const struct task *task = &m->tasks[index];
    const struct job *first = &m->jobs[task->first];
    struct tp_tensor_file files[2];
    struct tp_error errs[2] = {{.code = TP_OK}, {.code = TP_OK}};
    enum tp_status status[2] = {TP_OK, TP_OK};
    if (is_stopped(m))
        return;
    memset(files, 0, sizeof files);
    for (int i = 0; i < 2; i++)
        status[i] =
            tp_tensor_file_open_found(first->files[i], &files[i], &errs[i]);
    measure_jobs(m, task, status[0] == TP_OK && status[1] == TP_OK, files,
                 worker);
    for (int i = 1; i >= 0; i--) { /* what is wrong with A is said */
        if (status[i] == TP_E_UNSUPPORTED &&
            !tp_text_ends_with(first->files[i]->path, ".npy"))
            status[i] = errs[i].code = TP_E_DAMAGED; /* it holds a tensor */
        status[i] = tp_tensor_file_end_found(first->files[i], "", &files[i],
                                             status[i], &errs[i]);
        tp_arena_clear(&files[i].arena);
        if (status[i] == TP_OK)
            continue;
        tp_while(&errs[i], "reading %s", first->files[i]->path);
        forget(m, task, status[i], &errs[i]);
    }
}

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left, *b = right;
    int result = strcmp(a->files[0]->path, b->files[0]->path);
    if (result == 0)
        result = strcmp(a->files[1]->path, b->files[1]->path);
    if (result == 0)
        result = tp_order_size(a->pair, b->pair);
    return result ? result : tp_order_size(a->row, b->row);
}

/* A row to be read, unless it cannot be. */
static void plan_row(struct measurer *m, size_t pair, size_t row)
{
    struct tp_compare_line *its = &m->pairs[pair].rows[row];
    const struct tp_compare_entry *a = tp_compare_row_a(&m->pairs[pair], its);
    const struct tp_compare_entry *b = tp_compare_row_b(&m->pairs[pair], its);
    tp_msprobe_set_all(TP_MSPROBE_UNSUPPORTED, its->metrics);
    if (!b)
        return;
    const struct job job = {pair, row, {a->item->file, b->item->file}};
    if (job.files[0] && job.files[1])
        m->jobs[m->job_count++] = job;
    else if (*a->item->data_name && *b->item->data_name)
        keep_problem(m, &job, TP_E_DAMAGED,
                     "the file that the dump names is not there");
}

static enum tp_status plan(struct measurer *m, size_t count,
                           struct tp_error *err)
{
    size_t all = 1;
    for (size_t i = 0; i < count; i++)
        all += m->pairs[i].row_count;
    m->jobs = calloc(all, sizeof *m->jobs);
    m->tasks = calloc(all, sizeof *m->tasks);
    if (!m->jobs || !m->tasks)
        return tp_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < m->pairs[i].row_count; k++)
            plan_row(m, i, k);
    qsort(m->jobs, m->job_count, sizeof *m->jobs, compare_jobs);
    for (size_t i = 0; i < m->job_count; i++) {
        const struct job *job = &m->jobs[i];
        if (i == 0 || job[-1].files[0] != job->files[0] ||
            job[-1].files[1] != job->files[1])
            m->tasks[m->task_count++].first = i;
        m->tasks[m->task_count - 1].count++;
    }
    return TP_OK;
}

static enum tp_status run_tasks(struct measurer *m, size_t count,
                                struct tp_error *err)
{
    enum tp_status status = plan(m, count, err);
    if (status != TP_OK)
        return status;
    m->scans = calloc(m->readers.count, sizeof *m->scans);
    if (!m->scans)
        return tp_fail_memory(err);
    tp_pool_for(m->options->pool, m->task_count, measure_task, m);
    if (m->options->stop && *m->options->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    return m->no_memory ? tp_fail_memory(err) : TP_OK;
}

enum tp_status tp_compare_measure(
    struct tp_compare_pair *pairs, size_t count,
    const struct tp_compare_tensor_options *options, struct tp_error *err)
{
    struct measurer m = {.options = options, .pairs = pairs};
    enum tp_status status = tp_readers_init(&m.readers, options->pool, err);
    if (status != TP_OK)
        return status;
    m.readers.stop = options->stop;
    pthread_mutex_init(&m.lock, NULL);
    status = run_tasks(&m, count, err);
    pthread_mutex_destroy(&m.lock);
    tp_readers_clear(&m.readers);
    free(m.scans);
    free(m.jobs);
    free(m.tasks);
    return status;
}

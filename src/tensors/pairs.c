/* SPDX-License-Identifier: MIT */
/*
 * Reading pairs. Pairs of the same two files are one task of the pool, so that
 * a checkpoint is opened once and not for each of its tensors; a large tensor
 * is split over the pool inside of it. Each pair has a slot of its own, so that
 * the result does not depend on who reads it. Of a pair some 300 bytes are
 * kept; where its elements lie is counted in a reading of its own, of the few
 * pairs that are drawn, since 13 kB for each would not be bounded memory.
 *
 * A tensor with k quant types is read k - 1 times more than once. Reading all k
 * in step would read it once more whatever k is, but k is mostly 2, and the
 * second reading of a tensor mostly finds it in the page cache.
 */
#include "tensors/pairs.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"
#include "formats/reader.h"
#include "scan/pair_scan.h"
#include "tensors/memo.h"
#include "tensors/row_file.h"

/* --- two open files ------------------------------------------------------- */

struct files {
    struct tp_tensor_file x, y;
    bool same; /* both tensors are in x */
};

static enum tp_status open_files(const struct tp_run *run,
                                 const struct tp_pair *pair,
                                 struct files *files, struct tp_error *err)
{
    *files = (struct files){.same = run->rows[pair->x].source ==
                                    run->rows[pair->y].source};
    enum tp_status status =
        tp_row_file_open(run, &run->rows[pair->x], &files->x, err);
    if (status == TP_OK && !files->same)
        status = tp_of_second(
            tp_row_file_open(run, &run->rows[pair->y], &files->y, err), err);
    return status;
}

static void close_files(struct files *files)
{
    tp_tensor_file_close(&files->x);
    tp_tensor_file_close(&files->y);
    tp_arena_clear(&files->x.arena);
    tp_arena_clear(&files->y.arena);
}

/* How both tensors of a pair of the open files are walked. */
static enum tp_status view_pair(const struct tp_run *run,
                                const struct tp_pair *pair,
                                const struct files *files,
                                struct tp_pair_view *view, struct tp_error *err)
{
    const struct tp_tensor *x = NULL, *y = NULL;
    enum tp_status status =
        tp_row_file_tensor(&run->rows[pair->x], &files->x, &x, err);
    if (status == TP_OK)
        status = tp_of_second(
            tp_row_file_tensor(&run->rows[pair->y],
                               files->same ? &files->x : &files->y, &y, err),
            err);
    if (status != TP_OK)
        return status;
    status = tp_pair_view_make(x, y, view, err);
    if (status != TP_OK)
        tp_while(err, "comparing it with %s", run->rows[pair->y].file);
    return status;
}

/* --- measuring ------------------------------------------------------------ */

struct task {
    size_t first, count; /* of order */
};

struct measurer {
    const struct tp_pairs_options *options;
    struct tp_run *run;
    struct tp_pairs *pairs;
    struct tp_readers readers;
    size_t *order; /* pairs, those of the same files together */
    struct task *tasks;
    size_t task_count;
    atomic_bool no_memory;
    pthread_mutex_t lock; /* guards pairs->arena and what follows */
    uint64_t done, bytes_done, bytes_all;
};

static uint64_t bytes_of(const struct measurer *m, const struct tp_pair *pair)
{
    const struct tp_row *rows = m->run->rows;
    const uint64_t numel = rows[pair->x].counts.numel;
    return numel * tp_dtype_info(rows[pair->x].dtype)->size +
           numel * tp_dtype_info(rows[pair->y].dtype)->size;
}

static void tell_progress(struct measurer *m, const struct tp_pair *pair)
{
    const struct tp_pairs_options *options = m->options;
    pthread_mutex_lock(&m->lock);
    m->done++;
    m->bytes_done += bytes_of(m, pair);
    if (options->progress)
        options->progress(options->progress_context, m->done, m->pairs->count,
                          m->bytes_done, m->bytes_all);
    pthread_mutex_unlock(&m->lock);
}

static void keep_error(struct measurer *m, struct tp_pair *pair,
                       const struct tp_error *err)
{
    struct tp_error why = *err;
    if (err->code == TP_E_MEMORY)
        m->no_memory = true;
    if (*err->file)
        tp_while(&why, "reading %s", err->file);
    pthread_mutex_lock(&m->lock);
    pair->of_y = err->of_second;
    pair->error =
        tp_arena_text(&m->pairs->arena, why.message, strlen(why.message));
    pthread_mutex_unlock(&m->lock);
    if (!pair->error) {
        pair->error = "out of memory";
        m->no_memory = true;
    }
}

static struct tp_digest key_of(const struct measurer *m,
                               const struct tp_pair *pair)
{
    const struct tp_row *rows = m->run->rows;
    return tp_memo_key(m->run, "pair", &rows[pair->x], &rows[pair->y]);
}

static void measure_pair(struct measurer *m, struct tp_pair *pair,
                         const struct files *files, unsigned worker)
{
    const struct tp_row *rows = m->run->rows;
    const struct tp_pair_scale scale = tp_pair_scale_of(
        rows[pair->x].numbers.abs_max, rows[pair->y].numbers.abs_max);
    struct tp_pair_view view;
    struct tp_pair_sums sums;
    struct tp_error err = {.code = TP_OK};
    enum tp_status status = view_pair(m->run, pair, files, &view, &err);
    if (status == TP_OK)
        status = tp_pair_scan(&m->readers, worker, &view, &scale, &sums, &err);
    if (status == TP_OK)
        status =
            tp_row_file_unchanged(m->run, &rows[pair->x], &files->x, &err);
    if (status == TP_OK && !files->same)
        status = tp_of_second(
            tp_row_file_unchanged(m->run, &rows[pair->y], &files->y, &err),
            &err);
    if (status != TP_OK) {
        keep_error(m, pair, &err);
        return;
    }
    tp_pair_numbers(&sums, &scale, &pair->numbers);
    const struct tp_digest key = key_of(m, pair);
    tp_memo_put(m->run, &key, &pair->numbers, sizeof pair->numbers);
}

static bool is_stopped(const struct measurer *m)
{
    return (m->options->stop && *m->options->stop) || m->no_memory;
}

/* Takes what is known of the pairs of a task; whether all are. */
static bool recall(struct measurer *m, const size_t *order, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        struct tp_pair *pair = &m->pairs->rows[order[i]];
        const struct tp_digest key = key_of(m, pair);
        known +=
            tp_memo_get(m->run, &key, &pair->numbers, sizeof pair->numbers);
    }
    for (size_t i = 0; i < count && known == count; i++)
        tell_progress(m, &m->pairs->rows[order[i]]);
    return known == count;
}

static void measure_task(void *context, size_t index, unsigned worker)
{
    struct measurer *m = context;
    const struct task *task = &m->tasks[index];
    struct tp_pair *rows = m->pairs->rows;
    const size_t *order = m->order + task->first;
    struct files files;
    struct tp_error err = {.code = TP_OK};
    if (is_stopped(m) || recall(m, order, task->count))
        return;
    enum tp_status status = open_files(m->run, &rows[order[0]], &files, &err);
    for (size_t i = 0; i < task->count && !is_stopped(m); i++) {
        if (status == TP_OK)
            measure_pair(m, &rows[order[i]], &files, worker);
        else
            keep_error(m, &rows[order[i]], &err);
        tell_progress(m, &rows[order[i]]);
    }
    close_files(&files);
}

/* --- in which order ------------------------------------------------------- */

/* A pair with its files. */
struct placed {
    size_t x, y, pair;
};

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->x != b->x)
        return tp_order_size(a->x, b->x);
    return a->y != b->y ? tp_order_size(a->y, b->y)
                        : tp_order_size(a->pair, b->pair);
}

/* Cuts the sorted pairs into tasks. */
static void cut_tasks(struct measurer *m, const struct placed *placed)
{
    for (size_t i = 0; i < m->pairs->count; i++) {
        m->order[i] = placed[i].pair;
        if (i == 0 || placed[i].x != placed[i - 1].x ||
            placed[i].y != placed[i - 1].y)
            m->tasks[m->task_count++].first = i;
        m->tasks[m->task_count - 1].count++;
    }
}

static enum tp_status plan_tasks(struct measurer *m, struct tp_error *err)
{
    const struct tp_pairs *pairs = m->pairs;
    struct placed *placed = calloc(pairs->count, sizeof *placed);
    m->order = calloc(pairs->count, sizeof *m->order);
    m->tasks = calloc(pairs->count, sizeof *m->tasks);
    if (!placed || !m->order || !m->tasks) {
        free(placed);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < pairs->count; i++) {
        const struct tp_pair *pair = &pairs->rows[i];
        placed[i] = (struct placed){m->run->rows[pair->x].source,
                                    m->run->rows[pair->y].source, i};
        m->bytes_all += bytes_of(m, pair);
    }
    qsort(placed, pairs->count, sizeof *placed, compare_placed);
    cut_tasks(m, placed);
    free(placed);
    return TP_OK;
}

double tp_pair_distance(const struct tp_pair_numbers *numbers)
{
    return isnan(numbers->one_minus_r) ? numbers->one_minus_cosine
                                       : numbers->one_minus_r;
}

struct rated {
    double distance; /* -1: none */
    size_t pair;
};

/* What has no correlation, as one side is constant, is farthest off, unless the
 * other side is the same constant. */
static double rate(const struct tp_pair_numbers *numbers)
{
    const double distance = tp_pair_distance(numbers);
    if (!isnan(distance))
        return distance;
    return numbers->mse > 0 ? INFINITY : -1;
}

static int compare_rated(const void *left, const void *right)
{
    const struct rated *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? 1 : -1;
    return tp_order_size(a->pair, b->pair);
}

static enum tp_status order_worst(struct tp_pairs *pairs, struct tp_error *err)
{
    struct rated *rated = calloc(pairs->count, sizeof *rated);
    pairs->worst = calloc(pairs->count, sizeof *pairs->worst);
    if (!rated || !pairs->worst) {
        free(rated);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < pairs->count; i++) {
        if (*pairs->rows[i].error)
            continue;
        rated[pairs->measured++] =
            (struct rated){rate(&pairs->rows[i].numbers), i};
    }
    qsort(rated, pairs->measured, sizeof *rated, compare_rated);
    for (size_t i = 0; i < pairs->measured; i++)
        pairs->worst[i] = rated[i].pair;
    free(rated);
    return TP_OK;
}

/* --- what could not be read ----------------------------------------------- */

/* Rows of the run for the pairs that failed: each file once. */
static enum tp_status add_skipped(struct measurer *m, struct tp_error *err)
{
    struct tp_run *run = m->run;
    const struct tp_pair *lasts[2] = {NULL, NULL}; /* of x, of y */
    for (size_t i = 0; i < m->pairs->count; i++) {
        const struct tp_pair *pair = &m->pairs->rows[m->order[i]];
        const struct tp_row *row = &run->rows[pair->of_y ? pair->y : pair->x];
        const struct tp_pair *last = lasts[pair->of_y];
        if (!*pair->error ||
            (last && !strcmp(last->error, pair->error) &&
             run->rows[pair->of_y ? last->y : last->x].source == row->source))
            continue;
        lasts[pair->of_y] = pair;
        enum tp_status status = tp_run_skip(run, row, pair->error, err);
        if (status != TP_OK)
            return status;
    }
    return TP_OK;
}

/* --- all ------------------------------------------------------------------ */

static enum tp_status measure(struct measurer *m, struct tp_error *err)
{
    enum tp_status status = plan_tasks(m, err);
    if (status != TP_OK)
        return status;
    tp_pool_for(m->options->pool, m->task_count, measure_task, m);
    if (m->options->stop && *m->options->stop)
        return tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
    if (m->no_memory)
        return tp_fail_memory(err);
    status = order_worst(m->pairs, err);
    return status == TP_OK ? add_skipped(m, err) : status;
}

enum tp_status tp_pairs_make(struct tp_run *run,
                             const struct tp_pairs_options *options,
                             struct tp_pairs *pairs, struct tp_error *err)
{
    const bool all = options->which != TP_PAIRS_BASE;
    enum tp_status status = tp_pairs_find(run, all, pairs, err);
    if (status != TP_OK || options->which == TP_PAIRS_NONE || pairs->count == 0)
        return status;
    struct measurer m = {.options = options, .run = run, .pairs = pairs};
    status = tp_readers_init(&m.readers, options->pool, err);
    if (status != TP_OK)
        return status;
    m.readers.stop = options->stop;
    pthread_mutex_init(&m.lock, NULL);
    status = measure(&m, err);
    pthread_mutex_destroy(&m.lock);
    tp_readers_clear(&m.readers);
    free(m.order);
    free(m.tasks);
    return status;
}

/* --- where elements lie --------------------------------------------------- */

/* Whether two pairs are of the same name and quant types. */
static bool is_alike(const struct tp_run *run, const struct tp_pair *a,
                     const struct tp_pair *b)
{
    const struct tp_row *p = &run->rows[a->x], *q = &run->rows[b->x];
    return !tp_pair_compare_types(p, q) &&
           !tp_pair_compare_types(&run->rows[a->y], &run->rows[b->y]) &&
           !strcmp(tp_label_true_name(&p->label, p->path),
                   tp_label_true_name(&q->label, q->path));
}

static bool is_new(const struct tp_pairs *pairs, size_t pair)
{
    for (size_t i = 0; i < pairs->scatter_count; i++) {
        if (is_alike(pairs->run, &pairs->rows[pairs->scatters[i].pair],
                     &pairs->rows[pair]))
            return false;
    }
    return true;
}

static struct tp_pair_axis axis_of(const struct tp_run *run,
                                   const struct tp_pair *pair)
{
    const struct tp_numbers *x = &run->rows[pair->x].numbers;
    const struct tp_numbers *y = &run->rows[pair->y].numbers;
    return tp_pair_axis_of(fmin(x->min, y->min), fmax(x->max, y->max),
                           fmax(x->std, y->std));
}

static enum tp_status scatter_pair(struct tp_readers *readers,
                                   const struct tp_pairs *pairs,
                                   struct tp_pair_scatter *scatter,
                                   struct tp_error *err)
{
    const struct tp_pair *pair = &pairs->rows[scatter->pair];
    const struct tp_run *run = pairs->run;
    struct files files;
    struct tp_pair_view view;
    struct tp_digest key =
        tp_memo_key(run, "scatter", &run->rows[pair->x], &run->rows[pair->y]);
    tp_digest_number(&key, scatter->axis.is_signed);
    tp_digest_add(&key, &scatter->axis.low, sizeof scatter->axis.low);
    tp_digest_add(&key, &scatter->axis.high, sizeof scatter->axis.high);
    tp_digest_number(&key, (uint64_t)scatter->axis.inner);
    tp_digest_number(&key, (uint64_t)scatter->axis.binades);
    if (tp_memo_get(run, &key, scatter->cells, sizeof scatter->cells))
        return TP_OK;
    enum tp_status status = open_files(run, pair, &files, err);
    if (status == TP_OK)
        status = view_pair(run, pair, &files, &view, err);
    if (status == TP_OK)
        status = tp_pair_scan_cells(readers, 0, &view, &scatter->axis,
                                    scatter->cells, err);
    if (status == TP_OK)
        tp_memo_put(run, &key, scatter->cells, sizeof scatter->cells);
    close_files(&files);
    return status;
}

static enum tp_status scatter_worst(struct tp_readers *readers,
                                    struct tp_pairs *pairs,
                                    struct tp_error *err)
{
    for (size_t i = 0; i < pairs->measured; i++) {
        const size_t pair = pairs->worst[i];
        struct tp_pair_scatter *its = &pairs->scatters[pairs->scatter_count];
        struct tp_error failure = {.code = TP_OK};
        if (pairs->scatter_count == TP_PAIR_SCATTERS)
            break;
        if (!pairs->rows[pair].numbers.finite || !is_new(pairs, pair))
            continue;
        its->pair = pair;
        its->axis = axis_of(pairs->run, &pairs->rows[pair]);
        enum tp_status status = scatter_pair(readers, pairs, its, &failure);
        if (status == TP_E_INTERRUPTED || status == TP_E_MEMORY) {
            *err = failure;
            return status;
        }
        pairs->scatter_count += status == TP_OK;
    }
    return TP_OK;
}

enum tp_status tp_pairs_scatter(const struct tp_pairs_options *options,
                                struct tp_pairs *pairs, struct tp_error *err)
{
    struct tp_readers readers;
    if (pairs->measured == 0)
        return TP_OK;
    pairs->scatters = calloc(TP_PAIR_SCATTERS, sizeof *pairs->scatters);
    if (!pairs->scatters)
        return tp_fail_memory(err);
    enum tp_status status = tp_readers_init(&readers, options->pool, err);
    if (status != TP_OK)
        return status;
    readers.stop = options->stop;
    status = scatter_worst(&readers, pairs, err);
    tp_readers_clear(&readers);
    return status;
}

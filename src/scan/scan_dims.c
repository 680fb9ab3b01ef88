/* SPDX-License-Identifier: MIT */
#include "scan/scan_dims.h"

#include <stdlib.h>

#include "scan/dim_read.h"

/*
 * Dim-wise statistics. Where indices are kept of those axes only of which
 * something is to be said, peaks taken along with the first reading tell which
 * these are. If there are any, or no peaks: a reading of their own after the
 * others (small tensors are still in memory), since cells are scaled by the
 * moments of the tensor.
 * Slabs (dim_slab.c) are shared out to the pool, each into cells of its own
 * (dim_read.c), and merged in order, so that sums do not depend on the number
 * of jobs; then the indices of each axis are ranked (dim_rank.c). It is no
 * sink: pieces of the storage know no rows, and with one cell for every index
 * of every axis, parts of ranges would be larger than the ranges.
 */
enum {
    /* Slabs under way take no more than this together, but for a single one:
     * their cells grow with the root of the number of elements. */
    BATCH_BYTES = 64 << 20
};

struct job {
    const struct tp_pass *pass;
    struct tp_dim_source source;
    struct tp_slab_plan plan;
    struct tp_slab whole; /* not the axis that is cut                     */
    struct tp_dim_cell all; /* everything, if `same`                      */
    bool same;              /* there are axes of stride 0                 */
    struct tp_dim_ranker *ranker[2]; /* of the axis that is cut; of others */
    struct tp_slab *batch;
    size_t first_slab; /* of the batch                                    */
    struct tp_failure failure;
};

/* --- slabs ---------------------------------------------------------------- */

static void slab_task(void *context, size_t index, unsigned worker)
{
    struct job *job = context;
    struct tp_slab *slab = &job->batch[index];
    struct tp_reader *reader = &job->pass->readers->reader[worker];
    struct tp_error err = {.code = TP_OK};
    const size_t number = job->first_slab + index;
    tp_slab_measure(&job->plan, number, slab);
    enum tp_status status =
        tp_slab_lay_out(&job->plan, slab)
            ? tp_dim_read(&job->source, number, slab, reader, &err)
            : tp_fail_memory(&err);
    if (status != TP_OK)
        tp_failure_keep(&job->failure, number, status, &err);
}

/* Adds the cells of a slab to the whole, and ranks the axis that is cut. */
static void merge_slab(struct job *job, const struct tp_slab *slab)
{
    for (int i = 0; i < job->plan.count; i++) {
        if (i != job->plan.cut)
            tp_dim_cells_merge(&job->whole.cells[i], 0, &slab->cells[i]);
    }
    const struct tp_dim_cells *cells = &slab->cells[job->plan.cut];
    tp_dim_ranker_add(job->ranker[0], cells);
    for (size_t i = 0; i < cells->length && job->same; i++) {
        const struct tp_dim_cell cell = tp_dim_cells_get(cells, i);
        tp_dim_cell_merge(&job->all, &cell);
    }
}

/* Slabs between two merges: enough to keep all workers busy. */
static size_t slabs_of_batch(const struct job *job, size_t slabs)
{
    struct tp_slab first;
    tp_slab_measure(&job->plan, 0, &first);
    size_t fit =
        BATCH_BYTES / (tp_slab_room(&job->plan, &first) * sizeof(double));
    size_t room = 2 * (size_t)job->pass->readers->count;
    room = fit < room ? fit : room;
    room = slabs < room ? slabs : room;
    return room ? room : 1;
}

static enum tp_status read_slabs(struct job *job)
{
    const struct tp_pass *pass = job->pass;
    const size_t slabs = tp_slab_count(&job->plan);
    const size_t room = slabs_of_batch(job, slabs);
    job->batch = calloc(room, sizeof *job->batch);
    if (!job->batch)
        return tp_fail_memory(pass->err);
    tp_failure_begin(&job->failure);
    for (size_t done = 0; done < slabs && job->failure.status == TP_OK;) {
        const size_t count = slabs - done < room ? slabs - done : room;
        job->first_slab = done;
        if (slabs == 1)
            slab_task(job, 0, pass->worker);
        else
            tp_pool_for(pass->readers->pool, count, slab_task, job);
        for (size_t i = 0; i < count; i++) {
            if (job->failure.status == TP_OK)
                merge_slab(job, &job->batch[i]);
        }
        done += count;
    }
    for (size_t i = 0; i < room; i++)
        free(job->batch[i].memory);
    free(job->batch);
    return tp_failure_end(&job->failure, pass->err);
}

/* --- results -------------------------------------------------------------- */

/* The walked axis that is this one of the tensor, or `count`. */
static int find_axis(const struct tp_slab_plan *plan, int number)
{
    int i = 0;
    while (i < plan->count && plan->axes[i].number != number)
        i++;
    return i;
}

static bool is_analysed(const struct tp_tensor *tensor, int axis)
{
    return tensor->shape[axis] > 1 &&
           tensor->numel / tensor->shape[axis] > 1;
}

/* Of the cells of a walked axis, or of all there is. */
static struct tp_dim_units units_of(const struct job *job, int axis)
{
    const struct tp_pass *pass = job->pass;
    const struct tp_slab_plan *plan = &job->plan;
    uint64_t length = axis < plan->count && plan->axes[axis].number >= 0
                          ? (uint64_t)plan->axes[axis].length
                          : 1;
    uint64_t codes = (uint64_t)pass->walk.count * pass->parts;
    return (struct tp_dim_units){.scale = job->source.scale,
                                 .repeat = pass->walk.repeat,
                                 .values = codes / length};
}

static void close_axis(const struct tp_dim_ranker *ranker,
                       const struct tp_dims_scan *asked,
                       struct tp_dim_axis *axis, struct tp_dim_index *worst)
{
    const enum tp_dtype dtype = asked->pass->walk.tensor->dtype;
    axis->kept = tp_dim_ranker_finish(ranker, asked->keep, axis, worst);
    axis->worst = worst;
    axis->reduce = tp_dim_reduce_dtype(dtype, asked->reduce);
    axis->risk = tp_dim_risk_in(axis, dtype, asked->reduce);
}

/* Ranks the indices of an axis of the tensor. */
static void finish_axis(struct job *job, const struct tp_dims_scan *asked,
                        struct tp_dim_axis *axis, struct tp_dim_index *worst)
{
    const struct tp_tensor *tensor = job->pass->walk.tensor;
    const struct tp_slab_plan *plan = &job->plan;
    int at = find_axis(plan, axis->axis);
    struct tp_dim_ranker *ranker = job->ranker[at == plan->cut ? 0 : 1];
    struct tp_dim_units units = units_of(job, at);
    uint64_t length = (uint64_t)tensor->shape[axis->axis];
    if (at == plan->count) {
        units.repeat /= length;
        tp_dim_ranker_begin(ranker, &units);
        tp_dim_ranker_add_same(ranker, &job->all, length);
    } else if (at != plan->cut) {
        tp_dim_ranker_begin(ranker, &units);
        tp_dim_ranker_add(ranker, &job->whole.cells[at]);
    }
    close_axis(ranker, asked, axis, worst);
}

static void finish_axes(struct job *job, const struct tp_dims_scan *asked)
{
    struct tp_dims_room *room = asked->room;
    for (int i = 0; i < job->pass->walk.tensor->ndim; i++) {
        if (!is_analysed(job->pass->walk.tensor, i))
            continue;
        size_t number = room->dims.count++;
        struct tp_dim_axis *axis = &room->dims.axes[number];
        *axis = (struct tp_dim_axis){.axis = i};
        finish_axis(job, asked, axis, room->indices + number * TP_DIM_KEPT);
    }
}

static void set_up(struct job *job, const struct tp_dims_scan *asked)
{
    job->source = (struct tp_dim_source){
        .pass = job->pass,
        .plan = &job->plan,
        .codes = asked->codes,
        .scale = asked->summary->moments.scale,
        .finite = tp_counts_nonfinite(&asked->summary->counts) == 0};
    job->same = job->pass->walk.repeat > 1;
    tp_slab_plan_make(&job->plan, job->pass, asked->codes != NULL);
    const struct tp_dim_units units = units_of(job, job->plan.cut);
    tp_dim_ranker_begin(job->ranker[0], &units);
    for (int i = 0; i < job->plan.count; i++)
        job->whole.length[i] =
            i == job->plan.cut ? 0 : job->plan.axes[i].length;
}

/* --- from peaks ----------------------------------------------------------- */

static enum tp_status judge_axis(const struct tp_dims_scan *asked,
                                 struct tp_dim_axis *axis)
{
    const struct tp_pass *pass = asked->pass;
    const struct tp_slab_plan *plan = &asked->peaks->plan;
    const int at = find_axis(plan, axis->axis);
    const bool walked = at < plan->count;
    struct tp_dim_ranker *ranker = asked->ranker[0];
    const uint64_t length =
        (uint64_t)pass->walk.tensor->shape[axis->axis];
    const struct tp_dim_units units = {
        .repeat = walked ? pass->walk.repeat : pass->walk.repeat / length,
        .values = (uint64_t)pass->walk.count / (walked ? length : 1)};
    enum tp_status status = TP_OK;
    tp_dim_ranker_begin(ranker, &units);
    tp_dim_ranker_count_only(ranker);
    if (walked) {
        status = tp_peaks_rank(asked->peaks, pass, at, ranker);
    } else {
        const struct tp_dim_cell all = tp_peaks_all(asked->peaks, pass);
        tp_dim_ranker_add_same(ranker, &all, length);
    }
    close_axis(ranker, asked, axis, NULL);
    return status;
}

/* Judges all axes; *notable: something is to be said of one. */
static enum tp_status judge_axes(const struct tp_dims_scan *asked,
                                 bool *notable)
{
    const struct tp_tensor *tensor = asked->pass->walk.tensor;
    struct tp_dims *dims = &asked->room->dims;
    enum tp_status status = TP_OK;
    for (int i = 0; i < tensor->ndim && status == TP_OK && !*notable; i++) {
        if (!is_analysed(tensor, i))
            continue;
        struct tp_dim_axis *axis = &dims->axes[dims->count++];
        *axis = (struct tp_dim_axis){.axis = i};
        status = judge_axis(asked, axis);
        *notable = tp_dim_is_notable(axis);
    }
    return status;
}

/* --- all of it ------------------------------------------------------------ */

size_t tp_dims_analysed(const struct tp_tensor *tensor)
{
    size_t analysed = 0;
    for (int i = 0; i < tensor->ndim && tensor->numel; i++)
        analysed += is_analysed(tensor, i);
    return analysed;
}

/* Reads for the cells of all indices. */
static enum tp_status read_cells(const struct tp_dims_scan *asked)
{
    const struct tp_pass *pass = asked->pass;
    struct job job = {.pass = pass,
                      .ranker = {asked->ranker[0], asked->ranker[1]}};
    set_up(&job, asked);
    if (!tp_slab_lay_out(&job.plan, &job.whole))
        return tp_fail_memory(pass->err);
    enum tp_status status = read_slabs(&job);
    if (status == TP_OK)
        finish_axes(&job, asked);
    free(job.whole.memory);
    return status;
}

enum tp_status tp_scan_dims(const struct tp_dims_scan *asked)
{
    const struct tp_pass *pass = asked->pass;
    const size_t analysed = tp_dims_analysed(pass->walk.tensor);
    bool notable = !asked->peaks;
    if (tp_dims_reserve(asked->room, analysed, pass->err) != TP_OK)
        return TP_E_MEMORY;
    if (analysed == 0)
        return TP_OK;
    for (int i = 0; i < 2; i++) {
        if (!asked->ranker[i])
            asked->ranker[i] = tp_dim_ranker_new();
        if (!asked->ranker[i])
            return tp_fail_memory(pass->err);
    }
    if (asked->peaks) {
        const enum tp_status status = judge_axes(asked, &notable);
        if (status != TP_OK || !notable)
            return status;
        asked->room->dims.count = 0;
    }
    return read_cells(asked);
}

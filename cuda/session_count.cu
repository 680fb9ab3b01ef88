/* SPDX-License-Identifier: MIT */
/*
 * What is counted of a stage, as launches of kernels, and how it comes back. A
 * range's counts stay on the device and are added to by each of its stages;
 * what is counted for the first time is cleared before, and only that is copied
 * back at the end, after which the lane waits once. Plans are sent once in a
 * range. Moments, which are sums of doubles, are kept for each call of fixed
 * length and merged by the host in their order, since adding them in any other
 * would change their last bits.
 *
 * Copying results after each stage would need no state between stages, but a
 * wait for each. Small tensors go in batches of lists, with two waits: the
 * number of entries is known only after the count. Work on the host is a few
 * launches a stage, and at the end one addition for each count.
 */
#include "cuda/session_state.cuh"

#include <cstring>

#include "cuda/kernels.h"

using namespace tp_session;

/* --- to and from the device ----------------------------------------------- */

namespace {

/* The same codes on the device. */
const void *on_device(const Lane *lane, const void *codes)
{
    return lane->codes + (static_cast<const unsigned char *>(codes) -
                          lane->stages[lane->stage].bytes.host);
}

bool send(const tp_device_lane *at, void *to, const void *from, size_t bytes)
{
    return check(at->session,
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice,
                                 lane_of(at)->place.stream));
}

bool fetch(const tp_device_lane *at, void *to, const void *from, size_t bytes)
{
    return check(at->session,
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost,
                                 lane_of(at)->place.stream));
}

bool clear(const tp_device_lane *at, void *what, size_t bytes)
{
    return check(at->session, cudaMemsetAsync(what, 0, bytes,
                                              lane_of(at)->place.stream));
}

/* Notes that `what` is counted; whether it is for the first time. */
bool is_first(Lane *lane, unsigned what)
{
    const bool first = !(lane->what & what);
    lane->what |= what;
    return first;
}

/* Begins to count into `n` totals, unless that was done. */
bool begin_totals(const tp_device_lane *at, unsigned what, size_t n)
{
    Lane *lane = lane_of(at);
    if (!is_first(lane, what))
        return true;
    lane->totals = n;
    return clear(at, lane->back.device->totals, n * sizeof(uint64_t));
}

/* Puts a plan where a kernel reads it; it is the same for the whole range. */
template <class T>
bool send_plan(const tp_device_lane *at, T *to, T *pinned, const T *plan)
{
    *pinned = *plan;
    return send(at, to, pinned, sizeof *plan);
}

}

bool tp_device_gather(const tp_device_lane *at, const tp_device_view *view,
                      uint64_t first, uint64_t n)
{
    Lane *lane = lane_of(at);
    struct tp_kernel_view made = {};
    static_assert(sizeof made.shape == sizeof made.stride, "axes");
    made.codes = lane->codes + view->origin;
    made.size = view->size;
    made.ndim = view->ndim;
    for (int i = 0; i < view->ndim; i++) {
        made.shape[i] = static_cast<uint64_t>(view->shape[i]);
        made.stride[i] = view->stride[i];
    }
    lane->codes = lane->gathered;
    return !is_lost(at) &&
           check(at->session, tp_kernel_gather(&lane->place, &made, first, n,
                                               lane->gathered));
}

/* --- what is counted ------------------------------------------------------ */

bool tp_device_codes(const tp_device_lane *at, const tp_span *span)
{
    Lane *lane = lane_of(at);
    tp_span device = *span;
    device.codes = on_device(lane, span->codes);
    const size_t codes = tp_dtype_info(span->dtype)->size == 1
                             ? size_t{256}
                             : static_cast<size_t>(TP_CODES);
    return !is_lost(at) && begin_totals(at, CODES, codes) &&
           check(at->session, tp_kernel_codes(&lane->place, &device,
                                              lane->back.device->totals));
}

bool tp_device_values(const tp_device_lane *at, const tp_span *span,
                      const tp_judge *judge, unsigned wanted)
{
    Lane *lane = lane_of(at);
    struct tp_kernel_values job = {};
    job.span = *span;
    job.span.codes = on_device(lane, span->codes);
    job.judge = *judge;
    job.per_call = at->session->options.call / tp_dtype_info(span->dtype)->size;
    job.blocks = reinterpret_cast<tp_values *>(lane->scratch);
    job.calls = lane->calls.device + lane->call_count;
    lane->call_count += (span->n + job.per_call - 1) / job.per_call;
    if (is_lost(at) ||
        !check(at->session, tp_kernel_values(&lane->place, &job)))
        return false;
    if (wanted & TP_DEVICE_TOP_DIGITS &&
        (!begin_totals(at, VALUES, TP_SELECT_TOP) ||
         !check(at->session, tp_kernel_top(&lane->place, &job.span,
                                           lane->back.device->totals))))
        return false;
    if (!(wanted & TP_DEVICE_SUMMARY_BINS))
        return true;
    uint64_t *to = lane->back.device->bins;
    return (!is_first(lane, BINS) ||
            clear(at, to, sizeof lane->back.device->bins)) &&
           check(at->session, tp_kernel_bins(&lane->place, &job.span, to));
}

bool tp_device_float_bins(const tp_device_lane *at, const tp_span *span)
{
    Lane *lane = lane_of(at);
    tp_span device = *span;
    device.codes = on_device(lane, span->codes);
    tp_float_bin *to = lane->float_bins.device;
    return !is_lost(at) &&
           (!is_first(lane, FLOAT_BINS) ||
            clear(at, to, TP_FLOAT_BINS * sizeof *to)) &&
           check(at->session, tp_kernel_float_bins(&lane->place, &device, to));
}

/* Totals of a reading. */
static size_t totals_of(const tp_select *select)
{
    return select->next == TP_SELECT_GATHER
               ? size_t{1} + TP_SELECT_SMALL
               : static_cast<size_t>(select->groups) << select->digit;
}

bool tp_device_select(const tp_device_lane *at, const tp_span *span,
                      const tp_select *select)
{
    Lane *lane = lane_of(at);
    const bool first = !(lane->what & SELECT);
    if (is_lost(at) || !begin_totals(at, SELECT, totals_of(select)))
        return false;
    if (first && !send_plan(at, &lane->plans.device->select,
                            &lane->plans.host->select, select))
        return false;
    struct tp_kernel_select job = {};
    job.select = &lane->plans.device->select;
    job.host = select;
    job.span = *span;
    job.span.codes = on_device(lane, span->codes);
    job.totals = lane->back.device->totals;
    return check(at->session, tp_kernel_select(&lane->place, &job));
}

bool tp_device_blocks(const tp_device_lane *at, const tp_block_plan *plan,
                      const tp_block_rows *rows)
{
    Lane *lane = lane_of(at);
    tp_block_counts *counts = &lane->back.device->blocks;
    const bool first = is_first(lane, BLOCKS);
    if (is_lost(at))
        return false;
    if (first && (!send_plan(at, &lane->plans.device->blocks,
                             &lane->plans.host->blocks, plan) ||
                  !clear(at, counts, sizeof *counts)))
        return false;
    struct tp_kernel_blocks job = {};
    job.plan = &lane->plans.device->blocks;
    job.code_size = plan->code_size;
    job.block = plan->block;
    job.codes = on_device(lane, rows->codes);
    job.rows = rows->rows;
    job.row_length = rows->row_length;
    job.columns = rows->columns;
    job.counts = counts;
    return check(at->session, tp_kernel_blocks(&lane->place, &job));
}

namespace {

/* Begins to use a tally, unless that was done. */
template <class T>
bool begin_tally(const tp_device_lane *at, Tallies<T> *tallies, size_t number,
                 const tp_tally_plan *plan)
{
    Pair<Planned<T>> *tally = &tallies->of[number];
    const uint64_t bit = uint64_t{1} << number;
    if (is_lost(at))
        return false;
    if (!(tallies->in_use & bit) &&
        !send_plan(at, &tally->device->plan, &tally->host->plan, plan))
        return false;
    tallies->in_use |= bit;
    return true;
}

/* What a kernel takes of rows that are tallied by a plan of the device. */
tp_kernel_tally_rows rows_of(const Lane *lane, const tp_tally_plan *plan,
                             const tp_block_rows *rows)
{
    return {plan, on_device(lane, rows->codes), rows->rows, rows->row_length,
            rows->columns};
}

}

bool tp_device_tally(const tp_device_lane *at, size_t number,
                     const tp_tally_plan *plan, const tp_block_rows *rows)
{
    Lane *lane = lane_of(at);
    Planned<tp_tally> *to = lane->tallies.of[number].device;
    const tp_kernel_tally_rows job = rows_of(lane, &to->plan, rows);
    return begin_tally(at, &lane->tallies, number, plan) &&
           check(at->session,
                 tp_kernel_tally(&lane->place, &job,
                                 tp_dtype_info(plan->blocks.dtype)->size,
                                 &to->tally));
}

bool tp_device_float_tally(const tp_device_lane *at, size_t number,
                           const tp_tally_plan *plan,
                           const tp_block_rows *rows)
{
    Lane *lane = lane_of(at);
    Planned<tp_float_tally> *to = lane->float_tallies.of[number].device;
    const tp_kernel_tally_rows job = rows_of(lane, &to->plan, rows);
    return begin_tally(at, &lane->float_tallies, number, plan) &&
           check(at->session,
                 tp_kernel_float_tally(&lane->place, &job, &to->tally));
}

/* --- statistics by index -------------------------------------------------- */

namespace {

/* Doubles of the cells of so many rows and columns. */
size_t cells_of(size_t rows, size_t columns)
{
    static_assert(sizeof(tp_dim_cell) == 5 * sizeof(double), "cells");
    return 5 * (rows + columns);
}

}

bool tp_device_dims_fit(const tp_device_lane *at, const tp_device_matrix *dims,
                        size_t stage_rows)
{
    const tp_device_options &options = at->session->options;
    const tp_dim_matrix *matrix = &dims->matrix;
    struct tp_kernel_dims job = {};
    job.matrix = *matrix;
    job.matrix.rows = stage_rows;
    job.height = dims->height;
    return cells_of(matrix->rows, matrix->columns) <= cells_room(options) &&
           tp_kernel_dims_room(&job) * sizeof(tp_dim_cell) <=
               scratch_room(options);
}

bool tp_device_dims(const tp_device_lane *at, const tp_device_matrix *dims)
{
    Lane *lane = lane_of(at);
    const tp_dim_matrix *matrix = &dims->matrix;
    double *const columns = lane->cells.device;
    const size_t done = cells_of(lane->rows, matrix->columns);
    double *const rows = columns + done;
    const bool first = is_first(lane, DIMS);
    struct tp_kernel_dims job = {};
    job.matrix = *matrix;
    job.matrix.codes = on_device(lane, matrix->codes);
    job.height = dims->height;
    tp_dim_cells_place(&job.columns, matrix->columns, columns);
    job.rows = reinterpret_cast<tp_dim_cell *>(rows);
    job.scratch = reinterpret_cast<tp_dim_cell *>(lane->scratch);
    lane->rows += matrix->rows;
    lane->columns = matrix->columns;
    return !is_lost(at) &&
           (!first || clear(at, columns, done * sizeof *columns)) &&
           clear(at, rows, cells_of(matrix->rows, 0) * sizeof *rows) &&
           check(at->session, tp_kernel_dims(&lane->place, &job));
}

/* --- small tensors -------------------------------------------------------- */

namespace {

/* Describes the tensors; returns how many bytes of the batch they take. */
size_t describe(const Lane *lane, const struct tp_device_list *lists,
                size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t offset = static_cast<size_t>(
            static_cast<const unsigned char *>(lists[i].codes) -
            lane->batch);
        const size_t bytes = size_t{lists[i].n} * lists[i].code_size;
        lane->lists.host[i] = {offset, lists[i].n, lists[i].code_size, 0, 0};
        end = offset + bytes > end ? offset + bytes : end;
    }
    return end;
}

bool wait(const tp_device_lane *at)
{
    return check(at->session,
                 cudaStreamSynchronize(lane_of(at)->place.stream));
}

}

bool tp_device_lists(const tp_device_lane *at, struct tp_device_list *lists,
                     size_t count)
{
    Lane *lane = lane_of(at);
    const size_t bytes = describe(lane, lists, count);
    const size_t size = count * sizeof *lane->lists.host;
    uint32_t *entries = lane->entries;
    unsigned char *codes = lane->stages[0].bytes.device;
    struct tp_kernel_lists job = {};
    job.codes = codes;
    job.lists = lane->lists.device;
    job.count = static_cast<uint32_t>(count);
    job.entries = reinterpret_cast<uint32_t *>(lane->scratch);
    if (is_lost(at) || !send(at, codes, lane->batch, bytes) ||
        !send(at, lane->lists.device, lane->lists.host, size) ||
        !check(at->session, tp_kernel_lists(&lane->place, &job)) ||
        !fetch(at, lane->lists.host, lane->lists.device, size) ||
        !fetch(at, entries, job.entries, sizeof *entries) || !wait(at) ||
        !fetch(at, entries, job.entries, (1 + *entries) * sizeof *entries) ||
        !wait(at))
        return false;
    for (size_t i = 0; i < count; i++) {
        lists[i].entries = entries + lane->lists.host[i].first;
        lists[i].length = lane->lists.host[i].length;
    }
    return true;
}

/* --- what comes back ------------------------------------------------------ */

namespace {

int move(const tp_kernel_place *place, tp_tally *from, tp_tally *to)
{
    return tp_kernel_tally_move(place, from, to);
}

int move(const tp_kernel_place *place, tp_float_tally *from, tp_float_tally *to)
{
    return tp_kernel_float_tally_move(place, from, to);
}

template <class T>
bool fetch_tallies(const tp_device_lane *at, Tallies<T> *tallies)
{
    bool ok = true;
    for (size_t i = 0; i < TALLIES && ok; i++)
        if (tallies->in_use >> i & 1)
            ok = check(at->session,
                       move(&lane_of(at)->place,
                            &tallies->of[i].device->tally,
                            &tallies->of[i].host->tally));
    return ok;
}

bool fetch_results(const tp_device_lane *at)
{
    Lane *lane = lane_of(at);
    Back *back = lane->back.device, *host = lane->back.host;
    const size_t cells = cells_of(lane->rows, lane->columns);
    return (lane->totals == 0 ||
            fetch(at, host->totals, back->totals,
                  lane->totals * sizeof(uint64_t))) &&
           (!(lane->what & BINS) ||
            fetch(at, host->bins, back->bins, sizeof host->bins)) &&
           (!(lane->what & BLOCKS) ||
            fetch(at, &host->blocks, &back->blocks, sizeof host->blocks)) &&
           (lane->call_count == 0 ||
            fetch(at, lane->calls.host, lane->calls.device,
                  lane->call_count * sizeof(tp_values))) &&
           (cells == 0 || fetch(at, lane->cells.host, lane->cells.device,
                                cells * sizeof(double))) &&
           (!(lane->what & FLOAT_BINS) ||
            fetch(at, lane->float_bins.host, lane->float_bins.device,
                  TP_FLOAT_BINS * sizeof(tp_float_bin))) &&
           fetch_tallies(at, &lane->tallies) &&
           fetch_tallies(at, &lane->float_tallies);
}

void add(uint64_t *into, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] += from[i];
}

}

bool tp_device_end(const tp_device_lane *at)
{
    Lane *lane = lane_of(at);
    bool ok = !is_lost(at) && fetch_results(at);
    lane->sent = false;
    /* always: buffers must not be written while they are read from */
    ok = check(at->session, cudaStreamSynchronize(lane->copy)) && ok;
    return check(at->session, cudaStreamSynchronize(lane->place.stream)) && ok;
}

void tp_device_take(const tp_device_lane *at, const tp_device_results *results)
{
    const Lane *lane = lane_of(at);
    const Back *back = lane->back.host;
    if (results->totals && lane->what & SELECT)
        tp_select_add(&lane->plans.host->select, back->totals,
                      results->totals);
    else if (results->totals)
        add(results->totals, back->totals, lane->totals);
    if (lane->what & BINS && results->bins)
        add(results->bins, back->bins, TP_SUMMARY_BINS);
    if (lane->what & BLOCKS && results->blocks)
        tp_block_counts_merge(results->blocks, &back->blocks, 1);
    if (lane->what & FLOAT_BINS && results->float_bins)
        tp_float_bins_flush(lane->float_bins.host, TP_FLOAT_BINS,
                            results->float_bins);
    for (size_t i = 0; i < lane->call_count && results->values; i++)
        tp_values_merge(results->values, &lane->calls.host[i]);
}

void tp_device_take_tally(const tp_device_lane *at, size_t tally,
                          tp_tally *into)
{
    Tallies<tp_tally> *tallies = &lane_of(at)->tallies;
    tp_tally_flush(&tallies->of[tally].host->tally, into);
    tallies->in_use &= ~(uint64_t{1} << tally);
}

void tp_device_take_float_tally(const tp_device_lane *at, size_t tally,
                                tp_float_tally_total *into)
{
    Tallies<tp_float_tally> *tallies = &lane_of(at)->float_tallies;
    tp_float_tally_flush(&tallies->of[tally].host->tally, into);
    tallies->in_use &= ~(uint64_t{1} << tally);
}

void tp_device_take_dims(const tp_device_lane *at, tp_dim_cells *columns,
                         const tp_dim_cell **rows)
{
    const Lane *lane = lane_of(at);
    double *const cells = lane->cells.host;
    tp_dim_cells_place(columns, lane->columns, cells);
    *rows = reinterpret_cast<const tp_dim_cell *>(cells +
                                                  cells_of(0, lane->columns));
}

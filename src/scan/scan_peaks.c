/* SPDX-License-Identifier: MIT */
/*
 * A tensor is read in the order of its storage, so that a piece is the end of a
 * row, some rows, and the begin of one: a row is all indices of the last axes
 * (the columns), as many axes as fill LEAST_BYTES. Each row and each column has
 * two codes. A scratch has the rows of its range and all columns; when a range
 * ends, they are added to the totals, of integers in any order. At the end rows
 * are folded to the axes before the columns, and columns to those among them.
 *
 * Rows of all axes but one, as dim_slab.c has them, would need cells for all of
 * them in each range; here two codes are at most a twentieth of it. An axis as
 * long as that is left to the reading that knows slabs.
 */
#include "scan/scan_peaks.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Rows of fewer bytes are as costly to close as to read, */
    LEAST_BYTES = 256,
    /* and of fewer than this are not taken at all, unless they are in memory
     * together. */
    LEAST_ROW = 64,
    /* Most columns, whose codes are added to the totals for each range: a
     * sixteenth of what that has. */
    MOST_COLUMN_BYTES = 1 << 20,
    /* Most there is to keep of a tensor. */
    MOST_BYTES = 16 << 20,
    /* The unit of a scratch. */
    UNIT = 64,
    /* Cells that a ranker is shown at once. */
    CELLS = 256
};

/* Begins a scratch; its codes follow. */
struct held {
    int64_t first, count; /* rows that are in use; 0: none yet             */
};

/* --- which rows ----------------------------------------------------------- */

static int64_t length_of(const struct tp_slab_plan *plan, int first, int end)
{
    int64_t length = 1;
    for (int i = first; i < end; i++)
        length *= plan->axes[i].length;
    return length;
}

/* Chooses columns; false: there are none that are worth while. */
static bool choose_columns(struct tp_peak_sum *sum, const struct tp_pass *pass,
                           bool small)
{
    struct tp_slab_plan *plan = &sum->plan;
    const int64_t size = (int64_t)pass->size;
    plan->inner = plan->count;
    sum->columns = 1;
    while (plan->inner > 0 && sum->columns * size < LEAST_BYTES)
        sum->columns *= plan->axes[--plan->inner].length;
    sum->rows = pass->walk.count / sum->columns;
    sum->held = (int64_t)TP_RANGE_BYTES / (sum->columns * size) + 2;
    sum->held = sum->held < sum->rows ? sum->held : sum->rows;
    return small || (sum->columns * size >= LEAST_ROW &&
                     sum->columns * size <= MOST_COLUMN_BYTES &&
                     2 * size * (sum->columns + sum->rows) <= MOST_BYTES);
}

/* Lays out the codes of so many rows, and of all columns. */
static struct tp_peak_slices place(const struct tp_peak_sum *sum, int64_t rows,
                                   unsigned char *memory)
{
    const size_t down = (size_t)rows * sum->size;
    unsigned char *columns = memory + 2 * down;
    return (struct tp_peak_slices){
        .row = {memory, memory + down},
        .column = {columns, columns + (size_t)sum->columns * sum->size}};
}

enum tp_status tp_peaks_begin(struct tp_peak_sum *sum,
                              const struct tp_pass *pass, bool small)
{
    memset(sum, 0, sizeof *sum);
    if (pass->parts > 1 || pass->device || !tp_peaks_apply(pass->real))
        return TP_OK;
    sum->size = pass->size;
    tp_slab_plan_make(&sum->plan, pass, true);
    if (sum->plan.axes[0].number < 0 || !choose_columns(sum, pass, small))
        return TP_OK;
    sum->memory =
        calloc((size_t)(sum->rows + sum->columns), 2 * pass->size);
    if (!sum->memory)
        return tp_fail_memory(pass->err);
    sum->total = place(sum, sum->rows, sum->memory);
    return TP_OK;
}

void tp_peaks_clear(struct tp_peak_sum *sum)
{
    free(sum->memory);
    sum->memory = NULL;
}

size_t tp_peak_units(const struct tp_peak_sum *sum)
{
    const size_t codes = (size_t)(sum->held + sum->columns) * 2 * sum->size;
    return sum->memory ? 1 + (codes + UNIT - 1) / UNIT : 0;
}

/* --- the sink ------------------------------------------------------------- */

/* A scratch under way. */
struct taking {
    const struct tp_peak_sum *sum;
    const struct tp_pass *pass;
    struct tp_peak_slices held;
    int64_t first; /* row of them                                          */
};

/* Adds n codes from element `at` on: parts of one row, or whole rows. */
static void take(const struct taking *t, const unsigned char *codes, int64_t at,
                 int64_t n)
{
    const size_t size = t->pass->size;
    const int64_t columns = t->sum->columns;
    const bool whole = n >= columns;
    const struct tp_peaks
        row = tp_peaks_from(&t->held.row, size,
                            (size_t)(at / columns - t->first)),
        column = tp_peaks_from(&t->held.column, size, (size_t)(at % columns));
    const struct tp_peak_rows rows = {
        .isa = t->pass->readers->isa,
        .size = size,
        .codes = codes,
        .rows = whole ? (size_t)(n / columns) : 1,
        .width = whole ? (size_t)columns : (size_t)n};
    tp_peaks_add(&rows, &row, &column);
}

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    struct held *held = scratch;
    struct taking t = {.sum = state, .pass = pass};
    const struct tp_span span = tp_piece_span(pass, piece);
    const unsigned char *codes = span.codes;
    const int64_t columns = t.sum->columns;
    (void)part;
    if (span.n == 0)
        return;
    t.held = place(t.sum, t.sum->held, (unsigned char *)scratch + UNIT);
    if (held->count == 0)
        held->first = piece->fresh / columns;
    held->count = (piece->end - 1) / columns + 1 - held->first;
    t.first = held->first;
    for (int64_t at = piece->fresh, n; at < piece->end; at += n) {
        const int64_t left = piece->end - at;
        n = columns - at % columns; /* of the row */
        if (n == columns && left >= columns)
            n = left / columns * columns;
        n = n < left ? n : left;
        take(&t, codes, at, n);
        codes += (size_t)n * pass->size;
    }
}

static void flush(void *state, void *scratch)
{
    const struct tp_peak_sum *sum = state;
    const size_t size = sum->size, columns = (size_t)sum->columns;
    struct held *held = scratch;
    const size_t rows = (size_t)held->count;
    if (rows == 0)
        return;
    const struct tp_peak_slices its =
        place(sum, sum->held, (unsigned char *)scratch + UNIT);
    const struct tp_peaks into =
        tp_peaks_from(&sum->total.row, size, (size_t)held->first);
    tp_peaks_merge(size, &into, &its.row, rows);
    tp_peaks_merge(size, &sum->total.column, &its.column, columns);
    memset(its.row.top, 0, rows * size);
    memset(its.row.low, 0, rows * size);
    memset(its.column.top, 0, 2 * columns * size);
    memset(held, 0, sizeof *held);
}

const struct tp_sink tp_sink_peaks = {
    .scratch_size = UNIT, .piece = take_piece, .flush = flush};

/* --- what a ranker is shown ----------------------------------------------- */

/* Slices [outer][length][inner] of one kind, of which an axis is the middle. */
struct view {
    const struct tp_peaks *peaks;
    int64_t outer, length, inner;
};

static struct view view_of(const struct tp_peak_sum *sum, int axis)
{
    const struct tp_slab_plan *plan = &sum->plan;
    const bool row = axis < plan->inner;
    const int first = row ? 0 : plan->inner;
    const int end = row ? plan->inner : plan->count;
    return (struct view){row ? &sum->total.row : &sum->total.column,
                         length_of(plan, first, axis),
                         plan->axes[axis].length,
                         length_of(plan, axis + 1, end)};
}

/* Folds all slices of each index of the axis to one. */
static void fold_view(const struct view *view, size_t size,
                      const struct tp_peaks *to)
{
    const size_t inner = (size_t)view->inner, length = (size_t)view->length;
    for (size_t o = 0; o < (size_t)view->outer; o++) {
        struct tp_peaks from =
            tp_peaks_from(view->peaks, size, o * length * inner);
        if (inner == 1)
            tp_peaks_merge(size, to, &from, length);
        for (size_t i = 0; i < length && inner > 1; i++) {
            const struct tp_peaks its = tp_peaks_from(to, size, i);
            tp_peaks_fold(size, &its, &from, inner);
            from = tp_peaks_from(&from, size, inner);
        }
    }
}

/* Shows n slices as cells without means. */
static void show(const struct tp_peaks *peaks, const struct tp_pass *pass,
                 size_t n, double values, struct tp_dim_ranker *ranker)
{
    double count[CELLS], zero[CELLS] = {0}, min[CELLS], max[CELLS];
    for (size_t i = 0; i < CELLS; i++)
        count[i] = values;
    for (size_t at = 0; at < n; at += CELLS) {
        const size_t some = n - at < CELLS ? n - at : CELLS;
        const struct tp_peaks its = tp_peaks_from(peaks, pass->size, at);
        const struct tp_dim_cells cells = {some, count, zero, zero, min, max};
        tp_peaks_values(pass->real, &its, some, max, min);
        tp_dim_ranker_add(ranker, &cells);
    }
}

enum tp_status tp_peaks_rank(const struct tp_peak_sum *sum,
                             const struct tp_pass *pass, int axis,
                             struct tp_dim_ranker *ranker)
{
    const struct view view = view_of(sum, axis);
    const size_t length = (size_t)view.length;
    const double values = (double)(pass->walk.count / view.length);
    if (view.outer == 1 && view.inner == 1) {
        show(view.peaks, pass, length, values, ranker);
        return TP_OK;
    }
    unsigned char *memory = calloc(length, 2 * pass->size);
    if (!memory)
        return tp_fail_memory(pass->err);
    const struct tp_peaks folded = {memory, memory + length * pass->size};
    fold_view(&view, pass->size, &folded);
    show(&folded, pass, length, values, ranker);
    free(memory);
    return TP_OK;
}

struct tp_dim_cell tp_peaks_all(const struct tp_peak_sum *sum,
                                const struct tp_pass *pass)
{
    unsigned char top[8] = {0}, low[8] = {0};
    const struct tp_peaks all = {top, low};
    struct tp_dim_cell cell = {.n = (double)pass->walk.count};
    tp_peaks_fold(pass->size, &all, &sum->total.column,
                  (size_t)sum->columns);
    tp_peaks_values(pass->real, &all, 1, &cell.max, &cell.min);
    return cell;
}

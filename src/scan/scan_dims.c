/* SPDX-License-Identifier: MIT */
#include "scan/pass.h"

#include <stdlib.h>
#include <string.h>

/*
 * Dim-wise statistics: a reading of their own after the others (small tensors
 * are still in memory).
 *
 * The axes the walk loops over are taken in storage order, fastest last. The
 * last ones are joined to columns (the parts of complex numbers are one more
 * axis there), all before them are rows; a matrix of rows and columns is
 * added to both at once. A row is then added to the index of the axis before
 * the columns, and all rows of one index of the next axis, once they are
 * together, to that, and so on. So one reading serves all axes, and each
 * element is touched once.
 *
 * A large tensor is cut into slabs along one axis. A slab has cells of its
 * own, which are merged in order. Of the axis that is cut, no two slabs share
 * an index: it is ranked slab by slab, and its cells are never there all at
 * once. An axis that is longer than LONG is always the one that is cut: of
 * the others none is longer than the root of the number of elements.
 *
 * Axes of stride 0 are not walked: all their indices are the same.
 */
enum {
    /* The longest axis whose cells (40 bytes each) are kept as a whole where
     * another axis can be cut. */
    LONG = 1 << 16,
    /* Slabs under way take no more than this together, but for a single one:
     * their cells grow with the root of the number of elements. */
    WAVE_BYTES = 64 << 20,
    /* Rows of which the columns are added up at once. Merging them into the
     * cells costs as much as adding three rows. */
    TILE_ROWS = 16
};

struct axis {
    int number; /* of the tensor; -1: parts of complex numbers             */
    int64_t length, stride;
};

struct slab {
    int64_t length[TP_LIMIT_DIMS + 1]; /* of the axes; of one, its share    */
    struct tp_dim_cells cells[TP_LIMIT_DIMS + 1];
    struct tp_dim_cells columns; /* of the cells, where these are one axis  */
    double *memory;
};

struct dims {
    struct scan *scan;
    const unsigned char *codes; /* all of the walk, one slab; or NULL       */
    struct axis axes[TP_LIMIT_DIMS + 1];
    int count; /* of the axes                                              */
    int inner; /* the first that is among the columns                      */
    int cut;   /* the one that is cut                                      */
    int64_t share; /* of it in a slab                                       */
    int64_t scale; /* of the cells                                         */
    bool finite;
    struct slab whole; /* not the axis that is cut                         */
    struct tp_dim_cell all; /* everything, if `same`                        */
    bool same;         /* there are axes of stride 0                       */
    struct tp_dim_ranker *ranker[2]; /* of the axis that is cut; of others */
    struct slab *wave;
    size_t first_slab; /* of the wave                                      */
};

/* --- the plan ------------------------------------------------------------- */

/* As the walk sorts them; there is at least one. */
static void take_axes(struct dims *dims)
{
    const struct tp_tensor *tensor = dims->scan->tensor;
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->stride[i] == 0 || tensor->shape[i] == 1)
            continue;
        int at = dims->count++;
        for (; at > 0 && dims->axes[at - 1].stride < tensor->stride[i]; at--)
            dims->axes[at] = dims->axes[at - 1];
        dims->axes[at] =
            (struct axis){i, tensor->shape[i], tensor->stride[i]};
    }
    int64_t parts = (int64_t)dims->scan->parts;
    if (parts > 1 || dims->count == 0)
        dims->axes[dims->count++] = (struct axis){-1, parts, 0};
}

static uint64_t bytes_of_index(const struct dims *dims, int axis)
{
    const struct scan *scan = dims->scan;
    return (uint64_t)(scan->walk.count / dims->axes[axis].length) * scan->size;
}

static void choose_cut(struct dims *dims)
{
    int longest = 0, first = -1;
    for (int i = 0; i < dims->count && dims->axes[i].number >= 0; i++) {
        if (dims->axes[i].length > dims->axes[longest].length)
            longest = i;
        if (first < 0 && bytes_of_index(dims, i) <= RANGE_BYTES)
            first = i;
    }
    bool lengthy = dims->axes[longest].length > LONG;
    dims->cut = lengthy || first < 0 ? longest : first;
    const struct axis *cut = &dims->axes[dims->cut];
    dims->share = cut->length;
    if (cut->number < 0 || dims->codes) /* a single number, or in memory */
        return;
    uint64_t bytes = bytes_of_index(dims, dims->cut);
    int64_t share = bytes < RANGE_BYTES ? (int64_t)(RANGE_BYTES / bytes) : 1;
    share = share < LONG ? share : LONG;
    dims->share = share < cut->length ? share : cut->length;
}

static int64_t length_in_slab(const struct dims *dims, int axis)
{
    return axis == dims->cut ? dims->share : dims->axes[axis].length;
}

/* Columns are as many axes as fit a strip, and at least one. */
static void choose_columns(struct dims *dims)
{
    int64_t columns = 1;
    int at = dims->count;
    bool real = false;
    while (at > 0) {
        int64_t length = length_in_slab(dims, at - 1);
        if (real && columns * length > TP_DIM_STRIP)
            break;
        columns *= length;
        at--;
        real = real || dims->axes[at].number >= 0;
    }
    dims->inner = at;
}

/* --- slabs ---------------------------------------------------------------- */

/* How many columns a slab has, in real numbers. */
static int64_t columns_of(const struct dims *dims, const struct slab *slab)
{
    int64_t columns = 1;
    for (int i = dims->inner; i < dims->count; i++)
        columns *= slab->length[i];
    return columns;
}

static bool columns_are_an_axis(const struct dims *dims)
{
    return dims->inner == dims->count - 1;
}

/* Doubles of all cells of a slab. */
static size_t cells_of(const struct dims *dims, const struct slab *slab)
{
    size_t room = 0;
    for (int i = 0; i < dims->count; i++)
        room += tp_dim_cells_room((size_t)slab->length[i]);
    if (!columns_are_an_axis(dims))
        room += tp_dim_cells_room((size_t)columns_of(dims, slab));
    return room;
}

/* Lays out the cells of a slab, all zero; in the memory it has, if any, since
 * no slab is larger than the first. */
static bool lay_out(const struct dims *dims, struct slab *slab)
{
    size_t room = cells_of(dims, slab);
    if (slab->memory)
        memset(slab->memory, 0, room * sizeof *slab->memory);
    else
        slab->memory = calloc(room, sizeof *slab->memory);
    double *at = slab->memory;
    if (!at)
        return false;
    for (int i = 0; i < dims->count; i++) {
        tp_dim_cells_place(&slab->cells[i], (size_t)slab->length[i], at);
        at += tp_dim_cells_room((size_t)slab->length[i]);
    }
    if (columns_are_an_axis(dims))
        slab->columns = slab->cells[dims->inner];
    else
        tp_dim_cells_place(&slab->columns, (size_t)columns_of(dims, slab), at);
    return true;
}

/* Where the rows have got to. */
struct rows {
    int64_t index[TP_LIMIT_DIMS];
    struct tp_dim_cell sum[TP_LIMIT_DIMS]; /* of the index of the axis before */
};

/* Adds a row, or rows of all indices beyond `axis`, to this axis, and what
 * that completes to those before it. */
static void add_row(struct slab *slab, int axis, struct rows *rows,
                    struct tp_dim_cell row)
{
    for (int i = axis; i >= 0; i--) {
        tp_dim_cells_add(&slab->cells[i], (size_t)rows->index[i], &row);
        if (i > 0)
            tp_dim_cell_merge(&rows->sum[i], &row);
        if (++rows->index[i] < slab->length[i])
            return;
        rows->index[i] = 0;
        row = rows->sum[i];
        rows->sum[i] = (struct tp_dim_cell){0};
    }
}

/* One slab under way. */
struct reading {
    const struct dims *dims;
    struct slab *slab;
    struct worker *worker;
    struct tp_walk walk;
    struct rows rows;
    int64_t columns; /* real numbers                                       */
    struct tp_error *err;
};

/* The codes of elements [first, first + n) of the slab. */
static enum tp_status fetch(struct reading *r, int64_t first, int64_t n,
                            const unsigned char **codes)
{
    const struct scan *scan = r->dims->scan;
    if (r->dims->codes) {
        *codes = r->dims->codes + (size_t)first * scan->size;
        return TP_OK;
    }
    *codes = r->worker->piece;
    enum tp_status status = tp_scan_go_on(scan->scanner, r->err);
    if (status != TP_OK)
        return status;
    return tp_walk_read(&r->walk, first, (size_t)n, r->worker->piece,
                        r->worker->walk, r->err);
}

static struct tp_dim_matrix matrix_of(const struct reading *r,
                                      const unsigned char *codes, size_t rows,
                                      size_t columns)
{
    const struct dims *dims = r->dims;
    return (struct tp_dim_matrix){.dtype = dims->scan->real,
                                  .scale = dims->scale,
                                  .finite = dims->finite,
                                  .codes = codes,
                                  .rows = rows,
                                  .columns = columns};
}

static size_t row_bytes(const struct reading *r)
{
    const struct scan *scan = r->dims->scan;
    return (size_t)r->columns / scan->parts * scan->size;
}

/* Rows of a piece: whole strips, where it holds more than one. */
static int64_t piece_rows(const struct reading *r)
{
    const int64_t rows = (int64_t)(PIECE_BYTES / row_bytes(r));
    return rows > TP_DIM_ROWS ? rows - rows % TP_DIM_ROWS : rows;
}

/* Rows of which many fit a piece, or that are in memory. */
static enum tp_status read_rows(struct reading *r, int64_t rows)
{
    const struct scan *scan = r->dims->scan;
    int64_t elements = r->columns / (int64_t)scan->parts;
    size_t bytes = row_bytes(r);
    int64_t step = r->dims->codes ? rows : piece_rows(r);
    for (int64_t at = 0; at < rows; at += step) {
        const unsigned char *codes;
        int64_t n = rows - at < step ? rows - at : step;
        enum tp_status status = fetch(r, at * elements, n * elements, &codes);
        if (status != TP_OK)
            return status;
        for (int64_t i = 0; i < n; i += TP_DIM_ROWS) {
            struct tp_dim_cell cells[TP_DIM_ROWS] = {{0}};
            int64_t some = n - i < TP_DIM_ROWS ? n - i : TP_DIM_ROWS;
            const struct tp_dim_matrix matrix =
                matrix_of(r, codes + (size_t)i * bytes, (size_t)some,
                          (size_t)r->columns);
            tp_dims_add(&matrix, &r->slab->columns, 0, cells);
            for (int64_t j = 0; j < some; j++)
                add_row(r->slab, r->dims->inner - 1, &r->rows, cells[j]);
        }
    }
    return TP_OK;
}

/* Short rows: those of one index of the axis before the last of them are seen
 * as columns, and the columns as rows. */
static enum tp_status read_short_rows(struct reading *r, int64_t rows)
{
    const struct scan *scan = r->dims->scan;
    int before = r->dims->inner - 1;
    int64_t length = r->slab->length[before];
    int64_t elements = r->columns / (int64_t)scan->parts;
    int64_t step = (int64_t)(PIECE_BYTES / scan->size) / elements;
    for (int64_t row = 0; row < rows; row += length) {
        struct tp_dim_cell all = {0};
        for (int64_t at = 0; at < length; at += step) {
            struct tp_dim_cell cells[TP_DIM_ACROSS] = {{0}};
            const unsigned char *codes;
            int64_t n = length - at < step ? length - at : step;
            enum tp_status status =
                fetch(r, (row + at) * elements, n * elements, &codes);
            if (status != TP_OK)
                return status;
            struct tp_dim_matrix matrix =
                matrix_of(r, codes, (size_t)r->columns, (size_t)n);
            matrix.across = true;
            tp_dims_add(&matrix, &r->slab->cells[before], (size_t)at, cells);
            for (int64_t i = 0; i < r->columns; i++) {
                tp_dim_cells_add(&r->slab->columns, (size_t)i, &cells[i]);
                tp_dim_cell_merge(&all, &cells[i]);
            }
        }
        add_row(r->slab, before - 1, &r->rows, all);
    }
    return TP_OK;
}

/* Reads columns [at, at + n) of some rows into one piece; in elements. */
static enum tp_status fetch_tile(struct reading *r, int64_t row, int64_t rows,
                                 int64_t at, int64_t n)
{
    const struct scan *scan = r->dims->scan;
    int64_t elements = r->columns / (int64_t)scan->parts;
    unsigned char *to = r->worker->piece;
    enum tp_status status = tp_scan_go_on(scan->scanner, r->err);
    for (int64_t i = 0; i < rows && status == TP_OK; i++) {
        status = tp_walk_read(&r->walk, (row + i) * elements + at, (size_t)n,
                              to, r->worker->walk, r->err);
        to += (size_t)n * scan->size;
    }
    return status;
}

/* Wide rows: some of them side by side, in tiles that fit a piece. */
static enum tp_status read_wide_rows(struct reading *r, int64_t rows)
{
    const struct scan *scan = r->dims->scan;
    int64_t elements = r->columns / (int64_t)scan->parts;
    int64_t step = (int64_t)(PIECE_BYTES / TILE_ROWS / scan->size);
    for (int64_t row = 0; row < rows; row += TILE_ROWS) {
        struct tp_dim_cell cells[TILE_ROWS] = {{0}};
        int64_t some = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
        for (int64_t at = 0; at < elements; at += step) {
            int64_t n = elements - at < step ? elements - at : step;
            enum tp_status status = fetch_tile(r, row, some, at, n);
            if (status != TP_OK)
                return status;
            const struct tp_dim_matrix matrix =
                matrix_of(r, r->worker->piece, (size_t)some,
                          (size_t)n * scan->parts);
            tp_dims_add(&matrix, &r->slab->columns,
                        (size_t)at * scan->parts, cells);
        }
        for (int64_t i = 0; i < some; i++)
            add_row(r->slab, r->dims->inner - 1, &r->rows, cells[i]);
    }
    return TP_OK;
}

/* --- rows that a device adds up ------------------------------------------- */

/* Rows as wide as read_wide_rows has them. */
static bool are_wide(const struct reading *r)
{
    return !r->dims->codes && row_bytes(r) > PIECE_BYTES / TILE_ROWS;
}

/* The rows of the slab for a device, in strips as high as those of the host;
 * false where they are not worth while or have no room. */
static bool plan_there(const struct reading *r, int64_t rows,
                       const struct scan_lane *lane,
                       struct tp_device_matrix *dims, int64_t *stage_rows)
{
    const size_t bytes = row_bytes(r);
    const int64_t height = are_wide(r) ? TILE_ROWS : piece_rows(r);
    *dims = (struct tp_device_matrix){
        .matrix = matrix_of(r, NULL, (size_t)rows, (size_t)r->columns),
        .height = height < TP_DIM_ROWS ? (size_t)height : TP_DIM_ROWS};
    *stage_rows = (int64_t)(STAGE_BYTES / bytes / dims->height * dims->height);
    *stage_rows = *stage_rows < rows ? *stage_rows : rows;
    /* what comes back is at most half of what is sent */
    return *stage_rows > 0 &&
           ((size_t)rows + (size_t)r->columns) * sizeof(struct tp_dim_cell) <=
               (size_t)rows * bytes / 2 &&
           tp_device_dims_fit(&lane->at, dims, (size_t)*stage_rows);
}

/* Has rows [first, end) added. */
static void send_rows(const struct reading *r, int64_t first, int64_t end,
                      const struct tp_device_matrix *all,
                      struct scan_lane *lane)
{
    const struct scan *scan = r->dims->scan;
    const int64_t elements = r->columns / (int64_t)scan->parts;
    const struct stage stage = {.walk = &r->walk,
                                .first = first * elements,
                                .end = end * elements};
    struct tp_device_matrix dims = *all;
    dims.matrix.codes = tp_scan_send(scan, &stage, r->worker, lane);
    dims.matrix.rows = (size_t)(end - first);
    lane->ok = dims.matrix.codes && tp_device_dims(&lane->at, &dims);
}

/* As read_rows and read_wide_rows; false when the device failed, or what is
 * there could not be read, and the host is to do it. */
static bool read_rows_there(struct reading *r, int64_t rows)
{
    struct tp_device_matrix dims;
    struct scan_lane lane;
    int64_t step;
    if (r->dims->codes || !tp_scan_lane(r->dims->scan, r->worker, &lane) ||
        !plan_there(r, rows, &lane, &dims, &step))
        return false;
    lane.ok = tp_device_begin(&lane.at);
    for (int64_t at = 0; at < rows && lane.ok; at += step)
        send_rows(r, at, at + step < rows ? at + step : rows, &dims, &lane);
    if (!tp_device_end(&lane.at) || !lane.ok)
        return false;
    struct tp_dim_cells columns;
    const struct tp_dim_cell *cells;
    tp_device_take_dims(&lane.at, &columns, &cells);
    tp_dim_cells_merge(&r->slab->columns, 0, &columns);
    for (int64_t i = 0; i < rows; i++)
        add_row(r->slab, r->dims->inner - 1, &r->rows, cells[i]);
    return true;
}

/* Adds columns that several axes were joined to, to each of these. */
static void part_columns(const struct dims *dims, struct slab *slab)
{
    for (size_t c = 0; c < slab->columns.length; c++) {
        const struct tp_dim_cell cell = tp_dim_cells_get(&slab->columns, c);
        int64_t left = (int64_t)c;
        for (int i = dims->count - 1; i >= dims->inner; i--) {
            tp_dim_cells_add(&slab->cells[i],
                             (size_t)(left % slab->length[i]), &cell);
            left /= slab->length[i];
        }
    }
}

/* Reads a slab into its cells, which are laid out. */
static enum tp_status read_slab(const struct dims *dims, size_t number,
                                struct slab *slab, unsigned worker,
                                struct tp_error *err)
{
    const struct scan *scan = dims->scan;
    struct tp_tensor part = *scan->tensor;
    const struct axis *cut = &dims->axes[dims->cut];
    if (cut->number >= 0) {
        part.shape[cut->number] = slab->length[dims->cut];
        part.offset += (int64_t)number * dims->share * cut->stride;
    }
    struct reading r = {.dims = dims,
                        .slab = slab,
                        .worker = &scan->scanner->workers[worker],
                        .columns = columns_of(dims, slab),
                        .err = err};
    tp_walk_any_order(&part, &r.walk);
    int64_t rows = 1;
    for (int i = 0; i < dims->inner; i++)
        rows *= slab->length[i];
    if (!tp_scan_provide(&r.worker->piece, PIECE_BYTES + EARLY_BYTES) ||
        (!r.walk.dense && !tp_scan_provide(&r.worker->walk, TP_CHUNK_BYTES)))
        return tp_fail_memory(err);
    bool narrow = dims->inner > 0 && r.columns <= TP_DIM_ACROSS;
    enum tp_status status = TP_OK;
    if (narrow)
        status = read_short_rows(&r, rows);
    else if (!read_rows_there(&r, rows))
        status = are_wide(&r) ? read_wide_rows(&r, rows) : read_rows(&r, rows);
    if (status == TP_OK && !columns_are_an_axis(dims))
        part_columns(dims, slab);
    return status;
}

/* Sets the lengths of slab `number`. */
static void measure_slab(const struct dims *dims, size_t number,
                         struct slab *slab)
{
    for (int i = 0; i < dims->count; i++)
        slab->length[i] = dims->axes[i].length;
    int64_t left = dims->axes[dims->cut].length -
                   (int64_t)number * dims->share;
    slab->length[dims->cut] = left < dims->share ? left : dims->share;
}

static void slab_task(void *context, size_t index, unsigned worker)
{
    struct dims *dims = context;
    struct slab *slab = &dims->wave[index];
    struct tp_error err = {.code = TP_OK};
    size_t number = dims->first_slab + index;
    measure_slab(dims, number, slab);
    enum tp_status status = lay_out(dims, slab)
                                ? read_slab(dims, number, slab, worker, &err)
                                : tp_fail_memory(&err);
    if (status != TP_OK)
        tp_scan_keep_error(dims->scan, number, status, &err);
}

/* Adds the cells of a slab to the whole, and ranks the axis that is cut. */
static void merge_slab(struct dims *dims, const struct slab *slab)
{
    for (int i = 0; i < dims->count; i++) {
        if (i != dims->cut)
            tp_dim_cells_merge(&dims->whole.cells[i], 0, &slab->cells[i]);
    }
    const struct tp_dim_cells *cells = &slab->cells[dims->cut];
    tp_dim_ranker_add(dims->ranker[0], cells);
    for (size_t i = 0; i < cells->length && dims->same; i++) {
        const struct tp_dim_cell cell = tp_dim_cells_get(cells, i);
        tp_dim_cell_merge(&dims->all, &cell);
    }
}

/* Slabs between two merges: enough to keep all workers busy. */
static size_t slabs_of_wave(const struct dims *dims, size_t slabs)
{
    struct slab first;
    measure_slab(dims, 0, &first);
    size_t fit = WAVE_BYTES / (cells_of(dims, &first) * sizeof(double));
    size_t room = 2 * (size_t)dims->scan->scanner->size;
    room = fit < room ? fit : room;
    room = slabs < room ? slabs : room;
    return room ? room : 1;
}

static enum tp_status read_slabs(struct dims *dims)
{
    struct scan *scan = dims->scan;
    int64_t length = dims->axes[dims->cut].length;
    size_t slabs = (size_t)((length + dims->share - 1) / dims->share);
    size_t room = slabs_of_wave(dims, slabs);
    dims->wave = calloc(room, sizeof *dims->wave);
    if (!dims->wave)
        return tp_fail_memory(scan->err);
    for (size_t done = 0; done < slabs && scan->status == TP_OK;) {
        size_t count = slabs - done < room ? slabs - done : room;
        dims->first_slab = done;
        if (slabs == 1)
            slab_task(dims, 0, scan->worker);
        else
            tp_pool_for(scan->scanner->pool, count, slab_task, dims);
        for (size_t i = 0; i < count; i++) {
            if (scan->status == TP_OK)
                merge_slab(dims, &dims->wave[i]);
        }
        done += count;
    }
    for (size_t i = 0; i < room; i++)
        free(dims->wave[i].memory);
    free(dims->wave);
    return scan->status;
}

/* --- results -------------------------------------------------------------- */

/* The walked axis that is this one of the tensor, or `count`. */
static int find_axis(const struct dims *dims, int number)
{
    int i = 0;
    while (i < dims->count && dims->axes[i].number != number)
        i++;
    return i;
}

static bool is_analysed(const struct tp_tensor *tensor, int axis)
{
    return tensor->shape[axis] > 1 &&
           tensor->numel / tensor->shape[axis] > 1;
}

/* Of the cells of a walked axis, or of all there is. */
static struct tp_dim_units units_of(const struct dims *dims, int axis)
{
    const struct scan *scan = dims->scan;
    uint64_t length =
        axis < dims->count && dims->axes[axis].number >= 0
            ? (uint64_t)dims->axes[axis].length : 1;
    return (struct tp_dim_units){.scale = dims->scale,
                                 .repeat = scan->walk.repeat,
                                 .values = scan->codes / length};
}

/* Ranks the indices of an axis of the tensor. */
static void finish_axis(struct dims *dims, size_t keep,
                        struct tp_dim_axis *axis, struct tp_dim_index *worst)
{
    const struct tp_tensor *tensor = dims->scan->tensor;
    int at = find_axis(dims, axis->axis);
    struct tp_dim_ranker *ranker = dims->ranker[at == dims->cut ? 0 : 1];
    struct tp_dim_units units = units_of(dims, at);
    uint64_t length = (uint64_t)tensor->shape[axis->axis];
    if (at == dims->count) {
        units.repeat /= length;
        tp_dim_ranker_begin(ranker, &units);
        tp_dim_ranker_add_same(ranker, &dims->all, length);
    } else if (at != dims->cut) {
        tp_dim_ranker_begin(ranker, &units);
        tp_dim_ranker_add(ranker, &dims->whole.cells[at]);
    }
    axis->kept = tp_dim_ranker_finish(ranker, keep, axis, worst);
    axis->worst = worst;
    axis->risk = tp_dim_risk_of(tensor->dtype, axis->ratio);
}

static void finish_axes(struct dims *dims, const struct tp_scan_request *asked)
{
    struct tp_dims_room *room = asked->dims;
    for (int i = 0; i < dims->scan->tensor->ndim; i++) {
        if (!is_analysed(dims->scan->tensor, i))
            continue;
        size_t number = room->dims.count++;
        struct tp_dim_axis *axis = &room->dims.axes[number];
        *axis = (struct tp_dim_axis){.axis = i};
        finish_axis(dims, asked->dims_keep, axis,
                    room->indices + number * TP_DIM_KEPT);
    }
}

static void set_up(struct dims *dims)
{
    const struct scan *scan = dims->scan;
    const struct tp_counts *counts = &scan->result->summary.counts;
    dims->finite = counts->nan + counts->pos_inf + counts->neg_inf == 0;
    dims->scale = scan->result->summary.moments.scale;
    dims->same = scan->walk.repeat > 1;
    take_axes(dims);
    choose_cut(dims);
    choose_columns(dims);
    const struct tp_dim_units units = units_of(dims, dims->cut);
    tp_dim_ranker_begin(dims->ranker[0], &units);
    for (int i = 0; i < dims->count; i++)
        dims->whole.length[i] = i == dims->cut ? 0 : dims->axes[i].length;
}

enum tp_status tp_scan_dims(struct scan *scan,
                            const struct tp_scan_request *asked,
                            const unsigned char *codes)
{
    struct worker *worker = &scan->scanner->workers[scan->worker];
    size_t analysed = 0;
    for (int i = 0; i < scan->tensor->ndim && scan->tensor->numel; i++)
        analysed += is_analysed(scan->tensor, i);
    if (tp_dims_reserve(asked->dims, analysed, scan->err) != TP_OK)
        return TP_E_MEMORY;
    if (analysed == 0)
        return TP_OK;
    struct dims dims = {.scan = scan, .codes = codes};
    for (int i = 0; i < 2; i++) {
        if (!worker->ranker[i])
            worker->ranker[i] = tp_dim_ranker_new();
        if (!worker->ranker[i])
            return tp_fail_memory(scan->err);
        dims.ranker[i] = worker->ranker[i];
    }
    set_up(&dims);
    if (!lay_out(&dims, &dims.whole))
        return tp_fail_memory(scan->err);
    enum tp_status status = read_slabs(&dims);
    if (status == TP_OK)
        finish_axes(&dims, asked);
    free(dims.whole.memory);
    return status;
}

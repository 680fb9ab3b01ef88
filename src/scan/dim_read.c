/* SPDX-License-Identifier: MIT */
#include "scan/dim_read.h"

#include "data/tensor_axes.h"
#include "scan/scan_device.h"

/*
 * A slab is read as a matrix, in the way that suits its shape: rows of which
 * many fit a piece by whole pieces; wide ones in tiles of TILE_ROWS rows side
 * by side, so that the cells of the columns are merged a sixteenth as often;
 * short ones seen as columns, since a row of a few values would be merged as
 * often as it is read. A device adds what the first two do, in strips of the
 * same heights: sums are those of the host, bit for bit. One loop for all
 * shapes would spend most of its time on merging cells of narrow and wide
 * ones.
 */
enum {
    /* Rows of which the columns are added up at once. Merging them into the
     * cells costs as much as adding three rows. */
    TILE_ROWS = 16
};

/* One slab under way. */
struct reading {
    const struct tp_dim_source *source;
    struct tp_slab *slab;
    struct tp_reader *reader;
    struct tp_walk walk;
    struct tp_slab_rows rows;
    int64_t columns; /* real numbers                                       */
    struct tp_error *err;
};

/* The codes of elements [first, first + n) of the slab. */
static enum tp_status fetch(struct reading *r, int64_t first, int64_t n,
                            const unsigned char **codes)
{
    const struct tp_pass *pass = r->source->pass;
    if (r->source->codes) {
        *codes = r->source->codes + (size_t)first * pass->size;
        return TP_OK;
    }
    *codes = r->reader->piece;
    enum tp_status status = tp_readers_go_on(pass->readers, r->err);
    if (status != TP_OK)
        return status;
    return tp_walk_read(&r->walk, first, (size_t)n, r->reader->piece,
                        r->reader->walk, r->err);
}

static struct tp_dim_matrix matrix_of(const struct reading *r,
                                      const unsigned char *codes, size_t rows,
                                      size_t columns)
{
    return (struct tp_dim_matrix){.dtype = r->source->pass->real,
                                  .isa = r->source->pass->readers->isa,
                                  .scale = r->source->scale,
                                  .finite = r->source->finite,
                                  .codes = codes,
                                  .rows = rows,
                                  .columns = columns};
}

static void add_row(struct reading *r, struct tp_dim_cell row)
{
    tp_slab_add_row(r->slab, r->source->plan->inner - 1, &r->rows, row);
}

static size_t row_bytes(const struct reading *r)
{
    const struct tp_pass *pass = r->source->pass;
    return (size_t)r->columns / pass->parts * pass->size;
}

/* Rows of a piece: whole strips, where it holds more than one. */
static int64_t piece_rows(const struct reading *r)
{
    const int64_t rows = (int64_t)(TP_PIECE_BYTES / row_bytes(r));
    return rows > TP_DIM_ROWS ? rows - rows % TP_DIM_ROWS : rows;
}

/* Rows of which many fit a piece, or that are in memory. */
static enum tp_status read_rows(struct reading *r, int64_t rows)
{
    const struct tp_pass *pass = r->source->pass;
    int64_t elements = r->columns / (int64_t)pass->parts;
    size_t bytes = row_bytes(r);
    int64_t step = r->source->codes ? rows : piece_rows(r);
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
                add_row(r, cells[j]);
        }
    }
    return TP_OK;
}

/* Short rows: those of one index of the axis before the last of them are seen
 * as columns, and the columns as rows. */
static enum tp_status read_short_rows(struct reading *r, int64_t rows)
{
    const struct tp_pass *pass = r->source->pass;
    int before = r->source->plan->inner - 1;
    int64_t length = r->slab->length[before];
    int64_t elements = r->columns / (int64_t)pass->parts;
    int64_t step = (int64_t)(TP_PIECE_BYTES / pass->size) / elements;
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
        tp_slab_add_row(r->slab, before - 1, &r->rows, all);
    }
    return TP_OK;
}

/* Reads columns [at, at + n) of some rows into one piece; in elements. */
static enum tp_status fetch_tile(struct reading *r, int64_t row, int64_t rows,
                                 int64_t at, int64_t n)
{
    const struct tp_pass *pass = r->source->pass;
    int64_t elements = r->columns / (int64_t)pass->parts;
    unsigned char *to = r->reader->piece;
    enum tp_status status = tp_readers_go_on(pass->readers, r->err);
    for (int64_t i = 0; i < rows && status == TP_OK; i++) {
        status = tp_walk_read(&r->walk, (row + i) * elements + at, (size_t)n,
                              to, r->reader->walk, r->err);
        to += (size_t)n * pass->size;
    }
    return status;
}

/* Wide rows: some of them side by side, in tiles that fit a piece. */
static enum tp_status read_wide_rows(struct reading *r, int64_t rows)
{
    const struct tp_pass *pass = r->source->pass;
    int64_t elements = r->columns / (int64_t)pass->parts;
    int64_t step = (int64_t)(TP_PIECE_BYTES / TILE_ROWS / pass->size);
    for (int64_t row = 0; row < rows; row += TILE_ROWS) {
        struct tp_dim_cell cells[TILE_ROWS] = {{0}};
        int64_t some = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
        for (int64_t at = 0; at < elements; at += step) {
            int64_t n = elements - at < step ? elements - at : step;
            enum tp_status status = fetch_tile(r, row, some, at, n);
            if (status != TP_OK)
                return status;
            const struct tp_dim_matrix matrix =
                matrix_of(r, r->reader->piece, (size_t)some,
                          (size_t)n * pass->parts);
            tp_dims_add(&matrix, &r->slab->columns,
                        (size_t)at * pass->parts, cells);
        }
        for (int64_t i = 0; i < some; i++)
            add_row(r, cells[i]);
    }
    return TP_OK;
}

/* --- rows that a device adds up ------------------------------------------- */

/* Rows as wide as read_wide_rows has them. */
static bool are_wide(const struct reading *r)
{
    return !r->source->codes && row_bytes(r) > TP_PIECE_BYTES / TILE_ROWS;
}

/* The rows of the slab for a device, in strips as high as those of the host;
 * false where they are not worth while or have no room. */
static bool plan_device(const struct reading *r, int64_t rows,
                        const struct tp_device_lane *lane,
                        struct tp_device_matrix *dims, int64_t *stage_rows)
{
    const size_t bytes = row_bytes(r);
    const int64_t height = are_wide(r) ? TILE_ROWS : piece_rows(r);
    *dims = (struct tp_device_matrix){
        .matrix = matrix_of(r, NULL, (size_t)rows, (size_t)r->columns),
        .height = height < TP_DIM_ROWS ? (size_t)height : TP_DIM_ROWS};
    *stage_rows =
        (int64_t)(TP_STAGE_BYTES / bytes / dims->height * dims->height);
    *stage_rows = *stage_rows < rows ? *stage_rows : rows;
    /* what comes back is at most half of what is sent */
    return *stage_rows > 0 &&
           ((size_t)rows + (size_t)r->columns) * sizeof(struct tp_dim_cell) <=
               (size_t)rows * bytes / 2 &&
           tp_device_dims_fit(lane, dims, (size_t)*stage_rows);
}

/* Has rows [first, end) added. */
static bool send_rows(const struct reading *r, int64_t first, int64_t end,
                      const struct tp_device_matrix *all,
                      const struct tp_device_lane *lane)
{
    const struct tp_pass *pass = r->source->pass;
    const int64_t elements = r->columns / (int64_t)pass->parts;
    const struct tp_stage stage = {.walk = &r->walk,
                                   .size = pass->size,
                                   .first = first * elements,
                                   .end = end * elements};
    struct tp_device_matrix dims = *all;
    dims.matrix.codes =
        tp_scan_device_send(pass->readers, r->reader, &stage, lane);
    dims.matrix.rows = (size_t)(end - first);
    return dims.matrix.codes && tp_device_dims(lane, &dims);
}

/* As read_rows and read_wide_rows; false when the device failed, or something
 * could not be read, and the host is to do it. */
static bool read_rows_device(struct reading *r, int64_t rows)
{
    struct tp_device_matrix dims;
    struct tp_device_lane lane;
    int64_t step;
    if (r->source->codes ||
        !tp_scan_device_lane(r->source->pass->readers, r->reader, &lane) ||
        !plan_device(r, rows, &lane, &dims, &step))
        return false;
    bool ok = tp_device_begin(&lane);
    for (int64_t at = 0; at < rows && ok; at += step)
        ok = send_rows(r, at, at + step < rows ? at + step : rows, &dims,
                       &lane);
    if (!tp_device_end(&lane) || !ok)
        return false;
    struct tp_dim_cells columns;
    const struct tp_dim_cell *cells;
    tp_device_take_dims(&lane, &columns, &cells);
    tp_dim_cells_merge(&r->slab->columns, 0, &columns);
    for (int64_t i = 0; i < rows; i++)
        add_row(r, cells[i]);
    return true;
}

/* The slab as a tensor with these axes. */
static struct tp_tensor tensor_of(const struct tp_dim_source *source,
                                  size_t number, const struct tp_slab *slab,
                                  struct tp_tensor_axes *axes)
{
    const struct tp_slab_plan *plan = source->plan;
    const struct tp_slab_axis *cut = &plan->axes[plan->cut];
    struct tp_tensor part = *source->pass->walk.tensor;
    if (cut->number >= 0) {
        tp_tensor_open_axes(&part, axes);
        axes->shape[cut->number] = slab->length[plan->cut];
        part.offset += (int64_t)number * plan->share * cut->stride;
    }
    return part;
}

enum tp_status tp_dim_read(const struct tp_dim_source *source, size_t number,
                           struct tp_slab *slab, struct tp_reader *reader,
                           struct tp_error *err)
{
    const struct tp_slab_plan *plan = source->plan;
    struct tp_tensor_axes axes;
    const struct tp_tensor part = tensor_of(source, number, slab, &axes);
    struct reading r = {.source = source,
                        .slab = slab,
                        .reader = reader,
                        .columns = tp_slab_columns(plan, slab),
                        .err = err};
    tp_walk_any_order(&part, &r.walk);
    int64_t rows = 1;
    for (int i = 0; i < plan->inner; i++)
        rows *= slab->length[i];
    enum tp_status status = tp_reader_prepare(reader, &r.walk, NULL, err);
    if (status != TP_OK)
        return status;
    if (plan->inner > 0 && r.columns <= TP_DIM_ACROSS)
        status = read_short_rows(&r, rows);
    else if (!read_rows_device(&r, rows))
        status = are_wide(&r) ? read_wide_rows(&r, rows) : read_rows(&r, rows);
    if (status == TP_OK)
        tp_slab_part_columns(plan, slab);
    return status;
}

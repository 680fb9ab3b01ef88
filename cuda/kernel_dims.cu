/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
extern "C" {
#include "data/dtype_math.h"
#include "stats/dims_math.h"
}

/*
 * Statistics by index, with the additions of src/stats/dims.c in their order.
 * A block takes a strip: each of its threads first has a column, then one of
 * the sums of a row. The cells of strips are scratch, which a second kernel
 * merges in order; atomic additions would need none, but round in any order.
 * The scratch is what a strip has of columns, and one cell for each row.
 */
namespace {

enum {
    THREADS = TP_DIM_STRIP,
    SUMS = THREADS / TP_DIM_ROWS, /* of a row                              */
    MERGERS = 128,
    PER_PROCESSOR = 8
};
const unsigned ALL = 0xffffffffu;
static_assert(SUMS == 8, "stats/dims_math.h");

struct job_t {
    struct tp_dim_matrix matrix;
    unsigned size;         /* of a code                                    */
    bool all;              /* finite, and nothing to scale                 */
    double factor;         /* 2^-scale, twice applied                      */
    uint64_t width;        /* of a strip                                   */
    uint64_t height;
    uint64_t across, down; /* strips                                       */
    unsigned cells;        /* of a row of a strip: SUMS with gaps, else 1  */
    struct tp_dim_cell *columns; /* [down][matrix.columns]                 */
    struct tp_dim_cell *rows;    /* [matrix.rows][across][cells]           */
};

struct strip {
    uint64_t row, column; /* the first                                     */
    unsigned rows, columns;
    uint64_t down, across; /* its number                                   */
};

__device__ double value_at(const job_t &job, uint64_t row, uint64_t column)
{
    const struct tp_dim_matrix &m = job.matrix;
    const uint64_t i = m.across ? column * m.rows + row
                                : row * m.columns + column;
    uint64_t code;
    switch (job.size) {
    case 1: code = static_cast<const uint8_t *>(m.codes)[i]; break;
    case 2: code = static_cast<const uint16_t *>(m.codes)[i]; break;
    case 4: code = static_cast<const uint32_t *>(m.codes)[i]; break;
    default: code = static_cast<const uint64_t *>(m.codes)[i];
    }
    return tp_code_value(m.dtype, code);
}

/* Sums under way. */
struct sums {
    double n, shift, sum, square, min, max;
};

/* A sum whose values are all finite, from the value it is measured from. */
__device__ sums open(double shift)
{
    return {0, shift, 0, 0, shift, shift};
}

__device__ void add(sums *s, double x, const job_t &job)
{
    double scaled = x;
    if (!job.all) {
        if (!(fabs(x) < INFINITY))
            return;
        scaled = x * job.factor * job.factor;
        if (s->n == 0)
            *s = {0, scaled, 0, 0, x, x};
    }
    const double d = scaled - s->shift;
    s->n += 1;
    s->sum += d;
    s->square += d * d;
    s->min = x < s->min ? x : s->min;
    s->max = x > s->max ? x : s->max;
}

/* Empty when nothing was added. */
__device__ struct tp_dim_cell close(const sums &s)
{
    struct tp_dim_cell cell = {0, 0, 0, 0, 0};
    if (s.n > 0) {
        cell = tp_close_dim_cell(s.n, s.shift, s.sum, s.square);
        cell.min = s.min;
        cell.max = s.max;
    }
    return cell;
}

__device__ void do_column(const job_t &job, const strip &at)
{
    if (threadIdx.x >= at.columns)
        return;
    const uint64_t column = at.column + threadIdx.x;
    sums s = open(0);
    if (job.all)
        s = open(value_at(job, at.row, column));
    for (unsigned r = 0; r < at.rows; r++)
        add(&s, value_at(job, at.row + r, column), job);
    job.columns[at.down * job.matrix.columns + column] = close(s);
}

/* The sums of a row, which neighbouring lanes have, in the first of them. */
__device__ sums fold_row(sums s, unsigned columns)
{
    const unsigned first = threadIdx.x % 32 / SUMS * SUMS;
    TP_UNROLL
    for (int lanes = SUMS / 2; lanes > 0; lanes /= 2) {
        s.sum += __shfl_xor_sync(ALL, s.sum, lanes);
        s.square += __shfl_xor_sync(ALL, s.square, lanes);
    }
    double min = s.min, max = s.max;
    TP_UNROLL
    for (int i = 1; i < SUMS; i++) { /* of equal ones, zeros, the first */
        const double low = __shfl_sync(ALL, s.min, int(first) + i);
        const double high = __shfl_sync(ALL, s.max, int(first) + i);
        min = low < min ? low : min;
        max = high > max ? high : max;
    }
    return {double(columns), s.shift, s.sum, s.square, min, max};
}

__device__ void do_row(const job_t &job, const strip &at)
{
    const unsigned r = threadIdx.x / SUMS, which = threadIdx.x % SUMS;
    const bool some = r < at.rows;
    const uint64_t row = at.row + r;
    sums s = open(0);
    if (job.all && some)
        s = open(value_at(job, row, at.column));
    for (unsigned i = which; some && i < at.columns; i += SUMS)
        add(&s, value_at(job, row, at.column + i), job);
    if (job.all)
        s = fold_row(s, at.columns);
    if (some && which < job.cells)
        job.rows[(row * job.across + at.across) * job.cells + which] =
            close(s);
}

__global__ void __launch_bounds__(THREADS) add_strips(job_t job)
{
    const uint64_t strips = job.across * job.down;
    for (uint64_t i = blockIdx.x; i < strips; i += gridDim.x) {
        strip at = {};
        at.down = i / job.across;
        at.across = i % job.across;
        at.row = at.down * job.height;
        at.column = at.across * job.width;
        const uint64_t rows = job.matrix.rows - at.row;
        const uint64_t columns = job.matrix.columns - at.column;
        at.rows = unsigned(rows < job.height ? rows : job.height);
        at.columns = unsigned(columns < job.width ? columns : job.width);
        do_column(job, at);
        do_row(job, at);
    }
}

__device__ void merge_column(const job_t &job, uint64_t column,
                             const struct tp_dim_cells &to, uint64_t index)
{
    struct tp_dim_cell cell = {to.n[index], to.mean[index], to.m2[index],
                               to.min[index], to.max[index]};
    for (uint64_t i = 0; i < job.down; i++)
        tp_merge_dim_cell(&cell,
                          &job.columns[i * job.matrix.columns + column]);
    to.n[index] = cell.n;
    to.mean[index] = cell.mean;
    to.m2[index] = cell.m2;
    to.min[index] = cell.min;
    to.max[index] = cell.max;
}

__global__ void __launch_bounds__(MERGERS)
    merge_strips(job_t job, struct tp_kernel_dims to)
{
    const uint64_t columns = job.matrix.columns;
    const uint64_t count = columns + job.matrix.rows;
    const uint64_t step = uint64_t{gridDim.x} * MERGERS;
    for (uint64_t i = uint64_t{blockIdx.x} * MERGERS + threadIdx.x; i < count;
         i += step) {
        if (i < columns) {
            merge_column(job, i, to.columns, to.first_column + i);
            continue;
        }
        const uint64_t row = i - columns, cells = job.across * job.cells;
        struct tp_dim_cell cell = to.rows[row];
        for (uint64_t j = 0; j < cells; j++)
            tp_merge_dim_cell(&cell, &job.rows[row * cells + j]);
        to.rows[row] = cell;
    }
}

job_t plan(const struct tp_kernel_dims *asked)
{
    const struct tp_dim_matrix *matrix = &asked->matrix;
    job_t job = {};
    job.matrix = *matrix;
    job.size = tp_dtype_info(matrix->dtype)->size;
    job.all = matrix->finite && matrix->scale == 0;
    job.factor = ldexp(1.0, int(-matrix->scale / 2));
    job.width = tp_dim_strip_width(matrix);
    job.across = (matrix->columns + job.width - 1) / job.width;
    job.height = asked->height;
    job.down = (matrix->rows + job.height - 1) / job.height;
    job.cells = job.all ? 1 : SUMS;
    return job;
}

unsigned grid_for(const struct tp_kernel_place *place, uint64_t count)
{
    const uint64_t most = uint64_t(place->multiprocessors) * PER_PROCESSOR;
    return unsigned(count < most ? count : most);
}

} // namespace

uint64_t tp_kernel_dims_room(const struct tp_kernel_dims *asked)
{
    const job_t job = plan(asked);
    return job.down * job.matrix.columns +
           job.across * job.cells * job.matrix.rows;
}

int tp_kernel_dims(const struct tp_kernel_place *place,
                   const struct tp_kernel_dims *asked)
{
    const struct tp_dim_matrix *matrix = &asked->matrix;
    if (matrix->rows == 0 || matrix->columns == 0)
        return 0;
    job_t job = plan(asked);
    job.columns = asked->scratch;
    job.rows = asked->scratch + job.down * matrix->columns;
    TP_LAUNCH(add_strips, grid_for(place, job.across * job.down), THREADS, 0,
              place->stream, job);
    const uint64_t count = matrix->columns + matrix->rows;
    TP_LAUNCH(merge_strips, grid_for(place, (count + MERGERS - 1) / MERGERS),
              MERGERS, 0, place->stream, job, *asked);
    return cudaGetLastError();
}

/* SPDX-License-Identifier: MIT */
/*
 * Statistics of every index of the axes: of rows and columns of a matrix at
 * once, so that it is read once. A strip of columns stays in the nearest
 * caches; values are summed as distances from the first value of their slice,
 * with their squares, and strips are merged by the formulas of Chan, Golub and
 * LeVeque (dims.h says how exact that is).
 *
 * Alternatives: Welford's update costs a division a value and slice; two
 * passes, as values.c takes them, would read the matrix again, since columns
 * do not fit the cache; plain sums of squares lose everything to a large mean.
 *
 * Cost: a value is decoded once and added twice, to its row and to its column;
 * a merge for each slice of a strip of 64 rows by 512 columns.
 */
#include "stats/dims.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/isa.h"
#include "data/round.h"
#include "stats/decode_lanes.h"
#include "stats/dims_math.h"

/* --- cells --------------------------------------------------------------- */

size_t tp_dim_cells_room(size_t length)
{
    return 5 * length;
}

void tp_dim_cells_place(struct tp_dim_cells *cells, size_t length,
                        double *memory)
{
    *cells = (struct tp_dim_cells){.length = length,
                                   .n = memory,
                                   .mean = memory + length,
                                   .m2 = memory + 2 * length,
                                   .min = memory + 3 * length,
                                   .max = memory + 4 * length};
}

struct tp_dim_cell tp_dim_cells_get(const struct tp_dim_cells *cells,
                                    size_t index)
{
    return (struct tp_dim_cell){.n = cells->n[index],
                                .mean = cells->mean[index],
                                .m2 = cells->m2[index],
                                .min = cells->min[index],
                                .max = cells->max[index]};
}

void tp_dim_cell_merge(struct tp_dim_cell *into,
                       const struct tp_dim_cell *from)
{
    tp_merge_dim_cell(into, from);
}

void tp_dim_cells_add(struct tp_dim_cells *into, size_t index,
                      const struct tp_dim_cell *from)
{
    struct tp_dim_cell cell = tp_dim_cells_get(into, index);
    tp_dim_cell_merge(&cell, from);
    into->n[index] = cell.n;
    into->mean[index] = cell.mean;
    into->m2[index] = cell.m2;
    into->min[index] = cell.min;
    into->max[index] = cell.max;
}

TP_LANES_INLINE void load(const double *from, tp_lanes *to)
{
    memcpy(to, from, sizeof *to);
}

TP_LANES_INLINE void store(const tp_lanes *from, double *to)
{
    memcpy(to, from, sizeof *from);
}

/* As tp_dim_cell_merge, for the cells of a group of lanes. */
TP_LANES_INLINE void merge_lanes(struct tp_dim_cells *into, size_t at,
                                 const struct tp_dim_cells *from, size_t i)
{
    tp_lanes na, nb, a, b, m2, sum;
    load(into->n + at, &na);
    load(from->n + i, &nb);
    const tp_lane_ints some = nb > 0, fresh = some & (na == 0);
    const tp_lanes n = na + nb, one = (tp_lanes){0} + 1;
    const tp_lanes share = nb / TP_SELECT(n > 0, n, one);
    load(into->mean + at, &a);
    load(from->mean + i, &b);
    const tp_lanes d = TP_SELECT(some, b - a, (tp_lanes){0});
    load(into->m2 + at, &m2);
    load(from->m2 + i, &sum);
    sum = m2 + (sum + d * d * (na * share));
    m2 = TP_SELECT(some, sum, m2);
    store(&m2, into->m2 + at);
    a = TP_SELECT(fresh, b, a + d * share);
    store(&a, into->mean + at);
    store(&n, into->n + at);
    load(into->min + at, &a);
    load(from->min + i, &b);
    a = TP_SELECT(fresh | (some & (b < a)), b, a);
    store(&a, into->min + at);
    load(into->max + at, &a);
    load(from->max + i, &b);
    a = TP_SELECT(fresh | (some & (b > a)), b, a);
    store(&a, into->max + at);
}

TP_LANES_INLINE void merge_cells(struct tp_dim_cells *into, size_t first,
                                 const struct tp_dim_cells *from)
{
    size_t i = 0;
    for (; i + TP_LANES <= from->length; i += TP_LANES)
        merge_lanes(into, first + i, from, i);
    for (; i < from->length; i++) {
        const struct tp_dim_cell cell = tp_dim_cells_get(from, i);
        tp_dim_cells_add(into, first + i, &cell);
    }
}

void tp_dim_cells_merge(struct tp_dim_cells *into, size_t first,
                        const struct tp_dim_cells *from)
{
    merge_cells(into, first, from);
}

/* --- strips --------------------------------------------------------------- */

/* Rows without gaps that are added to their columns at once, so that sums of
 * columns are loaded and stored once for all of them. */
enum { ROWS = 4 };

/* A strip of columns under way. */
struct strip {
    double x[ROWS][TP_DIM_STRIP]; /* the rows                               */
    double shift[TP_DIM_STRIP]; /* the first value of each column           */
    double n[TP_DIM_STRIP];
    double sum[TP_DIM_STRIP], square[TP_DIM_STRIP]; /* of the distances    */
    double min[TP_DIM_STRIP], max[TP_DIM_STRIP];
    double across[TP_DIM_ACROSS_ROOM]; /* of all rows, by columns    */
};

/* Lanes of a row, or of columns. */
struct sums {
    tp_lanes n, shift, sum, square, min, max;
};

/* Adds lanes x, of which `finite` are. The first value is the shift. */
TP_LANES_INLINE void add_lanes(struct sums *s, const tp_lanes *x,
                               const tp_lanes *scaled,
                               const tp_lane_ints *finite, bool all)
{
    if (all) {
        const tp_lanes d = *scaled - s->shift;
        s->sum += d;
        s->square += d * d;
        s->min = TP_SELECT(*x < s->min, *x, s->min);
        s->max = TP_SELECT(*x > s->max, *x, s->max);
        return;
    }
    const tp_lane_ints fresh = *finite & (s->n == 0);
    const tp_lanes zero = {0};
    s->shift = TP_SELECT(fresh, *scaled, s->shift);
    const tp_lanes d = TP_SELECT(*finite, *scaled - s->shift, zero);
    s->n += TP_SELECT(*finite, zero + 1, zero);
    s->sum += d;
    s->square += d * d;
    s->min = TP_SELECT(fresh | (*finite & (*x < s->min)), *x, s->min);
    s->max = TP_SELECT(fresh | (*finite & (*x > s->max)), *x, s->max);
}

TP_LANES_INLINE void load_sums(const struct strip *strip, size_t i,
                               struct sums *s)
{
    load(strip->n + i, &s->n);
    load(strip->shift + i, &s->shift);
    load(strip->sum + i, &s->sum);
    load(strip->square + i, &s->square);
    load(strip->min + i, &s->min);
    load(strip->max + i, &s->max);
}

TP_LANES_INLINE void store_sums(const struct sums *s, size_t i, bool all,
                                struct strip *strip)
{
    if (!all) {
        store(&s->n, strip->n + i);
        store(&s->shift, strip->shift + i);
    }
    store(&s->sum, strip->sum + i);
    store(&s->square, strip->square + i);
    store(&s->min, strip->min + i);
    store(&s->max, strip->max + i);
}

/* How a matrix is added; constants where the loops are inlined. */
struct mode {
    bool all;      /* everything is finite and no scale is needed          */
    double factor; /* twice applied: 2^-scale                              */
};

/* Adds lanes of a row to a group of columns and to the row. */
TP_LANES_INLINE void add_group(const double *from, const struct mode *mode,
                               struct sums *column, struct sums *row)
{
    const tp_lanes infinity = (tp_lanes){0} + __builtin_inf();
    tp_lanes x, scaled;
    tp_lane_ints finite = {0};
    load(from, &x);
    scaled = x;
    if (!mode->all) {
        finite = (x < infinity) & (x > -infinity);
        scaled = x * mode->factor * mode->factor;
    }
    add_lanes(column, &x, &scaled, &finite, mode->all);
    add_lanes(row, &x, &scaled, &finite, mode->all);
}

/* Adds the row in strip->x[0], `padded` values, to its columns and to `row`. */
TP_LANES_INLINE void add_row(struct strip *strip, size_t padded,
                             const struct mode *mode, struct sums *row)
{
    for (size_t i = 0; i < padded; i += TP_LANES) {
        struct sums column;
        load_sums(strip, i, &column);
        add_group(strip->x[0] + i, mode, &column, row);
        store_sums(&column, i, mode->all, strip);
    }
}

/* Adds all ROWS rows in strip->x, without gaps, to their columns and to
 * `rows`. */
typedef void add_full_fn(struct strip *strip, size_t padded, struct sums *rows);

static void add_full_portable(struct strip *strip, size_t padded,
                              struct sums *rows)
{
    const struct mode full = {.all = true};
    for (size_t i = 0; i < padded; i += TP_LANES) {
        struct sums column;
        load_sums(strip, i, &column);
        /* not a loop, so that sums stay in registers */
        add_group(strip->x[0] + i, &full, &column, &rows[0]);
        add_group(strip->x[1] + i, &full, &column, &rows[1]);
        add_group(strip->x[2] + i, &full, &column, &rows[2]);
        add_group(strip->x[3] + i, &full, &column, &rows[3]);
        store_sums(&column, i, true, strip);
    }
}

#if defined(__x86_64__)
#define NAME(x) avx512_##x
#define TARGET TP_TARGET_AVX512
#define VEC __m512d
#define VL 8
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define MIN _mm512_min_pd
#define MAX _mm512_max_pd
#include "stats/dims_rows.inc"
#undef NAME
#undef TARGET
#undef VEC
#undef VL
#undef LOAD
#undef STORE
#undef MIN
#undef MAX

#define NAME(x) avx2_##x
#define TARGET TP_TARGET_AVX2
#define VEC __m256d
#define VL 4
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define MIN _mm256_min_pd
#define MAX _mm256_max_pd
#include "stats/dims_rows.inc"
#endif

/* The row's lanes, in a fixed order: each lane has a shift of its own. */
static void close_row(const struct sums *s, struct tp_dim_cell *row)
{
    for (int i = 0; i < TP_LANES; i++) {
        if (s->n[i] == 0)
            continue;
        struct tp_dim_cell lane =
            tp_close_dim_cell(s->n[i], s->shift[i], s->sum[i],
                              s->square[i]);
        lane.min = s->min[i];
        lane.max = s->max[i];
        tp_dim_cell_merge(row, &lane);
    }
}

/* A row without gaps: its lanes share a shift, and the last `pads` hold it. */
static void close_full_row(const struct sums *s, size_t n,
                           struct tp_dim_cell *row)
{
    const double *a = (const double *)&s->sum, *b = (const double *)&s->square;
    double sum = ((a[0] + a[4]) + (a[2] + a[6])) +
                 ((a[1] + a[5]) + (a[3] + a[7]));
    double square = ((b[0] + b[4]) + (b[2] + b[6])) +
                    ((b[1] + b[5]) + (b[3] + b[7]));
    struct tp_dim_cell cell =
        tp_close_dim_cell((double)n, s->shift[0], sum, square);
    cell.min = s->min[0];
    cell.max = s->max[0];
    for (int i = 1; i < TP_LANES; i++) {
        cell.min = s->min[i] < cell.min ? s->min[i] : cell.min;
        cell.max = s->max[i] > cell.max ? s->max[i] : cell.max;
    }
    tp_dim_cell_merge(row, &cell);
}

/* Adds the columns of the strip to cells [first, first + n). */
TP_LANES_INLINE void close_columns(struct strip *strip, size_t n,
                                   struct tp_dim_cells *columns, size_t first)
{
    const tp_lanes zero = {0}, one = zero + 1;
    for (size_t i = 0; i < n; i += TP_LANES) {
        struct sums s;
        load_sums(strip, i, &s);
        const tp_lanes mean = s.sum / TP_SELECT(s.n > 0, s.n, one);
        tp_lanes m2 = s.square - s.sum * mean;
        m2 = TP_SELECT(m2 > 0, m2, zero);
        s.shift += mean;
        store(&s.shift, strip->shift + i);
        store(&m2, strip->square + i);
    }
    const struct tp_dim_cells cells = {.length = n,
                                       .n = strip->n,
                                       .mean = strip->shift,
                                       .m2 = strip->square,
                                       .min = strip->min,
                                       .max = strip->max};
    merge_cells(columns, first, &cells);
}

static void clear_strip(struct strip *strip, size_t padded)
{
    double *const arrays[] = {strip->shift,  strip->n,   strip->sum,
                              strip->square, strip->min, strip->max};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        memset(arrays[i], 0, padded * sizeof *arrays[i]);
}

/* The first row of a strip without gaps is the shift of all columns. */
static void open_columns(struct strip *strip, size_t padded)
{
    const size_t bytes = padded * sizeof **strip->x;
    memcpy(strip->shift, strip->x[0], bytes);
    memcpy(strip->min, strip->x[0], bytes);
    memcpy(strip->max, strip->x[0], bytes);
}

typedef void decode_8_fn(const struct tp_decode_8_plan *plan,
                         const unsigned char *codes, size_t n, double *x);

/* What is added to what. */
struct job {
    const struct tp_dim_matrix *matrix;
    struct tp_dim_cells *columns;
    size_t first; /* of `columns`                                           */
    struct tp_dim_cell *rows;
    add_full_fn *add_full;
    decode_8_fn *decode_8; /* of 8-bit codes, by `small`; or NULL           */
    struct tp_decode_8_plan small;
};

TP_LANES_INLINE void decode(const struct job *job, const unsigned char *codes,
                            size_t n, double *x)
{
    if (job->decode_8)
        job->decode_8(&job->small, codes, n, x);
    else
        tp_decode_lanes(job->matrix->dtype, codes, n, x);
}

/* The columns of a strip. */
struct part {
    size_t at, n;
    struct mode mode;
};

/* Puts a row of the part into x. */
TP_LANES_INLINE void read_row(const struct job *job, const struct part *part,
                              size_t row, struct strip *strip, double *x)
{
    const struct tp_dim_matrix *matrix = job->matrix;
    const size_t at = part->at, n = part->n;
    const unsigned char *codes = matrix->codes;
    const size_t size = tp_dtype_info(matrix->dtype)->size;
    if (!matrix->across) {
        codes += (row * matrix->columns + at) * size;
        decode(job, codes, n, x);
        return;
    }
    if (row == 0)
        decode(job, codes + at * matrix->rows * size, n * matrix->rows,
               strip->across);
    for (size_t i = 0; i < n; i++)
        x[i] = strip->across[i * matrix->rows + row];
}

/* Fills up the lanes of a row. */
TP_LANES_INLINE void pad_row(double *x, size_t n, const struct mode *mode)
{
    const double fill = mode->all ? x[0] : __builtin_nan("");
    for (; n % TP_LANES; n++)
        x[n] = fill;
}

static inline size_t padded_to_lanes(size_t n)
{
    return (n + TP_LANES - 1) / TP_LANES * TP_LANES;
}

/* Adds rows [r, r + count) of a part: one, or without gaps ROWS. */
TP_LANES_INLINE void add_some(const struct job *job, const struct part *part,
                              size_t r, struct strip *strip, int count)
{
    const size_t padded = padded_to_lanes(part->n);
    const bool all = part->mode.all;
    struct sums rows[ROWS];
    for (int i = 0; i < count; i++) {
        double *x = strip->x[i];
        rows[i] = (struct sums){.shift = {0}};
        read_row(job, part, r + (size_t)i, strip, x);
        pad_row(x, part->n, &part->mode);
        if (all)
            rows[i].shift = rows[i].min = rows[i].max = (tp_lanes){0} + x[0];
    }
    if (all && r % TP_DIM_ROWS == 0)
        open_columns(strip, padded);
    if (count == ROWS)
        job->add_full(strip, padded, rows);
    else
        add_row(strip, padded, &part->mode, rows);
    for (int i = 0; i < count; i++) {
        if (all)
            close_full_row(&rows[i], part->n, &job->rows[r + (size_t)i]);
        else
            close_row(&rows[i], &job->rows[r + (size_t)i]);
    }
}

/* Adds up to TP_DIM_ROWS rows of a part. */
TP_LANES_INLINE void add_strip(const struct job *job, const struct part *part,
                               size_t first_row)
{
    const size_t padded = padded_to_lanes(part->n);
    const size_t left = job->matrix->rows - first_row;
    const size_t end = first_row + (left < TP_DIM_ROWS ? left : TP_DIM_ROWS);
    const bool all = part->mode.all;
    struct strip strip;
    clear_strip(&strip, padded);
    size_t r = first_row;
    for (; all && r + ROWS <= end; r += ROWS)
        add_some(job, part, r, &strip, ROWS);
    for (; r < end; r++)
        add_some(job, part, r, &strip, 1);
    if (all)
        for (size_t i = 0; i < padded; i++)
            strip.n[i] = (double)(end - first_row);
    close_columns(&strip, part->n, job->columns, job->first + part->at);
}

/* Inlined once per instruction set. */
TP_LANES_INLINE void add_any(const struct job *job)
{
    const struct tp_dim_matrix *matrix = job->matrix;
    const double factor = ldexp(1, (int)(-matrix->scale / 2));
    const bool all = matrix->finite && matrix->scale == 0;
    const size_t width = tp_dim_strip_width(matrix);
    for (size_t r = 0; r < matrix->rows; r += TP_DIM_ROWS) {
        for (size_t at = 0; at < matrix->columns; at += width) {
            const size_t left = matrix->columns - at;
            const size_t n = left < width ? left : width;
            if (all)
                add_strip(job, &(struct part){at, n, {.all = true}}, r);
            else
                add_strip(job, &(struct part){at, n, {.factor = factor}}, r);
        }
    }
}

static void add_portable(const struct job *job)
{
    add_any(job);
}

#if defined(__x86_64__)
TP_TARGET_AVX2 static void add_avx2(const struct job *job)
{
    struct job its = *job;
    its.add_full = avx2_add_full;
    add_any(&its);
}

TP_TARGET_AVX512 static void add_avx512(const struct job *job)
{
    struct job its = *job;
    its.add_full = avx512_add_full;
    if (tp_decode_8_plan_of(its.matrix->dtype, &its.small))
        its.decode_8 = tp_decode_8;
    add_any(&its);
}
#endif

typedef void add_fn(const struct job *job);

static add_fn *const add_by[TP_ISA_COUNT] =
    TP_ISA_TABLE(add_portable, add_avx2, add_avx512);

void tp_dims_add(const struct tp_dim_matrix *matrix,
                 struct tp_dim_cells *columns, size_t first_column,
                 struct tp_dim_cell *rows)
{
    const struct job job = {.matrix = matrix,
                            .columns = columns,
                            .first = first_column,
                            .rows = rows,
                            .add_full = add_full_portable};
    add_by[tp_isa_known(matrix->isa)](&job);
}

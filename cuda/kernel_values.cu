/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
extern "C" {
#include "data/dtype_math.h"
#include "stats/values_math.h"
}

/*
 * Moments of wide values, with the additions of src/stats/values.c in their
 * order: two threads, neighbours, take a block of TP_VALUE_BLOCK values, each
 * every other of those that are finite. Then one thread per call merges its
 * blocks. A block is read three times, but from the first level cache. More
 * threads for a block would add in another order, and so round otherwise than
 * the host.
 */
namespace {

enum { THREADS = 128, LANES = 32, PAIR = 2, PAIRS = THREADS / PAIR };
const unsigned ALL = 0xffffffffu;

/* The values of a block, as one of the pair sees them. */
struct view {
    const unsigned char *codes;
    enum tp_dtype dtype;
    unsigned n;
    unsigned mine;   /* 0 or 1                                             */
    bool all;        /* are finite                                         */
    double half;     /* of the scale, twice applied                        */
};

__device__ uint64_t code_at(const view &block, unsigned i)
{
    const bool wide = block.dtype == TP_FLOAT64 || block.dtype == TP_INT64 ||
                      block.dtype == TP_UINT64;
    return wide ? reinterpret_cast<const uint64_t *>(block.codes)[i]
                : reinterpret_cast<const uint32_t *>(block.codes)[i];
}

__device__ double value_at(const view &block, unsigned i)
{
    return tp_code_value(block.dtype, code_at(block, i));
}

__device__ bool is_finite(double x)
{
    return fabs(x) < INFINITY;
}

/* Calls take(x) for each of its finite values, scaled. */
template <class TAKE>
__device__ void for_mine(const view &block, TAKE take)
{
    if (block.all) {
        for (unsigned i = block.mine; i < block.n; i += PAIR)
            take(value_at(block, i) * block.half * block.half);
        return;
    }
    unsigned turn = 0;
    for (unsigned i = 0; i < block.n; i++) {
        const double x = value_at(block, i);
        if (!is_finite(x))
            continue;
        if (turn == block.mine)
            take(x * block.half * block.half);
        turn ^= 1;
    }
}

/* What the other of the pair has. */
template <class T>
__device__ T other(T x)
{
    return __shfl_xor_sync(ALL, x, 1);
}

/* The sum of both; which one comes first makes no difference. */
__device__ double fold(double mine)
{
    return mine + other(mine);
}

__device__ uint64_t fold_count(uint64_t mine)
{
    return mine + other(static_cast<unsigned long long>(mine));
}

/* --- counts and extrema --------------------------------------------------- */

__device__ void count_special(const view &block, unsigned i, double x,
                              struct tp_values *values)
{
    const int top = block.dtype == TP_FLOAT64 ? 63 : 31;
    if (x != x) {
        values->counts.nan++;
        values->negative_nan += code_at(block, i) >> top;
    } else {
        values->counts.pos_inf += x > 0;
        values->counts.neg_inf += x < 0;
    }
}

__device__ void count_value(double x, const struct tp_judge &judge,
                            struct tp_counts *counts)
{
    const double a = fabs(x);
    counts->zero += x == 0;
    counts->negative += x < 0;
    counts->upper_overflow += x >= judge.overflow;
    counts->lower_overflow += x <= -judge.overflow;
    counts->underflow += a > 0 && a <= judge.zero;
    counts->subnormal += a > 0 && a < judge.subnormal;
}

/* Counts every other value, finite or not. */
__device__ void count_mine(const view &block, const struct tp_judge &judge,
                           struct tp_values *values)
{
    double min = INFINITY, max = -INFINITY, small = INFINITY;
    for (unsigned i = block.mine; i < block.n; i += PAIR) {
        const double x = value_at(block, i), a = fabs(x);
        values->counts.values++;
        if (!is_finite(x)) {
            count_special(block, i, x, values);
            continue;
        }
        count_value(x, judge, &values->counts);
        values->moments.n++;
        min = x < min ? x : min;
        max = x > max ? x : max;
        small = a > 0 && a < small ? a : small;
    }
    values->extrema.min = min;
    values->extrema.max = max;
    values->extrema.abs_min_nonzero = small;
}

/* Joins what the pair counted, in both. */
__device__ void join_pair(struct tp_values *values)
{
    struct tp_counts *counts = &values->counts;
    struct tp_extrema *extrema = &values->extrema;
    counts->values = fold_count(counts->values);
    counts->nan = fold_count(counts->nan);
    counts->pos_inf = fold_count(counts->pos_inf);
    counts->neg_inf = fold_count(counts->neg_inf);
    counts->zero = fold_count(counts->zero);
    counts->negative = fold_count(counts->negative);
    counts->upper_overflow = fold_count(counts->upper_overflow);
    counts->lower_overflow = fold_count(counts->lower_overflow);
    counts->underflow = fold_count(counts->underflow);
    counts->subnormal = fold_count(counts->subnormal);
    values->negative_nan = fold_count(values->negative_nan);
    values->moments.n = fold_count(values->moments.n);
    /* + 0: a zero is +0 */
    extrema->min = fmin(extrema->min, other(extrema->min)) + 0.0;
    extrema->max = fmax(extrema->max, other(extrema->max)) + 0.0;
    const double small = fmin(extrema->abs_min_nonzero,
                              other(extrema->abs_min_nonzero));
    extrema->abs_min_nonzero = is_finite(small) ? small : 0;
}

/* --- moments -------------------------------------------------------------- */

__device__ void raw_sums(const view &block, struct tp_moments *moments)
{
    double linear = 0, absolute = 0, square = 0;
    for_mine(block, [&](double x) {
        linear += x;
        absolute += fabs(x);
        square += x * x;
    });
    moments->sum_abs = fold(absolute);
    moments->sum_squares = fold(square);
    moments->mean = fold(linear) / static_cast<double>(moments->n);
}

__device__ void central_sums(const view &block, struct tp_moments *moments)
{
    double s1 = 0, s2 = 0, s3 = 0, s4 = 0;
    const double mean = moments->mean;
    for_mine(block, [&](double x) {
        const double d = x - mean, d2 = d * d;
        s1 += d;
        s2 += d2;
        s3 += d2 * d;
        s4 += d2 * d2;
    });
    moments->m2 = fold(s2);
    moments->m3 = fold(s3);
    moments->m4 = fold(s4);
    tp_shift_mean(moments, fold(s1) / static_cast<double>(moments->n));
}

/* The first finite value, scaled. */
__device__ double first_value(const view &block)
{
    for (unsigned i = 0; i < block.n; i++) {
        const double x = value_at(block, i);
        if (is_finite(x))
            return x * block.half * block.half;
    }
    return 0;
}

/* All lanes of a warp come by here, those without a block with an empty one. */
__device__ void take_block(view *block, const struct tp_judge &judge,
                           struct tp_values *values)
{
    struct tp_extrema *extrema = &values->extrema;
    struct tp_moments *moments = &values->moments;
    memset(values, 0, sizeof *values);
    count_mine(*block, judge, values);
    join_pair(values);
    const uint64_t n = moments->n;
    if (n == 0)
        *extrema = {0, 0, 0};
    block->all = n == block->n;
    block->half = 1;
    const double most = fmax(-extrema->min, extrema->max);
    moments->scale = tp_scale_of_moments(most);
    if (moments->scale != 0)
        block->half = ldexp(1.0, static_cast<int>(-moments->scale / 2));
    raw_sums(*block, moments);
    const bool constant = extrema->min == extrema->max;
    struct tp_moments spread = *moments;
    central_sums(*block, &spread); /* an exchange: by all lanes */
    if (n == 0)
        memset(moments, 0, sizeof *moments);
    else if (constant)
        moments->mean = first_value(*block);
    else
        *moments = spread;
}

/* Made for each dtype, so that no value has to ask for it. */
template <enum tp_dtype DTYPE>
__global__ void __launch_bounds__(THREADS)
    sum_blocks(struct tp_kernel_values job, unsigned size)
{
    const uint64_t blocks =
        (job.span.n + TP_VALUE_BLOCK - 1) / TP_VALUE_BLOCK;
    const uint64_t step = uint64_t{gridDim.x} * PAIRS;
    for (uint64_t base = uint64_t{blockIdx.x} * PAIRS; base < blocks;
         base += step) {
        const uint64_t i = base + threadIdx.x / PAIR;
        const uint64_t first = i * TP_VALUE_BLOCK;
        const uint64_t left = i < blocks ? job.span.n - first : 0;
        view block = {};
        block.codes = static_cast<const unsigned char *>(job.span.codes) +
                      first * size;
        block.dtype = DTYPE;
        block.n = left < TP_VALUE_BLOCK ? unsigned(left)
                                        : unsigned(TP_VALUE_BLOCK);
        block.mine = threadIdx.x % PAIR;
        struct tp_values values;
        take_block(&block, job.judge, &values);
        if (left > 0 && block.mine == 0)
            job.blocks[i] = values;
    }
}

/* A call has one thread of a block of its own, since what it does is one long
 * chain. It reads a block ahead, and so does not wait for memory in it. */
__global__ void __launch_bounds__(1) merge_blocks(struct tp_kernel_values job)
{
    const uint64_t blocks =
        (job.span.n + TP_VALUE_BLOCK - 1) / TP_VALUE_BLOCK;
    const uint64_t each = job.per_call / TP_VALUE_BLOCK;
    for (uint64_t call = blockIdx.x; call * each < blocks; call += gridDim.x) {
        const uint64_t end = (call + 1) * each < blocks ? (call + 1) * each
                                                        : blocks;
        uint64_t i = call * each + 1;
        struct tp_values values = job.blocks[i - 1];
        struct tp_values next = job.blocks[i < end ? i : i - 1];
        for (; i < end; i++) {
            const struct tp_values block = next;
            next = job.blocks[i + 1 < end ? i + 1 : i];
            tp_merge_values(&values, &block);
        }
        job.calls[call] = values;
    }
}

typedef void sum_fn(struct tp_kernel_values job, unsigned size);

sum_fn *sums_of(enum tp_dtype dtype)
{
    switch (dtype) {
    case TP_FLOAT64: return sum_blocks<TP_FLOAT64>;
    case TP_INT32: return sum_blocks<TP_INT32>;
    case TP_UINT32: return sum_blocks<TP_UINT32>;
    case TP_INT64: return sum_blocks<TP_INT64>;
    case TP_UINT64: return sum_blocks<TP_UINT64>;
    default: return sum_blocks<TP_FLOAT32>;
    }
}

/* Enough blocks for `count` shares, up to what keeps the device busy. */
unsigned grid_for(const struct tp_kernel_place *place, uint64_t count)
{
    const uint64_t most = uint64_t(place->multiprocessors) * 16;
    return unsigned(count < most ? count : most);
}

} // namespace

int tp_kernel_values(const struct tp_kernel_place *place,
                     const struct tp_kernel_values *job)
{
    if (job->span.n == 0)
        return 0;
    const uint64_t blocks =
        (job->span.n + TP_VALUE_BLOCK - 1) / TP_VALUE_BLOCK;
    const uint64_t calls = (job->span.n + job->per_call - 1) / job->per_call;
    sum_fn *sum = sums_of(job->span.dtype);
    TP_LAUNCH(sum, grid_for(place, (blocks + PAIRS - 1) / PAIRS), THREADS, 0,
              place->stream, *job,
              unsigned(tp_dtype_info(job->span.dtype)->size));
    TP_LAUNCH(merge_blocks, grid_for(place, calls), 1, 0, place->stream, *job);
    return cudaGetLastError();
}

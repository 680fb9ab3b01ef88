/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/block_layout.cuh"
extern "C" {
#include "stats/blocks_plan.h"
}

/*
 * Counts of block formats, all by integer comparisons of codes.
 *
 * Along rows, those that share a block agree on its largest magnitude by
 * exchange. Down columns, each thread keeps its block in registers. So each
 * code is loaded once, where two passes (magnitudes, then counts) would load
 * it twice.
 *
 * Codes of 16 bits, as which those of 8 are counted too, go through the
 * arithmetic two at a time, in the halves of a word: along rows neighbours of
 * one block, down columns of two.
 */
namespace {

using namespace tp_blocks;

enum { SUMS = 6 }; /* of a thread                                           */
const unsigned ALL = 0xffffffffu;

struct job_t {
    const struct tp_block_plan *plan;
    const unsigned char *codes;
    layout at;
    struct tp_block_counts *counts;
};

/* Counts of one thread. */
struct tally {
    unsigned blocks, saturated, over, lower, zeros, smalls;
};

/* Adds the counts of a block to the result. */
__device__ void finish(const tally &t, struct tp_block_counts *counts)
{
    total_t sums[SUMS] = {t.blocks, t.saturated, t.over - t.lower,
                          t.lower,  t.zeros,     t.smalls};
    uint64_t *const to[SUMS] = {
        &counts->blocks,         &counts->saturated, &counts->upper_overflow,
        &counts->lower_overflow, &counts->underflow, &counts->subnormal};
    tp_block_add<WARPS>(sums, to);
}

/* Counts a block that so many neighbours share, any of which may have an
 * overflow, by the first of them. */
template <int LANES>
__device__ void count_block(bool over, bool first, tally *t)
{
    unsigned any = over;
    TP_UNROLL
    for (int lanes = 1; lanes < LANES; lanes *= 2)
        any |= __shfl_xor_sync(ALL, any, lanes);
    t->blocks += first;
    t->saturated += first && any;
}

/* --- codes of 32 and 64 bits ---------------------------------------------- */

template <class CODE>
struct limits {
    CODE infinity, finite, zero, small;
};

template <class CODE>
__device__ CODE magnitude_of(CODE code)
{
    return code & static_cast<CODE>(static_cast<CODE>(~CODE{0}) >> 1);
}

template <class CODE>
__device__ CODE larger(CODE largest, CODE code, CODE ceiling)
{
    const CODE magnitude = magnitude_of(code);
    const CODE counted = magnitude < ceiling ? magnitude : CODE{0};
    return counted > largest ? counted : largest;
}

template <class CODE>
__device__ limits<CODE> limits_of(const struct tp_block_plan *plan,
                                  CODE largest)
{
    const struct tp_block_limits *found = tp_block_limits_of(plan, largest);
    return {static_cast<CODE>(plan->infinity),
            static_cast<CODE>(found->finite), static_cast<CODE>(found->zero),
            static_cast<CODE>(found->small)};
}

/* Counts a code; a zero counts nowhere. Returns whether it overflows. */
template <class CODE>
__device__ bool judge(CODE code, const limits<CODE> &at, tally *t)
{
    const CODE magnitude = magnitude_of(code);
    /* NaN lies above infinity, zero wraps to the largest value. */
    const CODE nonzero = static_cast<CODE>(magnitude - 1);
    const bool over = magnitude > at.finite && magnitude <= at.infinity;
    t->over += over;
    t->lower += over && code != magnitude;
    t->zeros += nonzero < at.zero;
    t->smalls += nonzero < at.small;
    return over;
}

/* Loads the n codes from `at` on; zeros behind them. */
template <class CODE, int COUNT>
__device__ void load(const CODE *at, uint64_t n, CODE *code)
{
    union {
        uint4 quad;
        CODE code[COUNT];
    } loaded;
    if (n >= COUNT && reinterpret_cast<uintptr_t>(at) % VECTOR == 0) {
        loaded.quad = *reinterpret_cast<const uint4 *>(at);
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            code[i] = loaded.code[i];
        return;
    }
    TP_UNROLL
    for (int i = 0; i < COUNT; i++)
        code[i] = static_cast<uint64_t>(i) < n ? at[i] : CODE{0};
}

template <class CODE, int BLOCK>
__global__ void __launch_bounds__(THREADS) count_rows(job_t job)
{
    enum { COUNT = sharers<CODE, BLOCK>::COUNT };
    enum { LANES = sharers<CODE, BLOCK>::LANES };
    const CODE *codes = reinterpret_cast<const CODE *>(job.codes);
    const CODE ceiling = static_cast<CODE>(job.plan->ceiling);
    tally t = {};
    along_rows<CODE, BLOCK>(job.at, [&](share mine, unsigned lane, bool some) {
        CODE code[COUNT], largest = 0;
        load<CODE, COUNT>(codes + mine.first, mine.left, code);
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            largest = larger(largest, code[i], ceiling);
        TP_UNROLL
        for (int lanes = 1; lanes < LANES; lanes *= 2) {
            const CODE other =
                static_cast<CODE>(__shfl_xor_sync(ALL, total_t{largest},
                                                  lanes));
            largest = other > largest ? other : largest;
        }
        const limits<CODE> at = limits_of(job.plan, largest);
        bool over = false;
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            over |= judge(code[i], at, &t);
        count_block<LANES>(over, some && lane == 0, &t);
    });
    finish(t, job.counts);
}

template <class CODE, int BLOCK>
__global__ void __launch_bounds__(THREADS) count_columns(job_t job)
{
    const CODE *codes = reinterpret_cast<const CODE *>(job.codes);
    const CODE ceiling = static_cast<CODE>(job.plan->ceiling);
    const uint64_t step = uint64_t{gridDim.x} * THREADS;
    tally t = {};
    for (uint64_t block = uint64_t{blockIdx.x} * THREADS + threadIdx.x;
         block < job.at.blocks; block += step) {
        const uint64_t row = block / job.at.per_row * BLOCK;
        const uint64_t left = job.at.row_length - row;
        const int height = left < BLOCK ? int(left) : BLOCK;
        const CODE *at = codes + row * job.at.per_row + block % job.at.per_row;
        CODE code[BLOCK], largest = 0;
        TP_UNROLL
        for (int i = 0; i < BLOCK; i++, at += job.at.per_row)
            code[i] = i < height ? *at : CODE{0};
        TP_UNROLL
        for (int i = 0; i < BLOCK; i++)
            largest = larger(largest, code[i], ceiling);
        const limits<CODE> limit = limits_of(job.plan, largest);
        bool over = false;
        TP_UNROLL
        for (int i = 0; i < BLOCK; i++)
            over |= judge(code[i], limit, &t);
        t.blocks++;
        t.saturated += over;
    }
    finish(t, job.counts);
}

/* --- pairs of 16-bit codes ------------------------------------------------ */

/* A sum of two magnitudes does not leave its half, so the highest bit of the
 * half tells a comparison. */
const uint32_t FLAGS = 0x80008000u, MAGNITUDES = 0x7fff7fffu;

/* What a magnitude needs to reach 0x8000 where it is above a limit. */
struct pair_limits {
    uint32_t infinity, finite, zero, small;
};

struct pair_tally {
    uint32_t over, lower, zeros, smalls; /* each half below 2^16            */
};

__device__ uint32_t room_above(uint64_t limit)
{
    return limit < 0x7fff ? 0x7fff - static_cast<uint32_t>(limit) : 0;
}

/* Of blocks whose largest magnitudes are these, one for each half. */
__device__ pair_limits pair_limits_of(const struct tp_block_plan *plan,
                                      unsigned low, unsigned high)
{
    const struct tp_block_limits *a = tp_block_limits_of(plan, low);
    const struct tp_block_limits *b =
        high == low ? a : tp_block_limits_of(plan, high);
    return {room_above(plan->infinity) * 0x10001u,
            room_above(a->finite) | room_above(b->finite) << 16,
            room_above(a->zero) | room_above(b->zero) << 16,
            room_above(a->small) | room_above(b->small) << 16};
}

/* The larger of each half, unless it counts for no scale. */
__device__ uint32_t larger_pair(uint32_t largest, uint32_t pair,
                                uint32_t ceiling_room)
{
    const uint32_t magnitudes = pair & MAGNITUDES;
    /* one more: the ceiling itself, too */
    const uint32_t flags = (magnitudes + ceiling_room + 0x00010001u) & FLAGS;
    return __vmaxu2(largest, magnitudes & ~(flags - (flags >> 15)));
}

/* As judge(). */
__device__ void judge_pair(uint32_t pair, const pair_limits &at,
                           pair_tally *t)
{
    const uint32_t magnitudes = pair & MAGNITUDES;
    const uint32_t nonzero = magnitudes + MAGNITUDES;
    const uint32_t over =
        (magnitudes + at.finite) & ~(magnitudes + at.infinity) & FLAGS;
    t->over += over >> 15;
    t->lower += (over & pair) >> 15;
    t->zeros += (nonzero & ~(magnitudes + at.zero) & FLAGS) >> 15;
    t->smalls += (nonzero & ~(magnitudes + at.small) & FLAGS) >> 15;
}

__device__ unsigned both(uint32_t pair)
{
    return (pair & 0xffff) + (pair >> 16);
}

__device__ void add_pairs(const pair_tally &pairs, tally *t)
{
    t->over += both(pairs.over);
    t->lower += both(pairs.lower);
    t->zeros += both(pairs.zeros);
    t->smalls += both(pairs.smalls);
}

/* Codes as they are counted: those of 8 bits widened, not all of which have a
 * zero. */
__device__ uint32_t counted(const struct tp_block_plan *plan, uint8_t code)
{
    return plan->widened[code];
}

__device__ uint32_t counted(const struct tp_block_plan *, uint16_t code)
{
    return code;
}

/* Loads the n codes from `at` on; zeros behind them. */
template <class STORED, int COUNT>
__device__ void load_pairs(const struct tp_block_plan *plan, const STORED *at,
                           uint64_t n, uint32_t *pairs)
{
    union {
        uint4 quad;
        STORED code[COUNT];
        uint32_t pair[VECTOR / 4];
    } loaded;
    const bool whole =
        n >= COUNT && reinterpret_cast<uintptr_t>(at) % VECTOR == 0;
    if (whole)
        loaded.quad = *reinterpret_cast<const uint4 *>(at);
    if (whole && sizeof(STORED) == 2) {
        TP_UNROLL
        for (int i = 0; i < VECTOR / 4; i++)
            pairs[i] = loaded.pair[i];
        return;
    }
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        uint32_t code = 0;
        if (whole)
            code = counted(plan, loaded.code[i]);
        else if (static_cast<uint64_t>(i) < n)
            code = counted(plan, at[i]);
        pairs[i / 2] = i % 2 ? pairs[i / 2] | code << 16 : code;
    }
}

template <class STORED, int BLOCK>
__global__ void __launch_bounds__(THREADS) count_row_pairs(job_t job)
{
    enum { COUNT = sharers<STORED, BLOCK>::COUNT };
    enum { LANES = sharers<STORED, BLOCK>::LANES };
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    const uint32_t ceiling = room_above(job.plan->ceiling) * 0x10001u;
    tally t = {};
    along_rows<STORED, BLOCK>(job.at, [&](share mine, unsigned lane,
                                          bool some) {
        uint32_t pairs[COUNT / 2], most = 0;
        load_pairs<STORED, COUNT>(job.plan, codes + mine.first, mine.left,
                                  pairs);
        TP_UNROLL
        for (int i = 0; i < COUNT / 2; i++)
            most = larger_pair(most, pairs[i], ceiling);
        TP_UNROLL
        for (int lanes = 1; lanes < LANES; lanes *= 2)
            most = __vmaxu2(most, __shfl_xor_sync(ALL, most, lanes));
        const unsigned low = most & 0xffff, high = most >> 16;
        const unsigned largest = low > high ? low : high;
        const pair_limits at = pair_limits_of(job.plan, largest, largest);
        pair_tally found = {};
        TP_UNROLL
        for (int i = 0; i < COUNT / 2; i++)
            judge_pair(pairs[i], at, &found);
        add_pairs(found, &t);
        count_block<LANES>(found.over != 0, some && lane == 0, &t);
    });
    finish(t, job.counts);
}

/* A code, or those of two columns, by one load. */
template <class STORED>
__device__ uint32_t load_column(const struct tp_block_plan *plan,
                                const STORED *at, bool two)
{
    if (!two)
        return counted(plan, *at);
    if (sizeof(STORED) == 2)
        return *reinterpret_cast<const uint32_t *>(at);
    const uint16_t codes = *reinterpret_cast<const uint16_t *>(at);
    return counted(plan, static_cast<uint8_t>(codes)) |
           counted(plan, static_cast<uint8_t>(codes >> 8)) << 16;
}

/* TWO: an even number of columns, and codes as aligned as two of them. */
template <class STORED, int BLOCK, bool TWO>
__global__ void __launch_bounds__(THREADS) count_column_pairs(job_t job)
{
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    const uint32_t ceiling = room_above(job.plan->ceiling) * 0x10001u;
    const uint64_t across = job.at.per_row / (TWO ? 2 : 1);
    const uint64_t pairs = job.at.blocks / (TWO ? 2 : 1);
    const uint64_t step = uint64_t{gridDim.x} * THREADS;
    tally t = {};
    for (uint64_t i = uint64_t{blockIdx.x} * THREADS + threadIdx.x; i < pairs;
         i += step) {
        const uint64_t row = i / across * BLOCK;
        const uint64_t left = job.at.row_length - row;
        const int height = left < BLOCK ? int(left) : BLOCK;
        const STORED *at = codes + row * job.at.per_row +
                           i % across * (TWO ? 2 : 1);
        uint32_t pair[BLOCK], most = 0;
        TP_UNROLL
        for (int k = 0; k < BLOCK; k++, at += job.at.per_row)
            pair[k] = k < height ? load_column(job.plan, at, TWO) : 0;
        TP_UNROLL
        for (int k = 0; k < BLOCK; k++)
            most = larger_pair(most, pair[k], ceiling);
        const pair_limits limit =
            pair_limits_of(job.plan, most & 0xffff, most >> 16);
        pair_tally found = {};
        TP_UNROLL
        for (int k = 0; k < BLOCK; k++)
            judge_pair(pair[k], limit, &found);
        add_pairs(found, &t);
        t.blocks += TWO ? 2 : 1;
        t.saturated += ((found.over & 0xffff) != 0) + (found.over >> 16 != 0);
    }
    finish(t, job.counts);
}

/* --- starting ------------------------------------------------------------- */

/* What counts codes that are stored so: along rows, down columns, and down two
 * at a time. */
template <class STORED, int BLOCK>
struct kernels {
    static constexpr auto rows = count_rows<STORED, BLOCK>;
    static constexpr auto columns = count_columns<STORED, BLOCK>;
    static constexpr auto two = columns;
};

template <int BLOCK>
struct kernels<uint8_t, BLOCK> {
    static constexpr auto rows = count_row_pairs<uint8_t, BLOCK>;
    static constexpr auto columns = count_column_pairs<uint8_t, BLOCK, false>;
    static constexpr auto two = count_column_pairs<uint8_t, BLOCK, true>;
};

template <int BLOCK>
struct kernels<uint16_t, BLOCK> {
    static constexpr auto rows = count_row_pairs<uint16_t, BLOCK>;
    static constexpr auto columns = count_column_pairs<uint16_t, BLOCK, false>;
    static constexpr auto two = count_column_pairs<uint16_t, BLOCK, true>;
};

template <class STORED, int BLOCK>
int start_stored(const struct tp_kernel_place *place,
                 const struct tp_kernel_blocks *job, const job_t &made)
{
    typedef kernels<STORED, BLOCK> kind;
    const uintptr_t at = reinterpret_cast<uintptr_t>(job->codes);
    const bool two = job->columns % 2 == 0 && at % (2 * sizeof(STORED)) == 0;
    if (job->columns == 0)
        return start(place, kind::rows, made, sharers<STORED, BLOCK>::LANES,
                     shared_bytes(SUMS));
    auto kernel = two ? kind::two : kind::columns;
    return start(place, kernel, made, 1, shared_bytes(SUMS));
}

template <int BLOCK>
int start_sized(const struct tp_kernel_place *place,
                const struct tp_kernel_blocks *job, const job_t &made)
{
    switch (job->code_size) {
    case 1: return start_stored<uint8_t, BLOCK>(place, job, made);
    case 2: return start_stored<uint16_t, BLOCK>(place, job, made);
    case 4: return start_stored<uint32_t, BLOCK>(place, job, made);
    default: return start_stored<uint64_t, BLOCK>(place, job, made);
    }
}

} // namespace

int tp_kernel_blocks(const struct tp_kernel_place *place,
                     const struct tp_kernel_blocks *job)
{
    job_t made = {};
    made.plan = job->plan;
    made.codes = static_cast<const unsigned char *>(job->codes);
    made.at = layout_of(uint64_t(job->block), job->rows, job->row_length,
                        job->columns);
    made.counts = job->counts;
    if (made.at.blocks == 0)
        return 0;
    return job->block == 32 ? start_sized<32>(place, job, made)
                            : start_sized<16>(place, job, made);
}

/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_TALLY_BLOCKS_CUH
#define TP_CUDA_TALLY_BLOCKS_CUH

#include "cuda/block_layout.cuh"
extern "C" {
#include "stats/blocks_plan.h"
#include "stats/tally_math.h"
}

/*
 * How kernels tally MX blocks, whatever their codes are. Threads that share a
 * block agree on its largest magnitude by exchange, and so on its scale; what
 * is done with a code whose scale is known is left to a class WITH:
 *
 *     typedef TALLY         the tally, which has `counts`
 *     MAGNITUDE             the bits of a code that are not its sign
 *     SHARED                bytes of shared memory it uses behind BEHIND
 *     WITH(job), end()      with all threads of a block
 *     take(mine, block, counts)
 *                           with all lanes of a warp; those without a block
 *                           have an empty one
 */
namespace tp_blocks {

enum {
    LANES = TP_WARP_LANES,
    SUMS = 8, /* of a thread                                                */
    BLOCK = 32,
    BEHIND = shared_bytes(SUMS)
};
const unsigned ALL = 0xffffffffu;

template <class TALLY>
struct job_t {
    const struct tp_tally_plan *plan;
    const unsigned char *codes;
    layout at;
    TALLY *tally;
};

/* Counts of one thread. */
struct counts_t {
    unsigned blocks, zero_blocks, saturated, nonfinite;
    unsigned upper, lower, underflow, subnormal;
    unsigned least, largest; /* 256 - least slot, and largest + 1           */
};

/* The codes of a thread's share of a block. */
template <int COUNT>
struct codes_t {
    unsigned code[COUNT];
    int n; /* there are                                                     */
};

/* What the plan says of a block, in registers: what is read through the plan
 * would be read again behind each addition to the tables. */
struct scale_t {
    int slot;
    unsigned infinity, finite, zero, small, fewer;
};

__device__ inline scale_t scale_of(const struct tp_block_plan *plan,
                                   unsigned largest)
{
    const int slot = tp_mx_slot(plan, largest);
    const struct tp_block_limits &at = plan->limits[slot];
    return {slot,              unsigned(plan->infinity), unsigned(at.finite),
            unsigned(at.zero), unsigned(at.small),       unsigned(at.fewer)};
}

/* All of the SHARERS neighbouring lanes that have a block agree. */
template <int SHARERS>
__device__ unsigned largest_of(unsigned mine)
{
    TP_UNROLL
    for (int lanes = 1; lanes < SHARERS; lanes *= 2) {
        const unsigned other = __shfl_xor_sync(ALL, mine, lanes);
        mine = other > mine ? other : mine;
    }
    return mine;
}

/* Raises both halves of a word. */
__device__ inline void raise_halves(unsigned *word, unsigned low, unsigned high)
{
    unsigned before = *const_cast<volatile unsigned *>(word), seen, raised;
    do {
        seen = before;
        const unsigned first = seen & 0xffff, second = seen >> 16;
        raised = (first > low ? first : low) |
                 (second > high ? second : high) << 16;
        if (raised == seen) /* also if others raised it meanwhile */
            return;
        before = atomicCAS(word, seen, raised);
    } while (before != seen);
}

/* What all that share a block know of it. */
struct block_t {
    scale_t scale;
    unsigned largest; /* below the ceiling                                  */
    unsigned all;     /* of all magnitudes                                  */
    unsigned over;    /* some code does                                     */
};

/* Also counts the codes that overflow. */
template <int COUNT, int SHARERS, unsigned MAGNITUDE>
__device__ block_t look(const struct tp_block_plan *plan,
                        const codes_t<COUNT> &mine, counts_t *counts)
{
    const unsigned infinity = unsigned(plan->infinity);
    const unsigned ceiling = unsigned(plan->ceiling);
    unsigned largest = 0, all = 0, over = 0;
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        const unsigned magnitude = mine.code[i] & MAGNITUDE;
        all = magnitude > all ? magnitude : all;
        if (magnitude < ceiling && magnitude > largest)
            largest = magnitude;
    }
    largest = largest_of<SHARERS>(largest);
    const scale_t scale = scale_of(plan, largest);
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        const unsigned magnitude = mine.code[i] & MAGNITUDE;
        if (magnitude > scale.finite && magnitude <= infinity) {
            over = 1;
            counts->upper += mine.code[i] <= MAGNITUDE;
            counts->lower += mine.code[i] > MAGNITUDE;
        }
    }
    return {scale, largest, largest_of<SHARERS>(all),
            largest_of<SHARERS>(over)};
}

/* Counts the block itself, by one of those that share it. */
__device__ inline void note(const block_t &block, counts_t *counts)
{
    counts->blocks++;
    counts->zero_blocks += block.largest == 0;
    counts->saturated += block.over;
    counts->nonfinite += block.all >= block.scale.infinity;
    if (block.largest == 0)
        return;
    const unsigned least = 256 - unsigned(block.scale.slot);
    const unsigned most = unsigned(block.scale.slot) + 1;
    counts->least = least > counts->least ? least : counts->least;
    counts->largest = most > counts->largest ? most : counts->largest;
}

/* Adds the counts of a block of threads to the result. */
__device__ inline void finish(const counts_t &counts, struct tp_quant_error *to)
{
    total_t sums[SUMS] = {counts.blocks,    counts.zero_blocks,
                          counts.saturated, counts.nonfinite,
                          counts.upper,     counts.lower,
                          counts.underflow, counts.subnormal};
    uint64_t *const totals[SUMS] = {
        &to->blocks,           &to->zero_blocks,    &to->saturated_blocks,
        &to->nonfinite_blocks, &to->upper_overflow, &to->lower_overflow,
        &to->underflow,        &to->subnormal};
    tp_block_add<WARPS>(sums, totals);
    const unsigned least = largest_of<LANES>(counts.least);
    const unsigned largest = largest_of<LANES>(counts.largest);
    static_assert(offsetof(struct tp_quant_error, scale_least) % 4 == 0 &&
                      offsetof(struct tp_quant_error, scale_largest) ==
                          offsetof(struct tp_quant_error, scale_least) + 2,
                  "not one word");
    if (threadIdx.x % LANES == 0 && largest != 0)
        raise_halves(reinterpret_cast<unsigned *>(&to->scale_least), least,
                     largest);
}

__device__ inline unsigned widen(const struct tp_tally_plan *, uint32_t stored)
{
    return stored;
}

__device__ inline unsigned widen(const struct tp_tally_plan *, uint16_t stored)
{
    return stored;
}

__device__ inline unsigned widen(const struct tp_tally_plan *plan,
                                 uint8_t stored)
{
    return plan->blocks.widened[stored];
}

/* Loads the mine->n codes from `at` on, and zeros behind them. */
template <class STORED, int COUNT>
__device__ void load(const struct tp_tally_plan *plan, const STORED *at,
                     codes_t<COUNT> *mine)
{
    union {
        uint4 quad;
        STORED code[COUNT];
    } loaded = {};
    static_assert(sizeof loaded == VECTOR, "not one vector");
    if (mine->n == COUNT && reinterpret_cast<uintptr_t>(at) % VECTOR == 0) {
        loaded.quad = *reinterpret_cast<const uint4 *>(at);
    } else {
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            if (i < mine->n)
                loaded.code[i] = at[i];
    }
    TP_UNROLL
    for (int i = 0; i < COUNT; i++)
        mine->code[i] = i < mine->n ? widen(plan, loaded.code[i]) : 0;
}

/* One block of some lanes. */
template <int SHARERS, class WITH, int COUNT>
__device__ void tally_block(WITH *with, const struct tp_tally_plan *plan,
                            const codes_t<COUNT> &mine, bool first,
                            counts_t *counts)
{
    const block_t block = look<COUNT, SHARERS, WITH::MAGNITUDE>(&plan->blocks,
                                                                mine, counts);
    with->take(mine, block, counts);
    if (first)
        note(block, counts);
}

template <class STORED, class WITH>
__global__ void __launch_bounds__(THREADS, 2)
    tally_rows(job_t<typename WITH::TALLY> job)
{
    typedef sharers<STORED, BLOCK> by;
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    WITH with(job);
    counts_t counts = {};
    along_rows<STORED, BLOCK>(job.at, [&](share at, unsigned lane, bool some) {
        codes_t<by::COUNT> mine;
        mine.n = at.left < by::COUNT ? int(at.left) : int(by::COUNT);
        load(job.plan, codes + at.first, &mine);
        tally_block<by::LANES>(&with, job.plan, mine, some && lane == 0,
                               &counts);
    });
    with.end();
    finish(counts, &job.tally->counts);
}

template <class STORED, class WITH>
__global__ void __launch_bounds__(THREADS)
    tally_columns(job_t<typename WITH::TALLY> job)
{
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    const uint64_t step = uint64_t{gridDim.x} * THREADS;
    WITH with(job);
    counts_t counts = {};
    for (uint64_t base = uint64_t{blockIdx.x} * THREADS; base < job.at.blocks;
         base += step) {
        const uint64_t block = base + threadIdx.x;
        const bool some = block < job.at.blocks;
        const uint64_t row = block / job.at.per_row * BLOCK;
        const uint64_t left = some ? job.at.row_length - row : 0;
        const STORED *at =
            codes + row * job.at.per_row + block % job.at.per_row;
        codes_t<BLOCK> mine;
        mine.n = left < BLOCK ? int(left) : int(BLOCK);
        TP_UNROLL
        for (int i = 0; i < BLOCK; i++)
            mine.code[i] =
                i < mine.n ? widen(job.plan, at[i * job.at.per_row]) : 0;
        tally_block<1>(&with, job.plan, mine, some, &counts);
    }
    with.end();
    finish(counts, &job.tally->counts);
}

/* Starts one of these; of rows, or of columns unless there are none. */
template <class STORED, class WITH>
int start_tally(const tp_kernel_place *place,
                const tp_kernel_tally_rows &rows,
                typename WITH::TALLY *tally)
{
    job_t<typename WITH::TALLY> job = {};
    job.plan = rows.plan;
    job.codes = static_cast<const unsigned char *>(rows.codes);
    job.at = layout_of(BLOCK, rows.rows, rows.row_length, rows.columns);
    job.tally = tally;
    if (job.at.blocks == 0)
        return 0;
    const unsigned shared = BEHIND + WITH::SHARED;
    return rows.columns != 0
               ? start(place, tally_columns<STORED, WITH>, job, 1, shared)
               : start(place, tally_rows<STORED, WITH>, job,
                       sharers<STORED, BLOCK>::LANES, shared);
}

/* Clears a tally of the device behind what it held: each warp takes lines of
 * the tables of both, move(line, lane) moves one. */
template <class TALLY, class MOVE>
__device__ void move_lines(TALLY *from, TALLY *to, unsigned lines, MOVE move)
{
    const unsigned lane = threadIdx.x % LANES;
    const unsigned step = gridDim.x * (THREADS / LANES);
    for (unsigned line = (blockIdx.x * THREADS + threadIdx.x) / LANES;
         line < lines; line += step) {
        uint8_t *used = &from->used[0][0] + line;
        const bool some = *used != 0;
        __syncwarp(); /* before it is cleared */
        if (!some)
            continue;
        move(line, lane);
        if (lane == 0) {
            (&to->used[0][0])[line] = 1;
            *used = 0;
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        to->counts = from->counts;
        memset(&from->counts, 0, sizeof from->counts);
    }
}

}

#endif

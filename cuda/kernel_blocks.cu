/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
#include "cuda/warp.h"
extern "C" {
#include "stats/blocks_plan.h"
}

/*
 * Counts of block formats, all by integer comparisons of codes.
 *
 * Along rows, neighbouring lanes share a block: each loads a vector of 16
 * bytes of it, and they agree on the largest magnitude by exchange. Down
 * columns, each thread has one, and keeps the block in registers.
 */
namespace {

enum {
    THREADS = 256,
    WARPS = THREADS / TP_WARP_LANES,
    SUMS = 6, /* of a thread */
    VECTOR = 16
};
const unsigned ALL = 0xffffffffu;

typedef unsigned long long total_t;

struct job_t {
    const struct tp_block_plan *plan;
    const unsigned char *codes;
    uint64_t blocks;     /* in all                                          */
    uint64_t per_row;    /* blocks; down columns: columns                   */
    uint64_t row_length; /* codes; down columns: of a column                */
    struct tp_block_counts *counts;
};

/* Counts of one thread. */
struct tally {
    unsigned blocks, saturated, over, lower, zeros, smalls;
};

/* Blocks of rows that a multiprocessor has registers for. More would run after
 * these, too few at a time to keep the memory busy. */
template <class STORED>
struct per_processor {
    enum { COUNT = sizeof(STORED) == 1 ? 5 : 6 };
};

template <class CODE>
struct limits {
    CODE infinity, finite, zero, small;
};

/* Counted codes of bytes as they lie in memory: an 8-bit one is widened. */
template <class STORED>
struct as_counted {
    typedef STORED type;
    static __device__ type of(const struct tp_block_plan *, STORED stored)
    {
        return stored;
    }
};

template <>
struct as_counted<uint8_t> {
    typedef uint16_t type;
    static __device__ type of(const struct tp_block_plan *plan, uint8_t stored)
    {
        return plan->widened[stored];
    }
};

template <class CODE>
__device__ CODE magnitude_of(CODE code)
{
    return code & static_cast<CODE>(static_cast<CODE>(~CODE{0}) >> 1);
}

template <class CODE>
__device__ CODE larger(CODE largest, CODE code, CODE infinity)
{
    const CODE magnitude = magnitude_of(code);
    const CODE finite = magnitude < infinity ? magnitude : CODE{0};
    return finite > largest ? finite : largest;
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

/* --- along rows ----------------------------------------------------------- */

/* A lane's share of a block. */
template <class STORED>
union share {
    enum { COUNT = VECTOR / sizeof(STORED) };
    uint4 quad;
    STORED code[COUNT];
};

/* Loads the n codes from `at` on as they are counted; zeros behind them, for
 * which not every dtype has a code of its own. */
template <class STORED>
__device__ void load(const struct tp_block_plan *plan, const STORED *at,
                     uint64_t n, typename as_counted<STORED>::type *code)
{
    typedef as_counted<STORED> counted;
    enum { COUNT = share<STORED>::COUNT };
    if (n >= COUNT && reinterpret_cast<uintptr_t>(at) % VECTOR == 0) {
        share<STORED> loaded;
        loaded.quad = *reinterpret_cast<const uint4 *>(at);
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            code[i] = counted::of(plan, loaded.code[i]);
        return;
    }
    TP_UNROLL
    for (int i = 0; i < COUNT; i++)
        code[i] = static_cast<uint64_t>(i) < n ? counted::of(plan, at[i]) : 0;
}

/* The share of lane `lane` of a block. */
template <class STORED, int BLOCK>
__device__ void load_share(const job_t &job, uint64_t block, unsigned lane,
                           typename as_counted<STORED>::type *code)
{
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    uint64_t row = 0, in_row = block;
    if (job.blocks != job.per_row) {
        row = block / job.per_row;
        in_row = block % job.per_row;
    }
    const uint64_t first = in_row * BLOCK + lane * share<STORED>::COUNT;
    const uint64_t left =
        block < job.blocks && first < job.row_length ? job.row_length - first
                                                     : 0;
    load<STORED>(job.plan, codes + row * job.row_length + first, left, code);
}

template <class STORED, int BLOCK>
__global__ void __launch_bounds__(THREADS, per_processor<STORED>::COUNT)
    count_rows(job_t job)
{
    typedef typename as_counted<STORED>::type CODE;
    enum { COUNT = share<STORED>::COUNT, SHARERS = BLOCK / COUNT };
    const CODE infinity = static_cast<CODE>(job.plan->infinity);
    const unsigned lane = threadIdx.x % SHARERS;
    const uint64_t together = THREADS / SHARERS; /* blocks                  */
    const uint64_t step = gridDim.x * together;
    tally t = {};
    for (uint64_t base = blockIdx.x * together; base < job.blocks;
         base += step) {
        const uint64_t block = base + threadIdx.x / SHARERS;
        CODE code[COUNT], largest = 0;
        load_share<STORED, BLOCK>(job, block, lane, code);
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            largest = larger(largest, code[i], infinity);
        uint64_t most = largest;
        TP_UNROLL
        for (int lanes = 1; lanes < SHARERS; lanes *= 2) {
            CODE other = static_cast<CODE>(
                sizeof(CODE) == 8 ? __shfl_xor_sync(ALL, most, lanes)
                                  : __shfl_xor_sync(ALL, unsigned(most),
                                                    lanes));
            most = other > most ? other : most;
        }
        const limits<CODE> at = limits_of(job.plan, static_cast<CODE>(most));
        bool over = false;
        TP_UNROLL
        for (int i = 0; i < COUNT; i++)
            over |= judge(code[i], at, &t);
        unsigned any = over;
        TP_UNROLL
        for (int lanes = 1; lanes < SHARERS; lanes *= 2)
            any |= __shfl_xor_sync(ALL, any, lanes);
        t.blocks += lane == 0 && block < job.blocks;
        t.saturated += lane == 0 && any;
    }
    finish(t, job.counts);
}

/* --- down columns --------------------------------------------------------- */

template <class STORED, int BLOCK>
__global__ void __launch_bounds__(THREADS) count_columns(job_t job)
{
    typedef as_counted<STORED> counted;
    typedef typename counted::type CODE;
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    const CODE infinity = static_cast<CODE>(job.plan->infinity);
    const uint64_t step = uint64_t{gridDim.x} * THREADS;
    tally t = {};
    for (uint64_t block = uint64_t{blockIdx.x} * THREADS + threadIdx.x;
         block < job.blocks; block += step) {
        const uint64_t row = block / job.per_row * BLOCK;
        const uint64_t left = job.row_length - row;
        const int height = left < BLOCK ? int(left) : BLOCK;
        const STORED *at = codes + row * job.per_row + block % job.per_row;
        CODE code[BLOCK], largest = 0;
        TP_UNROLL
        for (int i = 0; i < BLOCK; i++) {
            code[i] = i < height
                          ? counted::of(job.plan, at[i * job.per_row])
                          : CODE{0};
            largest = larger(largest, code[i], infinity);
        }
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

/* --- starting ------------------------------------------------------------- */

template <class STORED, int BLOCK>
int start(const struct tp_kernel_place *place,
          const struct tp_kernel_blocks *job, const job_t &made)
{
    const bool down = job->columns != 0;
    const uint64_t sharers =
        down ? 1 : BLOCK / (VECTOR / sizeof(STORED));
    const uint64_t together = THREADS / sharers;
    const uint64_t most =
        uint64_t(place->multiprocessors) * per_processor<STORED>::COUNT;
    uint64_t grid = (made.blocks + together - 1) / together;
    grid = grid < most ? grid : most;
    auto kernel = down ? count_columns<STORED, BLOCK>
                       : count_rows<STORED, BLOCK>;
    TP_LAUNCH(kernel, unsigned(grid), THREADS, WARPS * SUMS * sizeof(total_t),
              place->stream, made);
    return cudaGetLastError();
}

template <int BLOCK>
int start_sized(const struct tp_kernel_place *place,
                const struct tp_kernel_blocks *job, const job_t &made)
{
    switch (job->code_size) {
    case 1: return start<uint8_t, BLOCK>(place, job, made);
    case 2: return start<uint16_t, BLOCK>(place, job, made);
    case 4: return start<uint32_t, BLOCK>(place, job, made);
    default: return start<uint64_t, BLOCK>(place, job, made);
    }
}

} // namespace

int tp_kernel_blocks(const struct tp_kernel_place *place,
                     const struct tp_kernel_blocks *job)
{
    const uint64_t block = uint64_t(job->block), length = job->row_length;
    job_t made = {job->plan, static_cast<const unsigned char *>(job->codes),
                  0,         (length + block - 1) / block,
                  length,    job->counts};
    made.blocks = job->rows * made.per_row;
    if (job->columns != 0) {
        made.blocks = made.per_row * job->columns;
        made.per_row = job->columns;
    } else if (length % block == 0) { /* as one long row */
        made.per_row = made.blocks;
        made.row_length = length * job->rows;
    }
    if (made.blocks == 0)
        return 0;
    return job->block == 32 ? start_sized<32>(place, job, made)
                            : start_sized<16>(place, job, made);
}

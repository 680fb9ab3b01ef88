/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/block_layout.cuh"
extern "C" {
#include "stats/blocks_plan.h"
#include "stats/tally_math.h"
}

/*
 * MX tallies, as tp_tally_rows makes them. Those that share a block agree on
 * its largest magnitude by exchange, and so on its scale.
 *
 * Of the counters, which have no room in shared memory, tensors touch a few
 * thousand at most, and those again and again: of values cast to FP4 nearly
 * half are tallied, and straight additions to the tables would wait for each
 * other (then mxfp4 is slower than the link). So each block of threads has a
 * hash table of counters in shared memory, which is added to the tables at the
 * end; what finds both of its places taken goes straight to them.
 */
namespace {

using namespace tp_blocks;

enum {
    LANES = TP_WARP_LANES,
    SUMS = 8, /* of a thread                                                */
    BLOCK = 32,
    BEHIND = shared_bytes(SUMS), /* the hash table begins                   */
    PLACES = 4096                /* of it                                   */
};
const unsigned ALL = 0xffffffffu;

struct job_t {
    const struct tp_tally_plan *plan;
    const unsigned char *codes;
    layout at;
    struct tp_tally *tally;
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

__device__ scale_t scale_of(const struct tp_block_plan *plan, unsigned largest)
{
    const int slot = tp_mx_slot(plan, largest);
    const struct tp_block_limits &at = plan->limits[slot];
    return {slot,              unsigned(plan->infinity), unsigned(at.finite),
            unsigned(at.zero), unsigned(at.small),       unsigned(at.fewer)};
}

/* The counter of a magnitude. */
__device__ unsigned counter_of(unsigned which, unsigned magnitude)
{
    return which * TP_TALLY_CODES + magnitude;
}

__device__ void add(struct tp_tally *tally, unsigned counter, unsigned times)
{
    atomicAdd(reinterpret_cast<total_t *>(&tally->count[0][0]) + counter,
              total_t{times});
    (&tally->used[0][0])[counter / TP_TALLY_LINE] = 1;
}

/* A hash table of counters: whose a place is, and how often it was met, which
 * is less than 2^32 times in one launch. */
struct table_t {
    unsigned *counter, *times;
};

/* Behind the sums of a block of threads. */
__device__ table_t table_of()
{
    TP_SHARED(unsigned char, bytes);
    unsigned *words = reinterpret_cast<unsigned *>(bytes + BEHIND);
    return {words, words + PLACES};
}

/* All threads of the block must be here. */
__device__ table_t empty_table()
{
    const table_t table = table_of();
    for (unsigned i = threadIdx.x; i < PLACES; i += THREADS) {
        table.counter[i] = TP_WARP_NONE;
        table.times[i] = 0;
    }
    __syncthreads();
    return table;
}

/* Whether the place is the counter's, by now. */
__device__ bool is_place(const table_t &table, unsigned place,
                         unsigned counter)
{
    unsigned owner = *const_cast<volatile unsigned *>(table.counter + place);
    if (owner == TP_WARP_NONE) {
        owner = atomicCAS(table.counter + place, TP_WARP_NONE, counter);
        owner = owner == TP_WARP_NONE ? counter : owner;
    }
    return owner == counter;
}

__device__ void count(const job_t &job, const table_t &table, unsigned counter)
{
    /* neighbouring magnitudes have neighbouring places */
    const unsigned first = (counter ^ counter / TP_TALLY_CODES * 1009) % PLACES;
    const unsigned second = (first ^ (PLACES / 2 + counter / PLACES)) % PLACES;
    if (is_place(table, first, counter))
        atomicAdd(table.times + first, 1u);
    else if (is_place(table, second, counter))
        atomicAdd(table.times + second, 1u);
    else
        add(job.tally, counter, 1);
}

/* Adds the hash table to the tables. All threads of the block must be here. */
__device__ void spill(const job_t &job, const table_t &table)
{
    __syncthreads();
    for (unsigned i = threadIdx.x; i < PLACES; i += THREADS)
        if (table.times[i] != 0)
            add(job.tally, table.counter[i], table.times[i]);
}

/* The counter of a value of a block that becomes NaN, if it is finite. */
__device__ unsigned lose(const scale_t &scale, unsigned magnitude,
                         counts_t *counts)
{
    if (magnitude >= scale.infinity)
        return TP_WARP_NONE;
    counts->underflow += magnitude != 0 && magnitude <= scale.zero;
    counts->subnormal += magnitude != 0 && magnitude <= scale.small;
    return counter_of(TP_TALLY_LOST, magnitude);
}

/* The counter of a value that keeps its block, if it has one. */
__device__ unsigned keep(const job_t &job, const scale_t &scale,
                         unsigned magnitude)
{
    if (magnitude >= scale.infinity)
        return TP_WARP_NONE;
    if (magnitude > scale.finite)
        return counter_of(TP_TALLY_SATURATED, magnitude);
    if (magnitude == 0 || magnitude > scale.fewer)
        return TP_WARP_NONE;
    return counter_of(tp_small_class(job.plan, scale.slot, magnitude),
                      magnitude);
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

/* All lanes of a warp come by here, those without a block with an empty one. */
template <int COUNT, int SHARERS>
__device__ void take(const job_t &job, const table_t &table,
                     const codes_t<COUNT> &mine, bool first, counts_t *counts)
{
    const struct tp_block_plan *plan = &job.plan->blocks;
    const unsigned infinity = unsigned(plan->infinity);
    const unsigned ceiling = unsigned(plan->ceiling);
    unsigned largest = 0, all = 0, over = 0;
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        const unsigned magnitude = mine.code[i] & 0x7fff;
        all = magnitude > all ? magnitude : all;
        if (magnitude < ceiling && magnitude > largest)
            largest = magnitude;
    }
    largest = largest_of<SHARERS>(largest);
    const scale_t scale = scale_of(plan, largest);
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        const unsigned magnitude = mine.code[i] & 0x7fff;
        if (magnitude > scale.finite && magnitude <= infinity) {
            over = 1;
            counts->upper += mine.code[i] < 0x8000;
            counts->lower += mine.code[i] >= 0x8000;
        }
    }
    all = largest_of<SHARERS>(all);
    over = largest_of<SHARERS>(over);
    const bool lost = all >= job.plan->spoils;
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        const unsigned magnitude = mine.code[i] & 0x7fff;
        unsigned counter = TP_WARP_NONE;
        if (i < mine.n)
            counter = lost ? lose(scale, magnitude, counts)
                           : keep(job, scale, magnitude);
        if (counter != TP_WARP_NONE)
            count(job, table, counter);
    }
    if (!first)
        return;
    counts->blocks++;
    counts->zero_blocks += largest == 0;
    counts->saturated += over;
    counts->nonfinite += all >= infinity;
    if (largest == 0)
        return;
    const unsigned least = 256 - unsigned(scale.slot);
    const unsigned most = unsigned(scale.slot) + 1;
    counts->least = least > counts->least ? least : counts->least;
    counts->largest = most > counts->largest ? most : counts->largest;
}

/* Raises both scale bytes, which are halves of one word. */
__device__ void raise_scales(struct tp_quant_error *to, unsigned least,
                             unsigned largest)
{
    static_assert(offsetof(struct tp_quant_error, scale_least) % 4 == 0 &&
                      offsetof(struct tp_quant_error, scale_largest) ==
                          offsetof(struct tp_quant_error, scale_least) + 2,
                  "not one word");
    unsigned *word = reinterpret_cast<unsigned *>(&to->scale_least);
    unsigned before = *word, seen, raised;
    do {
        seen = before;
        const unsigned low = seen & 0xffff, high = seen >> 16;
        raised = (low > least ? low : least) |
                 (high > largest ? high : largest) << 16;
        if (raised == seen) /* also if others raised it meanwhile */
            return;
        before = atomicCAS(word, seen, raised);
    } while (before != seen);
}

/* Adds the counts of a block to the result. */
__device__ void finish(const counts_t &counts, struct tp_quant_error *to)
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
    if (threadIdx.x % LANES == 0 && largest != 0)
        raise_scales(to, least, largest);
}

__device__ unsigned widen(const job_t &, uint16_t stored)
{
    return stored;
}

__device__ unsigned widen(const job_t &job, uint8_t stored)
{
    return job.plan->blocks.widened[stored];
}

/* Loads the mine->n codes from `at` on, and zeros behind them. */
template <class STORED, int COUNT>
__device__ void load(const job_t &job, const STORED *at, codes_t<COUNT> *mine)
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
        mine->code[i] = i < mine->n ? widen(job, loaded.code[i]) : 0;
}

template <class STORED>
__global__ void __launch_bounds__(THREADS, 2) tally_rows(job_t job)
{
    typedef sharers<STORED, BLOCK> by;
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    const table_t table = empty_table();
    counts_t counts = {};
    along_rows<STORED, BLOCK>(job.at, [&](share at, unsigned lane, bool some) {
        codes_t<by::COUNT> mine;
        mine.n = at.left < by::COUNT ? int(at.left) : int(by::COUNT);
        load(job, codes + at.first, &mine);
        take<by::COUNT, by::LANES>(job, table, mine, some && lane == 0,
                                   &counts);
    });
    spill(job, table);
    finish(counts, &job.tally->counts);
}

template <class STORED>
__global__ void __launch_bounds__(THREADS) tally_columns(job_t job)
{
    const STORED *codes = reinterpret_cast<const STORED *>(job.codes);
    const uint64_t step = uint64_t{gridDim.x} * THREADS;
    const table_t table = empty_table();
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
            mine.code[i] = i < mine.n ? widen(job, at[i * job.at.per_row]) : 0;
        take<BLOCK, 1>(job, table, mine, some, &counts);
    }
    spill(job, table);
    finish(counts, &job.tally->counts);
}

/* Each warp takes lines of the tables. */
__global__ void __launch_bounds__(THREADS)
    move_tally(struct tp_tally *from, struct tp_tally *to)
{
    const unsigned lane = threadIdx.x % LANES;
    const unsigned step = gridDim.x * (THREADS / LANES);
    for (unsigned line = (blockIdx.x * THREADS + threadIdx.x) / LANES;
         line < TP_TALLY_CLASSES * TP_TALLY_LINES; line += step) {
        uint8_t *used = &from->used[0][0] + line;
        const bool some = *used != 0;
        __syncwarp(); /* before it is cleared */
        if (!some)
            continue;
        uint64_t *counts = &from->count[0][0] + line * TP_TALLY_LINE;
        uint64_t *moved = &to->count[0][0] + line * TP_TALLY_LINE;
        for (unsigned i = lane; i < TP_TALLY_LINE; i += LANES) {
            moved[i] = counts[i];
            counts[i] = 0;
        }
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

template <class STORED>
int start_stored(const struct tp_kernel_place *place, const job_t &job,
                 bool down)
{
    const unsigned shared = BEHIND + PLACES * 2 * sizeof(unsigned);
    return down ? start(place, tally_columns<STORED>, job, 1, shared)
                : start(place, tally_rows<STORED>, job,
                        sharers<STORED, BLOCK>::LANES, shared);
}

} // namespace

int tp_kernel_tally(const struct tp_kernel_place *place,
                    const struct tp_kernel_tally *asked)
{
    const bool down = asked->columns != 0;
    job_t job = {};
    job.plan = asked->plan;
    job.codes = static_cast<const unsigned char *>(asked->codes);
    job.at = layout_of(BLOCK, asked->rows, asked->row_length, asked->columns);
    job.tally = asked->tally;
    if (job.at.blocks == 0)
        return 0;
    return asked->code_size == 1 ? start_stored<uint8_t>(place, job, down)
                                 : start_stored<uint16_t>(place, job, down);
}

int tp_kernel_tally_move(const struct tp_kernel_place *place,
                         struct tp_tally *from, struct tp_tally *to)
{
    enum { GRID = TP_TALLY_CLASSES * TP_TALLY_LINES * LANES / THREADS };
    TP_LAUNCH(move_tally, unsigned(GRID), THREADS, 0, place->stream, from, to);
    return cudaGetLastError();
}

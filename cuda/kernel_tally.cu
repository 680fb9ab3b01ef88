/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/tally_blocks.cuh"

/*
 * MX tallies of codes of 8 and 16 bits, as tp_tally_rows makes them.
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

enum { PLACES = 4096 /* of the hash table */ };

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

__device__ void count(struct tp_tally *tally, const table_t &table,
                      unsigned counter)
{
    /* neighbouring magnitudes have neighbouring places */
    const unsigned first = (counter ^ counter / TP_TALLY_CODES * 1009) % PLACES;
    const unsigned second = (first ^ (PLACES / 2 + counter / PLACES)) % PLACES;
    if (is_place(table, first, counter))
        atomicAdd(table.times + first, 1u);
    else if (is_place(table, second, counter))
        atomicAdd(table.times + second, 1u);
    else
        add(tally, counter, 1);
}

/* Adds the hash table to the tables. All threads of the block must be here. */
__device__ void spill(struct tp_tally *tally, const table_t &table)
{
    __syncthreads();
    for (unsigned i = threadIdx.x; i < PLACES; i += THREADS)
        if (table.times[i] != 0)
            add(tally, table.counter[i], table.times[i]);
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
__device__ unsigned keep(const struct tp_tally_plan *plan, const scale_t &scale,
                         unsigned magnitude)
{
    if (magnitude >= scale.infinity)
        return TP_WARP_NONE;
    if (magnitude > scale.finite)
        return counter_of(TP_TALLY_SATURATED, magnitude);
    if (magnitude == 0 || magnitude > scale.fewer)
        return TP_WARP_NONE;
    return counter_of(tp_small_class(plan, scale.slot, magnitude),
                      magnitude);
}

/* See cuda/tally_blocks.cuh. */
struct hashed {
    typedef struct tp_tally TALLY;
    enum : unsigned { MAGNITUDE = 0x7fff, SHARED = PLACES * 2 * 4 };

    const job_t<TALLY> &job;
    const table_t table;

    explicit __device__ hashed(const job_t<TALLY> &of)
        : job(of), table(empty_table())
    {
    }

    template <int COUNT>
    __device__ void take(const codes_t<COUNT> &mine, const block_t &block,
                         counts_t *counts)
    {
        const bool lost = block.all >= job.plan->spoils;
        TP_UNROLL
        for (int i = 0; i < COUNT; i++) {
            const unsigned magnitude = mine.code[i] & MAGNITUDE;
            unsigned counter = TP_WARP_NONE;
            if (i < mine.n)
                counter = lost ? lose(block.scale, magnitude, counts)
                               : keep(job.plan, block.scale, magnitude);
            if (counter != TP_WARP_NONE)
                count(job.tally, table, counter);
        }
    }

    __device__ void end() { spill(job.tally, table); }
};

__global__ void __launch_bounds__(THREADS)
    move_tally(struct tp_tally *from, struct tp_tally *to)
{
    move_lines(from, to, TP_TALLY_CLASSES * TP_TALLY_LINES,
               [&](unsigned line, unsigned lane) {
                   uint64_t *counts = &from->count[0][0] + line * TP_TALLY_LINE;
                   uint64_t *moved = &to->count[0][0] + line * TP_TALLY_LINE;
                   for (unsigned i = lane; i < TP_TALLY_LINE; i += LANES) {
                       moved[i] = counts[i];
                       counts[i] = 0;
                   }
               });
}

} // namespace

int tp_kernel_tally(const struct tp_kernel_place *place,
                    const struct tp_kernel_tally_rows *rows, int code_size,
                    struct tp_tally *tally)
{
    return code_size == 1 ? start_tally<uint8_t, hashed>(place, *rows, tally)
                          : start_tally<uint16_t, hashed>(place, *rows, tally);
}

int tp_kernel_tally_move(const struct tp_kernel_place *place,
                         struct tp_tally *from, struct tp_tally *to)
{
    enum { GRID = TP_TALLY_CLASSES * TP_TALLY_LINES * LANES / THREADS };
    TP_LAUNCH(move_tally, unsigned(GRID), THREADS, 0, place->stream, from, to);
    return cudaGetLastError();
}

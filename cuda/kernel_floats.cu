/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/tally_blocks.cuh"
extern "C" {
#include "stats/float_tally.h"
}

/*
 * Sums of binary32 by their leading bits, as tp_float_bins_add makes them, and
 * MX tallies of them, as tp_float_tally_rows does. All is integers and largest
 * values, so the order of additions is no matter.
 *
 * A value is two additions in the device's cache, which has room for the bins
 * that tensors touch (24 bytes for each of some thousands), and mostly to
 * different ones. What many lanes of a warp hold (zeros, masks, constants) is
 * added once. Bins in shared memory, as kernel_tally.cu has counters, would
 * need a hash table of 24 bytes a place, which few would find a place in.
 */
namespace {

using namespace tp_blocks;

enum { BATCH = 4 /* codes a thread has under way */ };
const unsigned LOW = (1u << TP_FLOAT_BIN_SHIFT) - 1;

/* Adds codes that are the same to their bin, as tp_float_bin_add. */
__device__ void add(struct tp_float_bin *bin, unsigned code, unsigned times)
{
    const unsigned low = code & LOW;
    if (low == 0) {
        atomicAdd(&bin->edge, times);
        return;
    }
    atomicAdd(reinterpret_cast<total_t *>(&bin->sum),
              times * (total_t{1} << TP_FLOAT_BIN_COUNT | low));
    atomicAdd(reinterpret_cast<total_t *>(&bin->squares),
              times * (total_t{low} * low));
    static_assert(offsetof(struct tp_float_bin, most) % 4 == 0 &&
                      offsetof(struct tp_float_bin, least) ==
                          offsetof(struct tp_float_bin, most) + 2,
                  "not one word");
    raise_halves(reinterpret_cast<unsigned *>(&bin->most), low,
                 LOW + 1 - low);
}

struct span_t {
    const uint32_t *codes;
    uint64_t n;
    struct tp_float_bin *bins;
};

/* Counts a code of each lane that has one. All of the warp must be here. */
__device__ void count_code(const span_t &span, unsigned code, bool some)
{
    const auto to = [&](unsigned of, unsigned times) {
        add(span.bins + (of >> TP_FLOAT_BIN_SHIFT), of, times);
    };
    tp_warp_count(some ? code : TP_WARP_NONE, to);
    if (some && code == TP_WARP_NONE)
        to(code, 1);
}

__global__ void __launch_bounds__(THREADS) add_bins(span_t span)
{
    const uint64_t together = uint64_t{BATCH} * THREADS;
    for (uint64_t base = blockIdx.x * together; base < span.n;
         base += gridDim.x * together) {
        unsigned code[BATCH];
        TP_UNROLL
        for (int i = 0; i < BATCH; i++) {
            const uint64_t at = base + i * THREADS + threadIdx.x;
            code[i] = at < span.n ? span.codes[at] : 0;
        }
        TP_UNROLL
        for (int i = 0; i < BATCH; i++)
            count_code(span, code[i],
                       base + i * THREADS + threadIdx.x < span.n);
    }
}

/* See cuda/tally_blocks.cuh. */
struct binned {
    typedef struct tp_float_tally TALLY;
    enum : unsigned { MAGNITUDE = 0x7fffffff, SHARED = 0 };

    const job_t<TALLY> &job;

    explicit __device__ binned(const job_t<TALLY> &of) : job(of) {}

    __device__ void tally(unsigned of, unsigned magnitude)
    {
        const unsigned bin = magnitude >> TP_FLOAT_BIN_SHIFT;
        add(&job.tally->bin[of][bin], magnitude, 1);
        job.tally->used[of][bin / TP_TALLY_LINE] = 1;
    }

    template <int COUNT>
    __device__ void take(const codes_t<COUNT> &mine, const block_t &block,
                         counts_t *)
    {
        const scale_t &scale = block.scale;
        if (block.all >= job.plan->spoils)
            job.tally->lost = true;
        TP_UNROLL
        for (int i = 0; i < COUNT; i++) {
            const unsigned magnitude = mine.code[i] & MAGNITUDE;
            if (magnitude > scale.finite && magnitude < scale.infinity)
                tally(TP_TALLY_SATURATED, magnitude);
            else if (magnitude != 0 && magnitude <= scale.fewer)
                tally(tp_small_class(job.plan, scale.slot, magnitude),
                      magnitude);
        }
    }

    __device__ void end() {}
};

__global__ void __launch_bounds__(THREADS)
    move_float_tally(struct tp_float_tally *from, struct tp_float_tally *to)
{
    static_assert(sizeof(struct tp_float_bin) % sizeof(uint64_t) == 0,
                  "no words");
    const unsigned words =
        TP_TALLY_LINE * sizeof(struct tp_float_bin) / sizeof(uint64_t);
    move_lines(from, to, sizeof from->used, [&](unsigned line, unsigned lane) {
        uint64_t *bins = reinterpret_cast<uint64_t *>(
            &from->bin[0][0] + line * TP_TALLY_LINE);
        uint64_t *moved = reinterpret_cast<uint64_t *>(
            &to->bin[0][0] + line * TP_TALLY_LINE);
        for (unsigned i = lane; i < words; i += LANES) {
            moved[i] = bins[i];
            bins[i] = 0;
        }
    });
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        to->lost = from->lost;
        from->lost = false;
    }
}

} // namespace

int tp_kernel_float_bins(const struct tp_kernel_place *place,
                         const struct tp_span *span,
                         struct tp_float_bin *bins)
{
    const span_t job = {static_cast<const uint32_t *>(span->codes), span->n,
                        bins};
    const uint64_t together = uint64_t{BATCH} * THREADS;
    uint64_t grid = (job.n + together - 1) / together;
    if (job.n == 0)
        return 0;
    const cudaError_t status = tp_resident_grid(
        add_bins, THREADS, 0, place->multiprocessors, &grid);
    if (status != cudaSuccess)
        return status;
    TP_LAUNCH(add_bins, unsigned(grid), THREADS, 0, place->stream, job);
    return cudaGetLastError();
}

int tp_kernel_float_tally(const struct tp_kernel_place *place,
                          const struct tp_kernel_tally_rows *rows,
                          struct tp_float_tally *tally)
{
    return start_tally<uint32_t, binned>(place, *rows, tally);
}

int tp_kernel_float_tally_move(const struct tp_kernel_place *place,
                               struct tp_float_tally *from,
                               struct tp_float_tally *to)
{
    enum { GRID = sizeof from->used * LANES / THREADS };
    TP_LAUNCH(move_float_tally, unsigned(GRID), THREADS, 0, place->stream,
              from, to);
    return cudaGetLastError();
}

/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
extern "C" {
#include "stats/codes.h"
}

/*
 * Histograms of 16-bit codes. Each block has counters of 32 bits in shared
 * memory, which no block can exceed, so that counting is an addition that
 * returns nothing: of several lanes that add 1 to one counter the hardware
 * makes one addition, and zeros, masks and constants cost no more than others.
 *
 * Not all 65 536 counters fit (58 112 into the 227 KiB of sm_90). Codes are
 * numbered so that those without a counter are what a tensor rarely has: the
 * largest magnitudes (from 2^100 on, for bfloat16). Those that occur, mostly
 * infinities and the limits that masks use, repeat: each thread adds to the
 * totals when what it meets of them changes.
 */
namespace {

enum {
    THREADS = 1024,
    /* Vectors of 16 bytes a thread has under way at a time. */
    BATCH = 4,
    HALVES = 8 /* codes of a vector                                         */
};
const unsigned NONE = 0xffffffffu; /* no number                             */

typedef unsigned long long total_t;

struct histogram {
    const uint16_t *codes;
    uint64_t n;       /* codes                                              */
    uint64_t head;    /* of them, before the first aligned vector           */
    uint64_t vectors; /* then                                               */
    total_t *totals;
    unsigned counters; /* a multiple of 4                                   */
    unsigned origin;   /* of integers: what 0 is numbered                   */
};

union vector {
    uint4 quad;
    uint32_t word[4];
};

/* Numbers of codes, two in a word, and the codes of numbers. */
struct floats { /* by magnitude, both signs together                        */
    static __device__ uint32_t numbers(const histogram &, uint32_t codes)
    {
        return (codes << 1 & 0xfffefffeu) | (codes >> 15 & 0x00010001u);
    }

    static __device__ unsigned code(const histogram &, unsigned number)
    {
        return (number >> 1 | number << 15) & 0xffff;
    }
};

struct integers { /* from some smallest on                                  */
    static __device__ uint32_t numbers(const histogram &job, uint32_t codes)
    {
        const uint32_t high = codes & 0xffff0000u;
        return ((codes + job.origin) & 0xffffu) |
               (high + (job.origin << 16));
    }

    static __device__ unsigned code(const histogram &job, unsigned number)
    {
        return (number - job.origin) & 0xffff;
    }
};

/* The codes without a counter that a thread has met last. */
struct rare {
    unsigned number;
    unsigned times;
};

template <class KIND>
__device__ void add_rare(const histogram &job, const rare &met)
{
    if (met.times > 0)
        atomicAdd(job.totals + KIND::code(job, met.number),
                  total_t{met.times});
}

template <class KIND>
__device__ void count(const histogram &job, unsigned *counters,
                      unsigned number, rare *met)
{
    if (number < job.counters) {
        atomicAdd(counters + number, 1u);
        return;
    }
    if (number != met->number) {
        add_rare<KIND>(job, *met);
        *met = {number, 0};
    }
    met->times++;
}

template <class KIND>
__device__ void count_vector(const histogram &job, unsigned *counters,
                             const vector &v, rare *met)
{
    uint32_t numbers[HALVES / 2], largest = 0;
    TP_UNROLL
    for (int i = 0; i < HALVES / 2; i++) {
        numbers[i] = KIND::numbers(job, v.word[i]);
        largest = __vmaxu2(largest, numbers[i]);
    }
    const bool all = (largest & 0xffff) < job.counters &&
                     largest >> 16 < job.counters;
    if (all) { /* nearly always: nothing else to decide */
        TP_UNROLL
        for (int i = 0; i < HALVES / 2; i++) {
            atomicAdd(counters + (numbers[i] & 0xffff), 1u);
            atomicAdd(counters + (numbers[i] >> 16), 1u);
        }
        return;
    }
    for (int i = 0; i < HALVES / 2; i++) {
        count<KIND>(job, counters, numbers[i] & 0xffff, met);
        count<KIND>(job, counters, numbers[i] >> 16, met);
    }
}

/* The few codes before and behind the aligned vectors. */
__device__ void count_ends(const histogram &job)
{
    const uint64_t body = job.vectors * HALVES;
    const uint64_t ends = job.n - body; /* less than 16 */
    if (blockIdx.x != 0 || threadIdx.x >= ends)
        return;
    const uint64_t i =
        threadIdx.x < job.head ? threadIdx.x : body + threadIdx.x;
    atomicAdd(job.totals + job.codes[i], total_t{1});
}

/* Adds the counters to the totals. */
template <class KIND>
__device__ void fold(const histogram &job, const unsigned *counters)
{
    for (unsigned i = 4 * threadIdx.x; i < job.counters; i += 4 * THREADS) {
        vector four;
        four.quad = *reinterpret_cast<const uint4 *>(counters + i);
        TP_UNROLL
        for (unsigned k = 0; k < 4; k++)
            if (four.word[k] != 0)
                atomicAdd(job.totals + KIND::code(job, i + k),
                          total_t{four.word[k]});
    }
}

template <class KIND>
__global__ void __launch_bounds__(THREADS) count_codes(histogram job)
{
    TP_SHARED(unsigned, counters);
    for (unsigned i = 4 * threadIdx.x; i < job.counters; i += 4 * THREADS)
        *reinterpret_cast<uint4 *>(counters + i) = {0, 0, 0, 0};
    __syncthreads();
    const vector *from =
        reinterpret_cast<const vector *>(job.codes + job.head);
    const uint64_t step = uint64_t{gridDim.x} * THREADS * BATCH;
    rare met = {NONE, 0};
    for (uint64_t base = uint64_t{blockIdx.x} * THREADS * BATCH + threadIdx.x;
         base < job.vectors; base += step) {
        vector v[BATCH];
        TP_UNROLL
        for (int i = 0; i < BATCH; i++)
            if (base + i * THREADS < job.vectors)
                v[i] = from[base + i * THREADS];
        TP_UNROLL
        for (int i = 0; i < BATCH; i++)
            if (base + i * THREADS < job.vectors)
                count_vector<KIND>(job, counters, v[i], &met);
    }
    add_rare<KIND>(job, met);
    __syncthreads();
    fold<KIND>(job, counters);
    count_ends(job);
}

template <class KIND>
int start(const struct tp_kernel_place *place, const histogram &job)
{
    const size_t shared = job.counters * sizeof(unsigned);
    const uint64_t share = THREADS * BATCH;
    uint64_t blocks = (job.vectors + share - 1) / share;
    uint64_t most = static_cast<uint64_t>(place->multiprocessors);
    /* each counts less than 2^32 */
    most = most > job.n >> 31 ? most : (job.n >> 31) + 1;
    blocks = blocks < 1 ? 1 : blocks < most ? blocks : most;
    auto kernel = count_codes<KIND>;
    cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
    if (status != cudaSuccess)
        return status;
    TP_LAUNCH(kernel, unsigned(blocks), THREADS, shared, place->stream, job);
    return cudaGetLastError();
}

} // namespace

int tp_kernel_codes16(const struct tp_kernel_place *place,
                      const struct tp_span *span, uint64_t *totals)
{
    if (span->n == 0)
        return 0;
    const uintptr_t past = reinterpret_cast<uintptr_t>(span->codes) % 16;
    const uint64_t fit = place->shared / sizeof(unsigned) / 4 * 4;
    histogram job = {};
    job.codes = static_cast<const uint16_t *>(span->codes);
    job.n = span->n;
    job.head = (16 - past) % 16 / 2;
    job.head = job.head < job.n ? job.head : job.n;
    job.vectors = (job.n - job.head) / HALVES;
    job.totals = reinterpret_cast<total_t *>(totals);
    job.counters = fit < TP_CODES ? unsigned(fit) : unsigned(TP_CODES);
    if (tp_dtype_info(span->dtype)->kind == TP_CLASS_FLOAT)
        return start<floats>(place, job);
    job.origin = span->dtype == TP_INT16 ? job.counters / 2 : 0;
    return start<integers>(place, job);
}

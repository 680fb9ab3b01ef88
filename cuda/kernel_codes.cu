/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
extern "C" {
#include "data/dtype_math.h"
#include "stats/bins.h"
#include "stats/codes.h"
#include "stats/select.h"
}

/*
 * Histograms (of 16-bit codes, where there is less shared memory than
 * kernel_codes16.cu takes). Each block counts in shared memory, two counters
 * of 16 bits in a word. Where all counters do not fit, the range of codes is
 * split among neighbouring blocks. Each reads everything; at about the same
 * time, so from the device's cache.
 *
 * A counter never reaches its neighbour: who adds to one that is beyond half
 * its range moves that half to the totals before the next barrier. Between
 * barriers a block adds less than the rest, also to a counter that the last
 * addition before one took there.
 *
 * Real tensors have codes that a large part of the values share (zeros, masks,
 * constants). All lanes of a warp would then wait for one address. So each
 * warp looks for two codes that several of its lanes hold, counts those by
 * reduction, and adds once.
 */
namespace {

enum {
    THREADS = 1024,
    LANES = 32,
    /* Vectors of 16 bytes a thread has under way at a time. */
    BATCH = 2,
    HALF = 0x8000,
    /* Lanes that must hold a code for it to be counted by reduction: so many
     * colliding additions take about as long. */
    HOT = 6
};
const unsigned ALL = 0xffffffffu;
const unsigned BEYOND = 0x80008000u; /* half the range of each of a word    */
const unsigned NONE = 0xffffffffu; /* no counter                            */
const unsigned COLD = 0xfffffffeu; /* none either: equals no index          */

typedef unsigned long long total_t;

struct histogram {
    const unsigned char *codes;
    uint64_t n;       /* codes                                              */
    uint64_t head;    /* of them, before the first aligned vector           */
    uint64_t vectors; /* then                                               */
    total_t *totals;
    int split;        /* log2 of the number of ranges                       */
    enum tp_code_order order;
    enum tp_dtype dtype;
};

union vector {
    uint4 quad;
    uint16_t half[8];
    uint32_t word[4];
    uint64_t two[2];
};

/* --- what is counted ------------------------------------------------------ */

/* Each kind has SIZE (bytes of a code), BITS (of an index), COUNT (indices in
 * a vector), EVERY (no index is NONE), index() of one of them, one() of a
 * single code, and add() and fold(), which know what an index stands for. */

/* Kinds whose index is that of a total. */
struct plain {
    static __device__ void add(total_t *totals, unsigned index, total_t count)
    {
        atomicAdd(totals + index, count);
    }

    /* Adds the counters of codes [base, base + 2 * words) to the totals. */
    static __device__ void fold(const unsigned *counters, unsigned words,
                                unsigned base, total_t *totals)
    {
        for (unsigned i = threadIdx.x; i < words; i += THREADS) {
            unsigned both = counters[i];
            if (both & 0xffff)
                add(totals, base + i, both & 0xffff);
            if (both >> 16)
                add(totals, base + words + i, both >> 16);
        }
    }
};

struct codes16 : plain {
    enum { SIZE = 2, BITS = 16, COUNT = 8, EVERY = 1 };

    static __device__ unsigned index(const histogram &, const vector &v, int i)
    {
        return v.half[i];
    }

    static __device__ unsigned one(const histogram &,
                                   const unsigned char *at)
    {
        return *reinterpret_cast<const uint16_t *>(at);
    }
};

/* Pairs of neighbours, as one index: as fast, by bytes, as 16-bit codes. */
struct pairs8 {
    enum { SIZE = 1, BITS = 16, COUNT = 8, EVERY = 1 };

    static __device__ unsigned index(const histogram &, const vector &v, int i)
    {
        return v.half[i];
    }

    static __device__ unsigned one(const histogram &,
                                   const unsigned char *at)
    {
        return *at;
    }

    static __device__ void add(total_t *totals, unsigned pair, total_t count)
    {
        atomicAdd(totals + (pair & 0xff), count);
        atomicAdd(totals + (pair >> 8), count);
    }

    /* A thread always meets the same lower byte, since its step is a multiple
     * of 256, and a warp the same upper byte. */
    static __device__ void fold(const unsigned *counters, unsigned words,
                                unsigned base, total_t *totals)
    {
        total_t lower = 0;
        for (unsigned i = threadIdx.x; i < words; i += THREADS) {
            unsigned a = counters[i] & 0xffff, b = counters[i] >> 16;
            lower += a + b;
            a = __reduce_add_sync(ALL, a);
            b = __reduce_add_sync(ALL, b);
            if (threadIdx.x % LANES == 0) {
                atomicAdd(totals + ((base + i) >> 8), total_t{a});
                atomicAdd(totals + ((base + words + i) >> 8), total_t{b});
            }
        }
        atomicAdd(totals + (threadIdx.x & 0xff), lower);
    }
};

/* The top digits of keys. */
struct top32 : plain {
    enum { SIZE = 4, BITS = TP_SELECT_TOP_BITS, COUNT = 4, EVERY = 1 };

    static __device__ unsigned key(const histogram &job, uint32_t code)
    {
        return static_cast<unsigned>(tp_code_key(job.order, 32, code) >>
                                     (32 - BITS));
    }

    static __device__ unsigned index(const histogram &job, const vector &v,
                                     int i)
    {
        return key(job, v.word[i]);
    }

    static __device__ unsigned one(const histogram &job,
                                   const unsigned char *at)
    {
        return key(job, *reinterpret_cast<const uint32_t *>(at));
    }
};

struct top64 : plain {
    enum { SIZE = 8, BITS = TP_SELECT_TOP_BITS, COUNT = 2, EVERY = 1 };

    static __device__ unsigned key(const histogram &job, uint64_t code)
    {
        return static_cast<unsigned>(tp_code_key(job.order, 64, code) >>
                                     (64 - BITS));
    }

    static __device__ unsigned index(const histogram &job, const vector &v,
                                     int i)
    {
        return key(job, v.two[i]);
    }

    static __device__ unsigned one(const histogram &job,
                                   const unsigned char *at)
    {
        return key(job, *reinterpret_cast<const uint64_t *>(at));
    }
};

__device__ unsigned bin_of(double value)
{
    bool counts = value != 0 && fabs(value) < INFINITY;
    return counts ? tp_bin_of(value) : NONE;
}

struct bins32 : plain {
    enum { SIZE = 4, BITS = 12, COUNT = 4, EVERY = 0 };

    static __device__ unsigned index(const histogram &job, const vector &v,
                                     int i)
    {
        return bin_of(tp_code_value(job.dtype, v.word[i]));
    }

    static __device__ unsigned one(const histogram &job,
                                   const unsigned char *at)
    {
        uint32_t code = *reinterpret_cast<const uint32_t *>(at);
        return bin_of(tp_code_value(job.dtype, code));
    }
};

struct bins64 : plain {
    enum { SIZE = 8, BITS = 12, COUNT = 2, EVERY = 0 };

    static __device__ unsigned index(const histogram &job, const vector &v,
                                     int i)
    {
        return bin_of(tp_code_value(job.dtype, v.two[i]));
    }

    static __device__ unsigned one(const histogram &job,
                                   const unsigned char *at)
    {
        uint64_t code = *reinterpret_cast<const uint64_t *>(at);
        return bin_of(tp_code_value(job.dtype, code));
    }
};

/* --- counting ------------------------------------------------------------- */

/* The counters of a block: of one range of the indices. */
struct counters_t {
    unsigned *words; /* and a spare one for each lane                       */
    unsigned range; /* its number                                           */
    int bits;       /* of an index inside it                                */
};

/* The word of an index, which may be of any range. */
__device__ unsigned word_of(const counters_t &to, unsigned index)
{
    return index & ((1u << (to.bits - 1)) - 1);
}

/* Adds to the counter of an index of the range, if wanted; if not, nothing to
 * the lane's spare word, which is less than a branch. Returns the word before
 * that. */
__device__ unsigned add(const counters_t &to, unsigned index, unsigned times,
                        bool wanted)
{
    const bool upper = index >> (to.bits - 1) & 1;
    const unsigned spare = (1u << (to.bits - 1)) + threadIdx.x % LANES;
    const unsigned at = wanted ? word_of(to, index) : spare;
    const unsigned more = upper ? times << 16 : times;
    return atomicAdd(to.words + at, wanted ? more : 0);
}

/* Whether an index is of the range: NONE and COLD never are. */
__device__ bool has(const counters_t &to, unsigned index)
{
    return index >> to.bits == to.range;
}

/* Moves half the range of both counters of a word that are beyond it. */
template <class KIND>
__device__ void settle(const histogram &job, const counters_t &to,
                       unsigned index)
{
    if (!has(to, index))
        return;
    const unsigned at = word_of(to, index);
    const unsigned before = atomicAnd(to.words + at, ~BEYOND);
    const unsigned lower = (to.range << to.bits) + at;
    if (before & HALF)
        KIND::add(job.totals, lower, HALF);
    if (before >> 31)
        KIND::add(job.totals, lower + (1u << (to.bits - 1)), HALF);
}

/* Indices that several lanes of a warp have; COLD: none, b if a is. */
struct hot_t {
    unsigned a, b;
    bool all; /* lanes showed a                                             */
};

/* Those of the first lane, and of the first that has another, of which each
 * lane shows one. */
__device__ hot_t find_hot(unsigned mine)
{
    hot_t hot;
    hot.a = __shfl_sync(ALL, mine, 0);
    const unsigned same = __ballot_sync(ALL, mine == hot.a);
    hot.b = __shfl_sync(ALL, mine, (__ffs(int(~same)) - 1) & (LANES - 1));
    const unsigned others = __ballot_sync(ALL, mine == hot.b) & ~same;
    if (__popc(same) < HOT || hot.a == NONE)
        hot.a = COLD;
    if (__popc(others) < HOT || hot.b == NONE)
        hot.b = COLD;
    if (hot.a == COLD)
        return {hot.b, COLD, false};
    hot.all = same == ALL;
    return hot;
}

/* Counts an index that each lane has `times` times. */
__device__ unsigned count_hot(const counters_t &to, unsigned index,
                              unsigned times)
{
    if (index >= COLD || !has(to, index)) /* the same for all lanes */
        return 0;
    times = __reduce_add_sync(ALL, times);
    return add(to, index, times, threadIdx.x % LANES == 0);
}

/* Counts vectors with hot indices, one or TWO. */
template <class KIND, bool TWO>
__device__ unsigned count_around(const histogram &job, const counters_t &to,
                                 const vector &v, const hot_t &hot)
{
    unsigned seen = 0, times_a = 0, times_b = 0;
    TP_UNROLL
    for (int i = 0; i < KIND::COUNT; i++) {
        const unsigned index = KIND::index(job, v, i);
        const bool is_a = index == hot.a, is_b = TWO && index == hot.b;
        times_a += is_a;
        times_b += is_b;
        seen |= add(to, index, 1, !is_a && !is_b);
    }
    seen |= count_hot(to, hot.a, times_a);
    return TWO ? seen | count_hot(to, hot.b, times_b) : seen;
}

/* Whether all indices of a warp are the same one. */
template <class KIND>
__device__ bool is_constant(const histogram &job, const vector &v,
                            unsigned index)
{
    bool same = true;
    TP_UNROLL
    for (int i = 0; i < KIND::COUNT; i++)
        same = same && KIND::index(job, v, i) == index;
    return __all_sync(ALL, same);
}

/* Counts vectors of which all indices are of the range, the only one. */
template <class KIND>
__device__ unsigned count_all(const histogram &job, unsigned *words,
                              const vector &v, const hot_t &hot)
{
    const counters_t to = {words, 0, KIND::BITS};
    if (hot.a == COLD) {
        unsigned seen = 0;
        TP_UNROLL
        for (int i = 0; i < KIND::COUNT; i++)
            seen |= add(to, KIND::index(job, v, i), 1, true);
        return seen;
    }
    if (hot.b != COLD)
        return count_around<KIND, true>(job, to, v, hot);
    if (hot.all && is_constant<KIND>(job, v, hot.a))
        return count_hot(to, hot.a, KIND::COUNT);
    return count_around<KIND, false>(job, to, v, hot);
}

/* Counts the vectors that some lanes have; the others' have no indices. */
template <class KIND>
__device__ unsigned count_some(const histogram &job, const counters_t &to,
                               const vector &v, bool some, const hot_t &hot)
{
    unsigned seen = 0, times_a = 0, times_b = 0;
    TP_UNROLL
    for (int i = 0; i < KIND::COUNT; i++) {
        const unsigned index = some ? KIND::index(job, v, i) : NONE;
        times_a += index == hot.a;
        times_b += index == hot.b;
        seen |= add(to, index, 1,
                    index != hot.a && index != hot.b && has(to, index));
    }
    seen |= count_hot(to, hot.a, times_a);
    return seen | count_hot(to, hot.b, times_b);
}

/* Counts the vectors of a warp. */
template <class KIND>
__device__ void count_vector(const histogram &job, const counters_t &to,
                             const vector &v, bool some)
{
    const hot_t hot = find_hot(some ? KIND::index(job, v, 0) : NONE);
    unsigned seen;
    if (KIND::EVERY && job.split == 0 && __all_sync(ALL, some))
        seen = count_all<KIND>(job, to.words, v, hot);
    else
        seen = count_some<KIND>(job, to, v, some, hot);
    if ((seen & BEYOND) == 0)
        return;
    TP_UNROLL
    for (int i = 0; i < KIND::COUNT; i++)
        settle<KIND>(job, to, some ? KIND::index(job, v, i) : NONE);
    settle<KIND>(job, to, hot.a);
    settle<KIND>(job, to, hot.b);
}

/* The few codes before and behind the aligned vectors. */
template <class KIND>
__device__ void count_ends(const histogram &job)
{
    const uint64_t body = job.vectors * (16 / KIND::SIZE);
    const uint64_t ends = job.n - body; /* less than 32 */
    if (blockIdx.x != 0 || threadIdx.x >= ends)
        return;
    uint64_t i = threadIdx.x < job.head ? threadIdx.x : body + threadIdx.x;
    unsigned index = KIND::one(job, job.codes + i * KIND::SIZE);
    if (index != NONE)
        atomicAdd(job.totals + index, total_t{1});
}

template <class KIND>
__global__ void __launch_bounds__(THREADS) count_codes(histogram job)
{
    static_assert(HALF + (THREADS * BATCH + LANES) * KIND::COUNT <= 0xffff,
                  "counters overflow");
    TP_SHARED(unsigned, counters);
    const unsigned range = blockIdx.x & ((1u << job.split) - 1);
    const counters_t to = {counters, range, KIND::BITS - job.split};
    const unsigned words = 1u << (to.bits - 1);
    for (unsigned i = threadIdx.x; i < words + LANES; i += THREADS)
        counters[i] = 0;
    const vector *from = reinterpret_cast<const vector *>(
        job.codes + job.head * KIND::SIZE);
    const uint64_t step =
        uint64_t{gridDim.x >> job.split} * THREADS * BATCH;
    uint64_t base = uint64_t{blockIdx.x >> job.split} * THREADS * BATCH;
    vector next[BATCH] = {};
    TP_UNROLL
    for (int i = 0; i < BATCH; i++) {
        uint64_t at = base + i * THREADS + threadIdx.x;
        if (at < job.vectors)
            next[i] = from[at];
    }
    __syncthreads();
    for (; base < job.vectors; base += step) {
        vector v[BATCH];
        TP_UNROLL
        for (int i = 0; i < BATCH; i++) { /* read ahead over the barrier */
            uint64_t at = base + step + i * THREADS + threadIdx.x;
            v[i] = next[i];
            if (at < job.vectors)
                next[i] = from[at];
        }
        TP_UNROLL
        for (int i = 0; i < BATCH; i++)
            count_vector<KIND>(job, to, v[i],
                               base + i * THREADS + threadIdx.x <
                                   job.vectors);
        __syncthreads();
    }
    KIND::fold(counters, words, range << to.bits, job.totals);
    count_ends<KIND>(job);
}

template <class KIND>
int start(const struct tp_kernel_place *place, const struct tp_span *span,
          uint64_t *totals)
{
    if (span->n == 0)
        return 0;
    histogram job = {};
    job.codes = static_cast<const unsigned char *>(span->codes);
    job.n = span->n;
    job.head = (16 - reinterpret_cast<uintptr_t>(span->codes) % 16) % 16 /
               KIND::SIZE;
    job.head = job.head < job.n ? job.head : job.n;
    job.vectors = (job.n - job.head) * KIND::SIZE / 16;
    job.totals = reinterpret_cast<total_t *>(totals);
    job.order = tp_code_order_of(span->dtype);
    job.dtype = span->dtype;
    const size_t spare = LANES * sizeof(unsigned);
    size_t shared = size_t{2} << KIND::BITS;
    for (; shared + spare > place->shared; shared /= 2)
        job.split++;
    shared += spare;
    const uint64_t share = THREADS * BATCH;
    uint64_t blocks = (job.vectors + share - 1) / share;
    const uint64_t most =
        static_cast<uint64_t>(place->multiprocessors) >> job.split;
    blocks = blocks < most ? blocks : most;
    blocks = blocks < 1 ? 1 : blocks;
    auto kernel = count_codes<KIND>;
    cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
    if (status != cudaSuccess)
        return status;
    TP_LAUNCH(kernel, unsigned(blocks << job.split), THREADS, shared,
              place->stream, job);
    return cudaGetLastError();
}

} // namespace

int tp_kernel_place_init(struct tp_kernel_place *place,
                         struct CUstream_st *stream)
{
    int device = 0, shared = 0;
    *place = {stream, 0, 0};
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(&place->multiprocessors,
                                        cudaDevAttrMultiProcessorCount,
                                        device);
    if (status == cudaSuccess)
        status = cudaDeviceGetAttribute(
            &shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    place->shared = static_cast<uint64_t>(shared);
    return status;
}

int tp_kernel_codes(const struct tp_kernel_place *place,
                    const struct tp_span *span, uint64_t *totals)
{
    return tp_dtype_info(span->dtype)->code_size == 1
               ? start<pairs8>(place, span, totals)
           : place->shared >= TP_KERNEL_CODES16_SHARED
               ? tp_kernel_codes16(place, span, totals)
               : start<codes16>(place, span, totals);
}

int tp_kernel_top(const struct tp_kernel_place *place,
                  const struct tp_span *span, uint64_t *totals)
{
    return tp_dtype_info(span->dtype)->code_size == 4
               ? start<top32>(place, span, totals)
               : start<top64>(place, span, totals);
}

int tp_kernel_bins(const struct tp_kernel_place *place,
                   const struct tp_span *span, uint64_t *totals)
{
    return tp_dtype_info(span->dtype)->code_size == 4
               ? start<bins32>(place, span, totals)
               : start<bins64>(place, span, totals);
}

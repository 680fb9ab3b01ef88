/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
#include "cuda/warp.h"
extern "C" {
#include "data/dtype.h"
#include "stats/select_math.h"
}

/*
 * The later readings of a selection. About one key in a hundred is in a group,
 * so its counter is in global memory; what takes time is to pass the others
 * by. A bit in shared memory for each value of the top 16 bits of a key tells
 * most of them. A thread first looks up the bits of all it has read, and then
 * goes through the few that are set, rather than have its warp wait at each
 * code for the one lane that has something to do.
 *
 * Of constants, masks and small integers, all keys are in a group and share
 * few counters: beside the help of the warp, each block keeps some in shared
 * memory, those it meets first.
 */
namespace {

enum {
    THREADS = 512,
    /* Vectors of 16 bytes a thread has under way at a time. */
    BATCH = 4,
    /* Blocks for each multiprocessor. */
    BLOCKS = 4,
    FILTER_WORDS = 65536 / 32,
    KEPT = 1024 /* counters of a block                                      */
};

typedef unsigned long long total_t;

struct selection {
    const struct tp_select *select; /* of the device                        */
    enum tp_code_order order;
    unsigned groups;
    const unsigned char *codes;
    uint64_t n;       /* codes                                              */
    uint64_t head;    /* of them, before the first aligned vector           */
    uint64_t vectors; /* then                                               */
    total_t *totals;
};

/* A counter in shared memory. A block adds less than 2^32. */
struct kept {
    unsigned index; /* of the total, or TP_WARP_NONE                        */
    unsigned times;
};

struct shared {
    unsigned filter[FILTER_WORDS];
    kept counters[KEPT];
};

union vector {
    uint4 quad;
    uint32_t word[4];
    uint64_t two[2];
};

/* --- codes of 32 and of 64 bits ------------------------------------------- */

/* Each has its type CODE, and of() in a vector. */
struct words {
    typedef uint32_t code;
    static __device__ code of(const vector &v, int i) { return v.word[i]; }
};

struct doubles {
    typedef uint64_t code;
    static __device__ code of(const vector &v, int i) { return v.two[i]; }
};

template <class KIND>
struct width {
    enum { SIZE = sizeof(typename KIND::code), BITS = 8 * SIZE };
    enum { COUNT = 16 / SIZE }; /* codes in a vector                        */
};

/* Narrow keys are computed as such. */
template <class KIND>
__device__ typename KIND::code key_of(const selection &job,
                                      typename KIND::code code)
{
    return static_cast<typename KIND::code>(
        tp_code_key(job.order, width<KIND>::BITS, code));
}

/* Whether a key may be in a group. */
template <class KIND>
__device__ unsigned may_be(const shared &mine, typename KIND::code key)
{
    const unsigned top =
        static_cast<unsigned>(key >> (width<KIND>::BITS - 16));
    return mine.filter[top / 32] >> top % 32 & 1;
}

/* --- what is done with keys of a group ------------------------------------ */

/* Adds to a counter that the block keeps, or may keep from now on, else to the
 * total. */
__device__ void count(const selection &job, shared *mine, unsigned index,
                      unsigned times)
{
    kept *counter = mine->counters + index % KEPT;
    unsigned owner = *const_cast<volatile unsigned *>(&counter->index);
    if (owner == TP_WARP_NONE)
        owner = atomicCAS(&counter->index, TP_WARP_NONE, index);
    if (owner == TP_WARP_NONE || owner == index)
        atomicAdd(&counter->times, times);
    else
        atomicAdd(job.totals + index, total_t{times});
}

/* Each has take(), called by all lanes of a warp, some with a key of a group
 * (else `group` is job.groups). */
struct digits {
    template <class KIND>
    static __device__ void take(const selection &job, shared *mine,
                                unsigned group, uint64_t key)
    {
        unsigned index = TP_WARP_NONE;
        if (group < job.groups)
            index = tp_select_counter(job.select, width<KIND>::BITS, group,
                                      key);
        tp_warp_count(index, [&](unsigned which, unsigned times) {
            count(job, mine, which, times);
        });
    }

    static __device__ void finish(const selection &job, const shared &mine)
    {
        for (unsigned i = threadIdx.x; i < KEPT; i += THREADS) {
            const kept counter = mine.counters[i];
            if (counter.index != TP_WARP_NONE)
                atomicAdd(job.totals + counter.index,
                          total_t{counter.times});
        }
    }
};

/*
 * Keys go behind their number. Where there are more than fit (the file was
 * written to between two readings), who comes too late takes itself back:
 * since nothing else does, the number never falls below TP_SELECT_SMALL then.
 */
struct keys {
    template <class KIND>
    static __device__ void take(const selection &job, shared *,
                                unsigned group, uint64_t key)
    {
        const volatile total_t *length = job.totals;
        const bool wanted = group < job.groups && *length < TP_SELECT_SMALL;
        const unsigned lanes = __ballot_sync(TP_WARP_ALL, wanted);
        if (lanes == 0)
            return;
        const unsigned lane = threadIdx.x % TP_WARP_LANES;
        const int first = __ffs(static_cast<int>(lanes)) - 1;
        total_t at = 0;
        if (lane == static_cast<unsigned>(first))
            at = atomicAdd(job.totals, total_t(__popc(lanes)));
        at = __shfl_sync(TP_WARP_ALL, at, first) +
             __popc(lanes & ((1u << lane) - 1));
        if (wanted && at < TP_SELECT_SMALL)
            job.totals[1 + at] = key;
        else if (wanted)
            atomicAdd(job.totals, ~total_t{0});
    }

    static __device__ void finish(const selection &, const shared &) {}
};

/* --- reading -------------------------------------------------------------- */

/* Empties the counters, and makes the filter of the groups' prefixes. */
__device__ void prepare(const selection &job, shared *mine)
{
    for (unsigned i = threadIdx.x; i < FILTER_WORDS; i += THREADS)
        mine->filter[i] = 0;
    for (unsigned i = threadIdx.x; i < KEPT; i += THREADS)
        mine->counters[i] = {TP_WARP_NONE, 0};
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned g = 0; g < job.groups; g++) {
            const unsigned top = static_cast<unsigned>(
                job.select->prefix[g] >> (job.select->known - 16));
            mine->filter[top / 32] |= 1u << top % 32;
        }
    }
    __syncthreads();
}

/* Takes the code of each lane that has one. */
template <class KIND, class STEP>
__device__ void take_code(const selection &job, shared *mine, bool some,
                          const unsigned char *at)
{
    typename KIND::code key = 0;
    unsigned group = job.groups;
    if (some) {
        key = key_of<KIND>(
            job, *reinterpret_cast<const typename KIND::code *>(at));
        group = tp_select_group(job.select, width<KIND>::BITS, key);
    }
    STEP::template take<KIND>(job, mine, group, key);
}

/* Which codes of a thread's vectors, from the base-th on, may be in a group:
 * a bit for each. */
template <class KIND>
__device__ unsigned look(const selection &job, const shared &mine,
                         const vector *from, uint64_t base)
{
    enum { COUNT = width<KIND>::COUNT };
    vector v[BATCH] = {};
    unsigned found = 0;
    TP_UNROLL
    for (int i = 0; i < BATCH; i++) {
        const uint64_t at = base + i * THREADS + threadIdx.x;
        if (at < job.vectors)
            v[i] = from[at];
    }
    TP_UNROLL
    for (int i = 0; i < BATCH; i++) {
        unsigned bits = 0;
        TP_UNROLL
        for (int k = 0; k < COUNT; k++)
            bits |= may_be<KIND>(mine, key_of<KIND>(job, KIND::of(v[i], k)))
                    << (i * COUNT + k);
        if (base + i * THREADS + threadIdx.x < job.vectors)
            found |= bits;
    }
    return found;
}

/* The few codes before and behind the aligned vectors; one warp. */
template <class KIND, class STEP>
__device__ void take_ends(const selection &job, shared *mine)
{
    const uint64_t body = job.vectors * width<KIND>::COUNT;
    const uint64_t ends = job.n - body; /* less than 8 */
    if (blockIdx.x != 0 || threadIdx.x >= TP_WARP_LANES)
        return;
    const uint64_t i =
        threadIdx.x < job.head ? threadIdx.x : body + threadIdx.x;
    take_code<KIND, STEP>(job, mine, threadIdx.x < ends,
                          job.codes + i * width<KIND>::SIZE);
}

template <class KIND, class STEP>
__global__ void __launch_bounds__(THREADS) read_again(selection job)
{
    enum { SIZE = width<KIND>::SIZE, COUNT = width<KIND>::COUNT };
    static_assert(BATCH * COUNT <= 32, "a bit for each");
    TP_SHARED(shared, mine);
    prepare(job, mine);
    const unsigned char *body = job.codes + job.head * SIZE;
    const vector *from = reinterpret_cast<const vector *>(body);
    const uint64_t step = uint64_t{gridDim.x} * THREADS * BATCH;
    uint64_t base = uint64_t{blockIdx.x} * THREADS * BATCH;
    for (; base < job.vectors; base += step) {
        unsigned found = look<KIND>(job, *mine, from, base);
        while (__any_sync(TP_WARP_ALL, found != 0)) {
            const bool some = found != 0;
            const unsigned i =
                some ? __ffs(static_cast<int>(found)) - 1 : 0;
            const uint64_t at =
                base + i / COUNT * THREADS + threadIdx.x; /* vector */
            take_code<KIND, STEP>(job, mine, some,
                                  body + at * 16 + i % COUNT * SIZE);
            found &= found - 1;
        }
    }
    take_ends<KIND, STEP>(job, mine);
    __syncthreads();
    STEP::finish(job, *mine);
}

template <class KIND, class STEP>
int start(const struct tp_kernel_place *place,
          const struct tp_kernel_select *ask)
{
    enum { SIZE = width<KIND>::SIZE };
    const uintptr_t from = reinterpret_cast<uintptr_t>(ask->span.codes);
    selection job = {};
    job.select = ask->select;
    job.order = ask->host->order;
    job.groups = ask->host->groups;
    job.codes = static_cast<const unsigned char *>(ask->span.codes);
    job.n = ask->span.n;
    job.head = (16 - from % 16) % 16 / SIZE;
    job.head = job.head < job.n ? job.head : job.n;
    job.vectors = (job.n - job.head) * SIZE / 16;
    job.totals = reinterpret_cast<total_t *>(ask->totals);
    const uint64_t share = THREADS * BATCH;
    uint64_t blocks = (job.vectors + share - 1) / share;
    const uint64_t most = static_cast<uint64_t>(place->multiprocessors) *
                          BLOCKS;
    blocks = blocks < 1 ? 1 : blocks < most ? blocks : most;
    auto kernel = read_again<KIND, STEP>;
    TP_LAUNCH(kernel, unsigned(blocks), THREADS, sizeof(shared),
              place->stream, job);
    return cudaGetLastError();
}

} // namespace

int tp_kernel_select(const struct tp_kernel_place *place,
                     const struct tp_kernel_select *job)
{
    const bool narrow = job->host->bits == 32;
    if (job->span.n == 0 || job->host->next == TP_SELECT_DONE)
        return 0;
    if (job->host->next == TP_SELECT_DIGIT)
        return narrow ? start<words, digits>(place, job)
                      : start<doubles, digits>(place, job);
    return narrow ? start<words, keys>(place, job)
                  : start<doubles, keys>(place, job);
}

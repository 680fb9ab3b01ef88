/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"
#include "cuda/warp.h"

/*
 * Lists of the codes of small tensors. A block takes one after the other: it
 * counts in shared memory, two counters of 16 bits in a word (so many codes
 * fit in one), and then writes those that are not 0, each warp those of its
 * share of the codes. Where the 65 536 counters of 16-bit codes do not fit,
 * it takes the tensor several times, each for a range of codes.
 */
namespace {

enum {
    THREADS = 1024,
    /* Vectors of 16 bytes of a thread, all under way at a time. */
    BATCH = 4
};
const unsigned LANES = TP_WARP_LANES, WARPS = THREADS / LANES;
static_assert(THREADS * BATCH * 16 >= TP_SELECT_SMALL * 2, "all at a time");
static_assert(TP_SELECT_SMALL < 65536, "counters overflow");

struct work {
    const unsigned char *codes;
    struct tp_kernel_list *lists;
    uint32_t count;
    uint32_t *entries;
    int bits; /* log2 of the counters of a block, at least 8                */
};

struct shared {
    unsigned of_warp[WARPS]; /* entries                                     */
    unsigned first;          /* entry of the tensor                         */
    unsigned counters[1];    /* as many words as there is room for          */
};

/* A range of codes of a tensor. */
struct range {
    const unsigned char *codes;
    unsigned n;
    unsigned first; /* code                                                 */
    int bits;       /* log2 of the number of codes                          */
};

union vector {
    uint4 quad;
    uint64_t two[2];
};

/* --- counting ------------------------------------------------------------- */

/* Counts a code of each lane that has one. */
__device__ void count(const range &of, shared *mine, bool some, unsigned code)
{
    const unsigned index = code - of.first;
    const bool counts = some && index >> of.bits == 0;
    tp_warp_count(counts ? index : TP_WARP_NONE,
                  [&](unsigned which, unsigned times) {
                      atomicAdd(mine->counters + which / 2,
                                times << which % 2 * 16);
                  });
}

/* Takes the first code out of a vector. */
template <class CODE>
__device__ unsigned next_code(vector *v)
{
    const int bits = 8 * sizeof(CODE);
    const CODE code = static_cast<CODE>(v->two[0]);
    v->two[0] = v->two[0] >> bits | v->two[1] << (64 - bits);
    v->two[1] >>= bits;
    return code;
}

/* The few codes before and behind the vectors, less than 32; one warp. */
template <class CODE>
__device__ void count_ends(const range &of, shared *mine, unsigned head,
                           unsigned body)
{
    if (threadIdx.x >= LANES)
        return;
    const bool some = threadIdx.x < of.n - body;
    const unsigned at = threadIdx.x < head ? threadIdx.x : body + threadIdx.x;
    count(of, mine, some,
          some ? reinterpret_cast<const CODE *>(of.codes)[at] : 0);
}

template <class CODE>
__device__ void count_codes(const range &of, shared *mine)
{
    const unsigned each = 16 / sizeof(CODE), lane = threadIdx.x % LANES;
    const unsigned past = reinterpret_cast<uintptr_t>(of.codes) % 16;
    unsigned head = (16 - past) % 16 / sizeof(CODE);
    head = head < of.n ? head : of.n;
    const unsigned vectors = (of.n - head) / each;
    const vector *from = reinterpret_cast<const vector *>(
        of.codes + head * sizeof(CODE));
    vector v[BATCH] = {};
    TP_UNROLL
    for (unsigned i = 0; i < BATCH; i++)
        if (i * THREADS + threadIdx.x < vectors)
            v[i] = from[i * THREADS + threadIdx.x];
    for (unsigned at = threadIdx.x; at - lane < vectors; at += THREADS) {
        for (unsigned k = 0; k < each; k++)
            count(of, mine, at < vectors, next_code<CODE>(v));
        TP_UNROLL
        for (int i = 1; i < BATCH; i++)
            v[i - 1] = v[i];
    }
    count_ends<CODE>(of, mine, head, vectors * each);
}

/* --- lists ---------------------------------------------------------------- */

/* Calls take(i, word, low, high) for the words of this warp, in order: the
 * i-th is the lane's, low and high tell the lanes that have a code there. */
template <class TAKE>
__device__ void for_words(const range &of, const shared &mine, TAKE take)
{
    const unsigned words = 1u << (of.bits - 1);
    const unsigned each = words / WARPS < LANES ? LANES : words / WARPS;
    const unsigned lane = threadIdx.x % LANES;
    const unsigned from = threadIdx.x / LANES * each;
    for (unsigned i = from; i < from + each && i < words; i += LANES) {
        const unsigned word = mine.counters[i + lane];
        const unsigned low = __ballot_sync(TP_WARP_ALL, (word & 0xffff) != 0);
        const unsigned high = __ballot_sync(TP_WARP_ALL, word >> 16 != 0);
        take(i + lane, word, low, high);
    }
}

/* The number of entries, and *before, those of the warps before this one. */
__device__ unsigned measure(const range &of, shared *mine, unsigned *before)
{
    const unsigned warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    unsigned length = 0;
    for_words(of, *mine, [&](unsigned, unsigned, unsigned low, unsigned high) {
        length += __popc(low) + __popc(high);
    });
    if (lane == 0)
        mine->of_warp[warp] = length;
    __syncthreads();
    const unsigned other = mine->of_warp[lane];
    *before = __reduce_add_sync(TP_WARP_ALL, lane < warp ? other : 0);
    return __reduce_add_sync(TP_WARP_ALL, other);
}

/* Writes the entries of this warp, and empties its counters. */
__device__ void write(const range &of, shared *mine, uint32_t *entries)
{
    const unsigned below = (1u << threadIdx.x % LANES) - 1;
    for_words(of, *mine, [&](unsigned i, unsigned word, unsigned low,
                             unsigned high) {
        uint32_t *at = entries + __popc(low & below) + __popc(high & below);
        const uint32_t code = of.first + 2 * i;
        if (word & 0xffff)
            *at++ = code << 16 | ((word & 0xffff) - 1);
        if (word >> 16)
            *at = (code + 1) << 16 | ((word >> 16) - 1);
        if (word)
            mine->counters[i] = 0;
        entries += __popc(low) + __popc(high);
    });
}

/* Takes room of so many entries for the whole block. */
__device__ unsigned reserve(const work &job, shared *mine, unsigned length)
{
    if (threadIdx.x == 0)
        mine->first = 1 + atomicAdd(job.entries, length);
    __syncthreads();
    return mine->first;
}

__device__ void make_list(const work &job, shared *mine,
                          struct tp_kernel_list *list)
{
    const int code_bits = 8 * static_cast<int>(list->code_size);
    const unsigned codes = 1u << code_bits;
    range of = {job.codes + list->offset, list->n, 0,
                job.bits < code_bits ? job.bits : code_bits};
    unsigned first = 0, length = 0;
    for (; of.first < codes; of.first += 1u << of.bits) {
        if (code_bits == 8)
            count_codes<uint8_t>(of, mine);
        else
            count_codes<uint16_t>(of, mine);
        __syncthreads();
        unsigned before;
        const unsigned found = measure(of, mine, &before);
        if (of.bits == code_bits) /* else it is not known how many follow */
            first = reserve(job, mine, found);
        else if (of.first == 0)
            first = reserve(job, mine, of.n);
        write(of, mine, job.entries + first + length + before);
        __syncthreads();
        length += found;
    }
    if (threadIdx.x == 0) {
        list->first = first;
        list->length = length;
    }
}

__global__ void __launch_bounds__(THREADS) make_lists(work job)
{
    TP_SHARED(shared, mine);
    for (unsigned i = threadIdx.x; i < 1u << (job.bits - 1); i += THREADS)
        mine->counters[i] = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x; i < job.count; i += gridDim.x)
        make_list(job, mine, job.lists + i);
}

} // namespace

int tp_kernel_lists(const struct tp_kernel_place *place,
                    const struct tp_kernel_lists *job)
{
    cudaError_t status = cudaMemsetAsync(job->entries, 0,
                                         sizeof *job->entries, place->stream);
    if (status != cudaSuccess || job->count == 0)
        return status;
    work todo = {static_cast<const unsigned char *>(job->codes), job->lists,
                 job->count, job->entries, 16};
    size_t room = sizeof(shared);
    while (todo.bits > 8 && room + (size_t{2} << todo.bits) > place->shared)
        todo.bits--;
    room += size_t{2} << todo.bits;
    status = cudaFuncSetAttribute(
        make_lists, cudaFuncAttributeMaxDynamicSharedMemorySize, int(room));
    if (status != cudaSuccess)
        return status;
    const unsigned most = static_cast<unsigned>(place->multiprocessors);
    TP_LAUNCH(make_lists, job->count < most ? job->count : most, THREADS,
              room, place->stream, todo);
    return cudaGetLastError();
}

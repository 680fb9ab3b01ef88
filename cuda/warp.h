/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_WARP_H
#define TP_CUDA_WARP_H

/*
 * Counting by a warp, for kernels (C++ only). Where most values are equal
 * (zeros, masks, constants) all lanes would wait for one address: so what
 * many lanes hold is added once. So are the sums of a block, when it ends:
 * thousands of warps would wait for the few addresses of the results.
 */
#ifdef __cplusplus

#include "cuda/launch.h"

enum {
    TP_WARP_LANES = 32,
    /* So many colliding additions take about as long as finding them. */
    TP_WARP_HOT = 6
};
const unsigned TP_WARP_ALL = 0xffffffffu;
const unsigned TP_WARP_NONE = 0xffffffffu; /* no counter                   */

/* Counts the index of each lane, if it has one, by calls of
 * add(index, times). All lanes of the warp must be here. */
template <class ADD>
static __device__ void tp_warp_count(unsigned index, ADD add)
{
    const unsigned lane = threadIdx.x % TP_WARP_LANES;
    unsigned lanes = __ballot_sync(TP_WARP_ALL, index != TP_WARP_NONE);
    for (int i = 0; i < 2 && __popc(lanes) >= TP_WARP_HOT; i++) {
        const int first = __ffs(static_cast<int>(lanes)) - 1;
        const unsigned hot = __shfl_sync(TP_WARP_ALL, index, first);
        const unsigned same = __ballot_sync(TP_WARP_ALL, index == hot);
        lanes &= ~same;
        if (__popc(same) < TP_WARP_HOT)
            continue;
        if (lane == static_cast<unsigned>(first))
            add(hot, static_cast<unsigned>(__popc(same)));
        if (index == hot)
            index = TP_WARP_NONE;
    }
    if (index != TP_WARP_NONE)
        add(index, 1);
}

/* Adds the sums of all threads of a block of so many warps to *to[0 .. COUNT).
 * All of them must be here, with WARPS * COUNT words of shared memory, which
 * nothing else uses. */
template <int WARPS, int COUNT>
static __device__ void tp_block_add(unsigned long long (&sums)[COUNT],
                                    uint64_t *const (&to)[COUNT])
{
    TP_SHARED(unsigned long long, of_warp);
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) {
        TP_UNROLL
        for (int lanes = TP_WARP_LANES / 2; lanes > 0; lanes /= 2)
            sums[i] += __shfl_xor_sync(TP_WARP_ALL, sums[i], lanes);
        if (threadIdx.x % TP_WARP_LANES == 0)
            of_warp[i * WARPS + threadIdx.x / TP_WARP_LANES] = sums[i];
    }
    __syncthreads();
    TP_UNROLL
    for (int i = 0; i < COUNT; i++) { /* so that `to` is in registers */
        unsigned long long sum = 0;
        for (int w = 0; w < WARPS && threadIdx.x == unsigned(i); w++)
            sum += of_warp[i * WARPS + w];
        if (sum != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(to[i]), sum);
    }
}

#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_WARP_H
#define TP_CUDA_WARP_H

/*
 * Counting by a warp, for kernels (C++ only). Where most values are equal
 * (zeros, masks, constants) all lanes would wait for one address: so what
 * many lanes hold is added once.
 */
#ifdef __cplusplus

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

#endif

#endif

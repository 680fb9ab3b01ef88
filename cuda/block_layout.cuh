/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_BLOCK_LAYOUT_CUH
#define TP_CUDA_BLOCK_LAYOUT_CUH

#include <stdint.h>

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/warp.h"

/*
 * How kernels go through the blocks of block formats. Along rows, neighbouring
 * threads share a block: each has a vector of 16 bytes of it. Down columns,
 * each thread has a block of its own, and neighbours those beside it.
 */
namespace tp_blocks {

enum {
    THREADS = 256,
    WARPS = THREADS / TP_WARP_LANES,
    VECTOR = 16
};

typedef unsigned long long total_t;

/* Bytes of shared memory for so many sums of each thread. */
constexpr unsigned shared_bytes(unsigned sums)
{
    return WARPS * sums * sizeof(total_t);
}

struct layout {
    uint64_t blocks;     /* in all                                          */
    uint64_t per_row;    /* blocks; down columns: columns                   */
    uint64_t row_length; /* codes; down columns: of a column                */
};

/* Blocks of `rows` rows, or of `columns` columns, unless there are none. */
inline layout layout_of(uint64_t block, uint64_t rows, uint64_t row_length,
                        uint64_t columns)
{
    const uint64_t per_row = (row_length + block - 1) / block;
    if (columns != 0)
        return {per_row * columns, columns, row_length};
    if (row_length % block == 0) /* as one long row */
        return {per_row * rows, per_row * rows, row_length * rows};
    return {per_row * rows, per_row, row_length};
}

/* Threads that share a block of codes that are stored so. */
template <class STORED, int BLOCK>
struct sharers {
    enum { COUNT = VECTOR / sizeof(STORED), LANES = BLOCK / COUNT };
};

/* A thread's share of a block of a row: where it begins, in codes, and how
 * many are left of the row from there on. */
struct share {
    uint64_t first, left;
};

template <int BLOCK, int COUNT>
__device__ share share_of(const layout &at, uint64_t block, unsigned lane)
{
    uint64_t row = 0, in_row = block;
    if (at.blocks != at.per_row) {
        row = block / at.per_row;
        in_row = block % at.per_row;
    }
    const uint64_t first = in_row * BLOCK + lane * COUNT;
    const bool some = block < at.blocks && first < at.row_length;
    return {row * at.row_length + first, some ? at.row_length - first : 0};
}

/* Calls take(share, lane, some) for each block along rows that this thread
 * shares as number `lane`; so that all of a warp come by together, also where
 * the thread has none: then not `some`, and nothing is left. */
template <class STORED, int BLOCK, class TAKE>
__device__ void along_rows(const layout &at, TAKE take)
{
    typedef sharers<STORED, BLOCK> by;
    const unsigned lane = threadIdx.x % by::LANES;
    const uint64_t together = THREADS / by::LANES; /* blocks                */
    const uint64_t step = gridDim.x * together;
    for (uint64_t base = blockIdx.x * together; base < at.blocks;
         base += step) {
        const uint64_t block = base + threadIdx.x / by::LANES;
        take(share_of<BLOCK, by::COUNT>(at, block, lane), lane,
             block < at.blocks);
    }
}

/* Starts such a kernel of one argument, for blocks that `lanes` threads share,
 * with so many bytes of shared memory. */
template <class KERNEL, class JOB>
int start(const tp_kernel_place *place, KERNEL kernel, const JOB &job,
          unsigned lanes, unsigned shared)
{
    const uint64_t together = THREADS / lanes;
    uint64_t grid = (job.at.blocks + together - 1) / together;
    const cudaError_t status = tp_resident_grid(
        kernel, THREADS, shared, place->multiprocessors, &grid);
    if (status != cudaSuccess)
        return status;
    TP_LAUNCH(kernel, unsigned(grid), THREADS, shared, place->stream, job);
    return cudaGetLastError();
}

}

#endif

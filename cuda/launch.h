/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_LAUNCH_H
#define TP_CUDA_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the .cu files need in place of CUDA's own syntax, so that the tests can
 * compile them with a C++ compiler and run them without a device
 * (tests/unit/support/cuda_emulator.h, which has its own of these).
 *
 * TP_LAUNCH(kernel, grid, block, shared, stream, arguments...) starts a
 * kernel with so many bytes of shared memory; TP_SHARED(type, name) declares
 * `name`, a pointer to them, inside one; TP_UNROLL stands before a loop.
 */
#ifdef __CUDACC__
#define TP_UNROLL _Pragma("unroll")
#define TP_LAUNCH(kernel, grid, block, shared, stream, ...) \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define TP_SHARED(type, name)                          \
    extern __shared__ __align__(16) unsigned char tp_shared_bytes[]; \
    type *name = reinterpret_cast<type *>(tp_shared_bytes)
#endif

#ifdef __cplusplus

/*
 * The grid for a kernel whose blocks share the work evenly: *grid, which is
 * as many as there is work for, becomes no more than run at a time. What came
 * after these would be too little to keep the memory busy.
 */
template <class KERNEL>
static cudaError_t tp_resident_grid(KERNEL kernel, int threads, size_t shared,
                                    int multiprocessors, uint64_t *grid)
{
    int blocks = 0;
    const cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, threads, shared);
    const uint64_t most = uint64_t(blocks) * uint64_t(multiprocessors);
    *grid = *grid < most ? *grid : most;
    return status;
}

#endif

#endif

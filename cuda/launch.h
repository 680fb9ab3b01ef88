/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_LAUNCH_H
#define TP_CUDA_LAUNCH_H

/*
 * What the .cu files need in place of CUDA's own syntax, so that the tests can
 * compile them with a C++ compiler and run them without a device
 * (tests/unit/cuda_emulator.h, which has its own of these).
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

#endif

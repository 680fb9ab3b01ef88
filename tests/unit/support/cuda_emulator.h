/* SPDX-License-Identifier: MIT */
#ifndef TP_UNIT_CUDA_EMULATOR_H
#define TP_UNIT_CUDA_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * As much of the CUDA runtime, and of how kernels run, as cuda/ uses: the same
 * .cu files, compiled as C++ with this header in front, run on the host.
 *
 * Threads of a block are fibres that change places at barriers and warp
 * operations, in an order that turns round each time. Device memory lies
 * between guards, and starts, as shared memory does, as garbage. What is put
 * into a stream happens only when something waits for it, so who does not
 * wait sees garbage or what stood there before. All calls may come from any
 * thread; they take turns.
 *
 * It shows that kernels count right, not how devices round, reorder stores or
 * how fast they are. So where there is CUDA the same tests are also linked with
 * the real one, and real_device.cpp in place of the emulator: TP_REAL_DEVICE
 * is then defined for those in C++.
 */
#ifdef __cplusplus
extern "C" {
#endif

struct tp_emulator {
    int devices;            /* 0: as without a driver                     */
    int multiprocessors;
    int major, minor;       /* compute capability                         */
    size_t memory;          /* bytes on the device                        */
    size_t shared;          /* bytes of shared memory a block may ask for */
    uint64_t fail_call;     /* the call with this number fails; 0: none   */
    int fail_with;          /* a cudaError_t                              */
    int lost;               /* and so do all calls after it               */
};

/* Two multiprocessors of capability 9.0, 1 GiB, 227 KiB; nothing fails. */
extern const struct tp_emulator tp_emulator_default;

/*
 * Starts anew with these options: no calls, no error, nothing lost. What the
 * last user left behind is forgotten, so ask for it before.
 */
void tp_emulator_begin(const struct tp_emulator *options);

/* False of a real device: the functions that follow then know nothing and
 * return 0. The begin has skipped the test if there is none. */
bool tp_emulator_present(void);

/* Calls that may fail, since the begin: what fail_call counts. */
uint64_t tp_emulator_calls(void);

/* Of them, kernels; and those that a file starts, by its name without folder
 * ("kernel_dims.cu"). */
uint64_t tp_emulator_launches(void);
uint64_t tp_emulator_launches_of(const char *file);

/* Allocations, streams and events that were not given back. */
size_t tp_emulator_leaks(void);

/* Most bytes of device memory in use at once. */
size_t tp_emulator_peak(void);

#ifdef __cplusplus
}

#ifdef TP_REAL_DEVICE
#include <cuda_runtime.h>
#else
#include <cmath>
#include <cstring>
#include <functional>

/* --- the language --------------------------------------------------------- */

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__
#define TP_UNROLL

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
        : x(a), y(b), z(c) {}
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct tp_emulated_place {
    dim3 thread, block, block_size, grid_size;
    void *shared;
};
extern tp_emulated_place tp_emulated;

#define threadIdx (tp_emulated.thread)
#define blockIdx (tp_emulated.block)
#define blockDim (tp_emulated.block_size)
#define gridDim (tp_emulated.grid_size)
#define TP_SHARED(type, name) type *name = static_cast<type *>( \
    tp_emulated.shared)

/* Hands in a value and the kind of operation, waits for the other lanes, and
 * returns what all 32 handed in. */
const uint64_t *tp_emulate_warp(const char *kind, unsigned mask,
                                uint64_t value);
void __syncthreads();

inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    tp_emulate_warp("syncwarp", mask, 0);
}

template <typename T>
uint64_t tp_emulated_bits(T value)
{
    static_assert(sizeof value <= sizeof(uint64_t), "at most 64 bits");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T>
T tp_emulated_value(uint64_t bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline unsigned tp_emulated_lane()
{
    return tp_emulated.thread.x % 32;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane)
{
    const uint64_t *all =
        tp_emulate_warp("shfl", mask, tp_emulated_bits(value));
    return tp_emulated_value<T>(all[lane % 32]);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes)
{
    unsigned from = tp_emulated_lane() ^ static_cast<unsigned>(lanes);
    const uint64_t *all =
        tp_emulate_warp("shfl_xor", mask, tp_emulated_bits(value));
    return tp_emulated_value<T>(all[from]);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes)
{
    unsigned from = tp_emulated_lane() + lanes;
    from = from < 32 ? from : tp_emulated_lane();
    const uint64_t *all =
        tp_emulate_warp("shfl_down", mask, tp_emulated_bits(value));
    return tp_emulated_value<T>(all[from]);
}

inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    const uint64_t *all = tp_emulate_warp("ballot", mask, predicate != 0);
    unsigned ballot = 0;
    for (int i = 0; i < 32; i++)
        ballot |= static_cast<unsigned>(all[i]) << i;
    return ballot;
}

inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) == 0xffffffffu;
}

inline unsigned __match_any_sync(unsigned mask, unsigned value)
{
    const uint64_t *all = tp_emulate_warp("match", mask, value);
    unsigned match = 0;
    for (int i = 0; i < 32; i++)
        match |= static_cast<unsigned>(all[i] == value) << i;
    return match;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value)
{
    const uint64_t *all = tp_emulate_warp("reduce", mask, value);
    unsigned sum = 0;
    for (int i = 0; i < 32; i++)
        sum += static_cast<unsigned>(all[i]);
    return sum;
}

template <typename T>
T atomicAdd(T *at, T value)
{
    T old = *at;
    *at = static_cast<T>(old + value);
    return old;
}

template <typename T>
T atomicCAS(T *at, T expected, T value)
{
    T old = *at;
    *at = old == expected ? value : old;
    return old;
}

template <typename T>
T atomicSub(T *at, T value)
{
    T old = *at;
    *at = static_cast<T>(old - value);
    return old;
}

/* The larger of both halves. */
inline unsigned __vmaxu2(unsigned a, unsigned b)
{
    const unsigned low = (a & 0xffff) > (b & 0xffff) ? a : b;
    const unsigned high = a >> 16 > b >> 16 ? a : b;
    return (high & 0xffff0000u) | (low & 0xffff);
}

template <typename T>
T atomicAnd(T *at, T value)
{
    T old = *at;
    *at = static_cast<T>(old & value);
    return old;
}

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}

template <typename T>
T __ldg(const T *at)
{
    return *at;
}

template <typename T>
T __ldcs(const T *at)
{
    return *at;
}

/* --- the runtime ---------------------------------------------------------- */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorEccUncorrectable = 214,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotReady = 600,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorUnknown = 999
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaDeviceAttr {
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum {
    cudaStreamNonBlocking = 1,
    cudaEventDisableTiming = 2,
    cudaHostAllocDefault = 0
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor, multiProcessorCount;
};

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which,
                                   int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaMalloc(void **memory, size_t size);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t size);
cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size,
                            cudaMemcpyKind kind, cudaStream_t stream = 0);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size,
                       cudaMemcpyKind kind);
cudaError_t cudaMemsetAsync(void *to, int value, size_t size,
                            cudaStream_t stream = 0);
cudaError_t cudaMemset(void *to, int value, size_t size);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);

template <typename T>
cudaError_t cudaMalloc(T **memory, size_t size)
{
    void *made = nullptr;
    cudaError_t status = cudaMalloc(&made, size);
    *memory = static_cast<T *>(made);
    return status;
}

template <typename T>
cudaError_t cudaMallocHost(T **memory, size_t size)
{
    void *made = nullptr;
    cudaError_t status = cudaMallocHost(&made, size);
    *memory = static_cast<T *>(made);
    return status;
}

template <typename T>
cudaError_t cudaHostAlloc(T **memory, size_t size, unsigned flags)
{
    void *made = nullptr;
    cudaError_t status = cudaHostAlloc(&made, size, flags);
    *memory = static_cast<T *>(made);
    return status;
}

template <typename F>
cudaError_t cudaFuncSetAttribute(F *, cudaFuncAttribute, int)
{
    return cudaSuccess;
}

/* As if a multiprocessor had room for three blocks of any kernel. */
template <typename F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F *,
                                                          int, size_t)
{
    *blocks = 3;
    return cudaSuccess;
}

enum { TP_EMULATED_THREADS = 1024 }; /* the most in a block                */

struct tp_emulated_launch {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    const char *file;
};

/* Runs a kernel, block by block, one at a time in the program. */
void tp_emulate_grid(const tp_emulated_launch &launch,
                     const std::function<void()> &thread);

/* Ends the program: a kernel, or who calls the runtime, is wrong. */
[[noreturn]] void tp_emulate_die(const char *what);

/* Puts a kernel into its stream: `thread` runs one thread of it. */
void tp_emulate_launch(const tp_emulated_launch &launch,
                       std::function<void()> thread);

/* Arguments are copied now, as a launch does. */
template <typename... P, typename... A>
void tp_emulate(const tp_emulated_launch &launch, void (*kernel)(P...),
                A... arguments)
{
    tp_emulate_launch(launch, [=] { kernel(arguments...); });
}

/* Launches are counted by the file that is compiled, also where the launch
 * stands in a header. */
#define TP_LAUNCH(kernel, grid, block, shared, stream, ...)                \
    tp_emulate(tp_emulated_launch{grid, block, shared, stream,             \
                                  __BASE_FILE__},                          \
               kernel, __VA_ARGS__)

#endif
#endif
#endif

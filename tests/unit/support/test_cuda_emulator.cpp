/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/cuda_emulator.h"

#include <criterion/criterion.h>

#include <csignal>

/* What is in a stream happens when something waits for it. */
Test(emulator, streams_run_when_waited_for)
{
    tp_emulator_begin(&tp_emulator_default);
    cudaStream_t stream;
    cr_assert_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                 cudaSuccess);
    int *memory, value = 1;
    cr_assert_eq(cudaMalloc(&memory, sizeof value), cudaSuccess);
    cr_assert_eq(cudaMemcpy(memory, &value, sizeof value,
                            cudaMemcpyHostToDevice),
                 cudaSuccess);
    value = 2;
    cr_assert_eq(cudaMemcpyAsync(&value, memory, sizeof value,
                                 cudaMemcpyDeviceToHost, stream),
                 cudaSuccess);
    cr_assert_eq(value, 2);
    cr_assert_eq(cudaStreamSynchronize(stream), cudaSuccess);
    cr_assert_eq(value, 1);
    cr_assert_eq(tp_emulator_leaks(), 2);
    cr_assert_eq(cudaStreamDestroy(stream), cudaSuccess);
}

Test(emulator, fails_when_told_to)
{
    tp_emulator options = tp_emulator_default;
    options.fail_call = 2;
    options.fail_with = cudaErrorLaunchFailure;
    options.memory = 1000;
    for (int lost = 0; lost < 2; lost++) {
        options.lost = lost;
        tp_emulator_begin(&options);
        void *a, *b, *c;
        cr_assert_eq(cudaMalloc(&a, 600), cudaSuccess);
        cr_assert_eq(cudaMalloc(&b, 10), cudaErrorLaunchFailure);
        cr_assert_eq(cudaMalloc(&c, 10),
                     lost ? cudaErrorLaunchFailure : cudaSuccess);
        if (!lost)
            cr_assert_eq(cudaMalloc(&b, 600), cudaErrorMemoryAllocation);
    }
    tp_emulator_begin(&tp_emulator_default);
}

__global__ static void write_beside(char *memory)
{
    memory[threadIdx.x] = 1;
}

/* A kernel that could not be started says so. */
Test(emulator, launches_fail)
{
    tp_emulator_begin(&tp_emulator_default);
    const size_t most = tp_emulator_default.shared;
    char *memory;
    cr_assert_eq(cudaMalloc(&memory, 32), cudaSuccess);
    TP_LAUNCH(write_beside, 1, 32, most, nullptr, memory);
    cr_assert_eq(cudaGetLastError(), cudaSuccess);
    TP_LAUNCH(write_beside, 1, 32, most + 1, nullptr, memory);
    cr_assert_eq(cudaGetLastError(), cudaErrorInvalidConfiguration);
    cr_assert_eq(cudaGetLastError(), cudaSuccess);
    cr_assert_eq(tp_emulator_launches(), 1);
}

Test(emulator, notices_stores_beside_memory, .signal = SIGABRT)
{
    tp_emulator_begin(&tp_emulator_default);
    char *memory;
    cr_assert_eq(cudaMalloc(&memory, 31), cudaSuccess);
    TP_LAUNCH(write_beside, 1, 32, 0, nullptr, memory);
    cudaDeviceSynchronize();
}

__global__ static void leave_early(unsigned *sum)
{
    if (threadIdx.x == 7)
        return;
    *sum = __reduce_add_sync(0xffffffffu, threadIdx.x);
}

Test(emulator, notices_lanes_that_do_not_come, .signal = SIGABRT)
{
    tp_emulator_begin(&tp_emulator_default);
    unsigned *sum;
    cr_assert_eq(cudaMalloc(&sum, sizeof *sum), cudaSuccess);
    TP_LAUNCH(leave_early, 1, 32, 0, nullptr, sum);
    cudaDeviceSynchronize();
}

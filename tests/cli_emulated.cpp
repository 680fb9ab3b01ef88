/* SPDX-License-Identifier: MIT */
/*
 * Linked with the command line in place of a device: the emulated one.
 * TP_EMULATOR_FAIL=N in the environment loses it at the N-th call, and
 * TP_EMULATOR_SHOW=1 writes to standard error how many kernels ran.
 */
#include <cstdio>
#include <cstdlib>

#include "tests/unit/support/cuda_emulator.h"

namespace {

struct device {
    device()
    {
        tp_emulator how = tp_emulator_default;
        const char *call = std::getenv("TP_EMULATOR_FAIL");
        how.fail_call = call ? std::strtoull(call, nullptr, 10) : 0;
        how.fail_with = 719; /* cudaErrorLaunchFailure */
        how.lost = 1;
        tp_emulator_begin(&how);
    }
    ~device()
    {
        if (std::getenv("TP_EMULATOR_SHOW"))
            std::fprintf(stderr, "kernels: %llu, not given back: %zu\n",
                         static_cast<unsigned long long>(
                             tp_emulator_launches()),
                         tp_emulator_leaks());
    }
};

const device there;

}

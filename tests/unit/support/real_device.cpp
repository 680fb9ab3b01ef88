/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/cuda_emulator.h"

#include <cstdio>

#include <criterion/criterion.h>

#include "cuda/device.h"

/* In place of the emulator, in programs that use a real device. */

const struct tp_emulator tp_emulator_default = {};

void tp_emulator_begin(const struct tp_emulator *)
{
    char reason[TP_DEVICE_REASON_MAX];
    if (tp_device_count(reason) > 0)
        return;
    cr_skip_test("no CUDA device: %s", reason);
}

bool tp_emulator_present(void)
{
    return false;
}

uint64_t tp_emulator_calls(void)
{
    return 0;
}

uint64_t tp_emulator_launches(void)
{
    return 0;
}

uint64_t tp_emulator_launches_of(const char *)
{
    return 0;
}

size_t tp_emulator_leaks(void)
{
    return 0;
}

size_t tp_emulator_peak(void)
{
    return 0;
}

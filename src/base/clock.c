/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

double tp_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

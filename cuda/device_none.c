/* SPDX-License-Identifier: MIT */
#include "cuda/device.h"

#include <stdio.h>
#include <string.h>

int tp_device_count(char *reason)
{
    snprintf(reason, TP_DEVICE_REASON_MAX,
             "this program was built without CUDA");
    return 0;
}

int tp_device_describe(int index, struct tp_device *device)
{
    (void)index;
    memset(device, 0, sizeof *device);
    return -1;
}

/* SPDX-License-Identifier: MIT */
#include "cuda/device.h"

#include <cstdio>
#include <cstring>

/*
 * The runtime is linked statically and looks for the driver when it is first
 * called, so this file also runs where no driver is installed.
 */

int tp_device_count(char *reason)
{
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    reason[0] = '\0';
    if (status == cudaSuccess && count > 0)
        return count;
    /* The runtime says "insufficient driver" also when there is none. */
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        snprintf(reason, TP_DEVICE_REASON_MAX, "no CUDA driver is installed");
    else if (status == cudaSuccess)
        snprintf(reason, TP_DEVICE_REASON_MAX, "no CUDA device was found");
    else
        snprintf(reason, TP_DEVICE_REASON_MAX, "%s",
                 cudaGetErrorString(status));
    return 0;
}

int tp_device_describe(int index, struct tp_device *device)
{
    cudaDeviceProp properties;
    memset(device, 0, sizeof *device);
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess)
        return -1;
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    device->memory = properties.totalGlobalMem;
    device->major = properties.major;
    device->minor = properties.minor;
    return 0;
}

/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_DEVICE_H
#define TP_CUDA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The CUDA devices of this machine. A program built without CUDA has the
 * same functions; they then find none and say that this is why.
 */

enum { TP_DEVICE_NAME_MAX = 256, TP_DEVICE_REASON_MAX = 256 };

/* Whether `--device auto` uses a device: its start takes longer than most
 * runs do without (measured, README.md here). */
enum { TP_DEVICE_AUTO = 0 };

/* One device, as `list devices` shows it. */
struct tp_device {
    char name[TP_DEVICE_NAME_MAX]; /* "NVIDIA H200"                       */
    uint64_t memory;               /* bytes on the device                 */
    int major, minor;              /* compute capability                  */
};

/*
 * The number of usable devices, 0 when there is none; then `reason` (of
 * TP_DEVICE_REASON_MAX bytes) holds one sentence why: built without CUDA, no
 * driver, driver too old, no device. Otherwise it is made empty. Never
 * fails, never prints, any thread.
 */
int tp_device_count(char *reason);

/*
 * Describes device `index` of 0 .. tp_device_count() - 1. Returns 0, or -1
 * with *device zeroed when the driver refuses. Any thread.
 */
int tp_device_describe(int index, struct tp_device *device);

#ifdef __cplusplus
}
#endif

#endif

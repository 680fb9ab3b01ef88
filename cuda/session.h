/* SPDX-License-Identifier: MIT */
#ifndef TP_CUDA_SESSION_H
#define TP_CUDA_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "stats/blocks.h"
#include "stats/judge.h"
#include "stats/order.h"
#include "stats/values.h"

/*
 * A device that counts codes for the host. Work is done by *lanes*: each has a
 * stream, a buffer in pinned memory, as much memory on the device, and one
 * thread that uses it. Lanes do not wait for each other, so one copies while
 * another counts.
 *
 *     begin(lane, bytes)    the buffer's first bytes go to the device
 *     codes, values, blocks what is counted of them, in any order
 *     end(lane)             waits
 *     take(lane, results)   adds what was counted
 *
 * Results have the bits that the functions of src/stats give for the same
 * codes. After a failure (out of device memory, a device that is lost) all
 * functions return false from then on, and the host does the work: nothing of
 * the range that failed was added to any result. A program built without CUDA
 * has the same functions, and no device to open.
 */
struct tp_device_session;

struct tp_device_options {
    int index;       /* of 0 .. tp_device_count() - 1                      */
    unsigned lanes;  /* at most, one for each thread                       */
    uint64_t memory; /* bytes on the device at most; 0: half of what is free */
    size_t range;    /* bytes of a buffer                                  */
    size_t call;     /* bytes of codes of 32 or 64 bits whose moments are
                        taken at once, see tp_values_add                   */
};

/* NULL, and a sentence in `reason` (of TP_DEVICE_REASON_MAX bytes, device.h),
 * when the device or its memory is not to be had. Closed by
 * tp_device_close. */
struct tp_device_session *
tp_device_open(const struct tp_device_options *options, char *reason);

/* Gives everything back. Accepts NULL. */
void tp_device_close(struct tp_device_session *session);

/* Lanes there are: fewer than asked for where memory does not allow more. */
unsigned tp_device_lanes(const struct tp_device_session *session);

/* Why the session failed, or "". Any thread. */
const char *tp_device_failure(const struct tp_device_session *session);

/* The lane's buffer of `range` bytes. */
void *tp_device_buffer(struct tp_device_session *session, unsigned lane);

/* Where what was counted goes; NULL: nowhere. */
struct tp_device_results {
    uint64_t *totals;    /* [TP_CODES] of codes, or [TP_SELECT_TOP] of the
                            top digits of values: added to                 */
    uint64_t *bins;      /* [TP_SUMMARY_BINS] of values: added to          */
    struct tp_values *values;       /* merged into, in order               */
    struct tp_block_counts *blocks; /* added to                            */
};

/* Sends the first `bytes` of the lane's buffer, which then stay as they are
 * until tp_device_end. As all that follow: false after a failure. */
bool tp_device_begin(struct tp_device_session *session, unsigned lane,
                     size_t bytes);

/* A histogram of codes of 8 or 16 bits; span->codes is in the buffer. */
bool tp_device_codes(struct tp_device_session *session, unsigned lane,
                     const struct tp_span *span);

/* Counts, moments, extrema and top digits of codes of 32 or 64 bits, and bins
 * if they are wanted; once per range. */
bool tp_device_values(struct tp_device_session *session, unsigned lane,
                      const struct tp_span *span, const struct tp_judge *judge,
                      bool bins);

/* tp_blocks_count of `rows` rows, or, when `columns` is not 0, of
 * codes[row_length][columns] as tp_blocks_count_across. */
bool tp_device_blocks(struct tp_device_session *session, unsigned lane,
                      const struct tp_block_plan *plan, const void *codes,
                      const uint64_t shape[3]); /* rows, row_length, columns */

/* Waits until all is counted. */
bool tp_device_end(struct tp_device_session *session, unsigned lane);

/* Adds what was counted before the last tp_device_end, which succeeded. */
void tp_device_take(const struct tp_device_session *session, unsigned lane,
                    const struct tp_device_results *results);

#ifdef __cplusplus
}
#endif

#endif

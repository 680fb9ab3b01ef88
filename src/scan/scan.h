/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_H
#define TP_SCAN_SCAN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/pool.h"
#include "cuda/session.h"
#include "data/number.h"
#include "data/tensor.h"
#include "scan/dim_rank.h"
#include "stats/quantize.h"
#include "stats/summary.h"

/*
 * One tensor from its storage to its exact numbers. Values of 8 and 16 bits
 * are read once, in pieces that stay in the cache while the container's
 * CRC-32 is verified and codes (and MX blocks) are counted. Wider values are
 * read once to three times, because exact quantiles take digits of the values
 * one after another; NVFP4, MX blocks wider than a piece, and statistics by
 * index (where something is to be said of an axis) cost one more reading each.
 * A storage shown only in part, or swapped, is read once more for its checksum.
 * Large tensors are split over the pool in fixed ranges, so that the result
 * does not depend on the number of jobs.
 *
 * Block formats judge real floating tensors only, in blocks along the last
 * axis; elementwise ones judge complex tensors too, each part as a value.
 * Integers are not judged.
 */

/* Scratch memory of a pool's workers; reused from tensor to tensor. */
struct tp_scanner;

/* Makes scratch for `pool` (borrowed). Release with tp_scanner_free. */
enum tp_status tp_scanner_new(struct tp_pool *pool, struct tp_scanner **scanner,
                              struct tp_error *err);

/* From now on a nonzero *stop (which outlives the scanner) ends a scan soon,
 * with TP_E_INTERRUPTED. */
void tp_scanner_stop_on(struct tp_scanner *scanner,
                        const volatile sig_atomic_t *stop);

/* From now on ranges of large tensors are counted by a device (borrowed, opened
 * with `range` and `call` as tp_scan_device_options has them); what it cannot
 * do, and all once it failed, is done here. Results are the same. */
void tp_scanner_use(struct tp_scanner *scanner,
                    struct tp_device_session *device);

/* What a device is to be opened with for the workers of a pool; index and
 * memory are the caller's. */
struct tp_device_options tp_scan_device_options(unsigned workers);

/* Releases a scanner; accepts NULL. */
void tp_scanner_free(struct tp_scanner *scanner);

/* What a scan is asked for. */
struct tp_scan_request {
    const struct tp_number *target; /* judges overflow and underflow; NULL:
                                       none are counted                    */
    enum tp_scale_rule scale_rule;  /* MX                                  */
    enum tp_nonfinite nonfinite;    /* MX                                  */
    unsigned worker;                /* of the calling task                 */
    const struct tp_quant_spec *specs; /* casts to simulate                */
    size_t spec_count;                 /* at most TP_SCAN_SPECS               */
    int block_axis;                    /* blocks run along the axis that is so
                                          many before the last one (0: last;
                                          beyond the first: the first)        */
    struct tp_quant_error *errors;     /* out: [spec_count]; all-zero where a
                                          spec does not apply to the dtype    */
    struct tp_dims_room *dims; /* out: statistics by index; NULL: none     */
    size_t dims_keep;     /* indices to keep of an axis, up to TP_DIM_KEPT */
    bool dims_notable;    /* none of axes of which nothing is to be said, see
                             tp_dim_is_notable                             */
    enum tp_dim_reduce dims_reduce; /* what decides the risk of an axis      */
    bool ahead; /* tp_scan_ahead may have the tensor                      */
};

/*
 * Has the device, if there is one, count the codes of the next small tensors
 * at once: of the first of `count` tensors of one file as many as it takes.
 * Returns how many these are (small or not, at least one); they are then
 * scanned with request.ahead in this order by the same worker, which calls
 * this again for the next ones. What cannot be read is left to tp_scan.
 */
size_t tp_scan_ahead(struct tp_scanner *scanner,
                     const struct tp_tensor *tensors, size_t count,
                     unsigned worker);

/* Casts of one scan, so that a sweep over scales fits. */
enum { TP_SCAN_SPECS = 64 };

/* What a scan gives: everything exact. */
struct tp_scan_result {
    struct tp_summary summary;
    double quantile[TP_QUANTILES]; /* exact order statistics, linear
                                      interpolation as numpy's default;
                                      NaN when there is no finite value    */
};

/*
 * Scans one tensor. Called by the thread that made the pool or from a task.
 * Fails with TP_E_DAMAGED (storage too short, wrong CRC-32), TP_E_IO or
 * TP_E_MEMORY; the result is then undefined.
 */
enum tp_status tp_scan(struct tp_scanner *scanner, struct tp_tensor *tensor,
                       const struct tp_scan_request *request,
                       struct tp_scan_result *result, struct tp_error *err);

#endif

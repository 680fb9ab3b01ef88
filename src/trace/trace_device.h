/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_DEVICE_H
#define TP_TRACE_TRACE_DEVICE_H

#include "base/error.h"
#include "trace/trace_inputs.h"

/* What devices can do at most: the roofs of a roofline. */

struct tp_device_roof {
    const char *name;    /* "H100 SXM"                                     */
    const char *matches; /* parts of the name that a driver gives, by '|';
                            each of words that must all be in it, by '&'   */
    /* [enum tp_precision] TFLOP/s without sparsity, of matrix products for
     * types that tensor cores take, else of vectors; 0: it cannot.        */
    double tflops[TP_PRECISIONS];
    double vector_tflops; /* fp32, outside of tensor cores                 */
    double gbps;          /* of its memory                                 */
    const char *source;
};

/* The rows, ended by one whose name is NULL. */
extern const struct tp_device_roof tp_device_roofs[];

/* What a user said instead. All-zero: nothing. */
struct tp_roof_choice {
    const char *device;  /* as in the table; NULL: by the trace            */
    struct tp_device_roof peaks; /* those that are not 0 count             */
};

/* Sets choice->device to a row of the table, whatever the case of letters.
 * TP_E_USAGE: there is none. */
enum tp_status tp_roof_choose(struct tp_roof_choice *choice, const char *name,
                              struct tp_error *err);

/* Applies "bf16=989" (TFLOP/s) or "bandwidth=3350" (GB/s). TP_E_USAGE. */
enum tp_status tp_roof_set(struct tp_roof_choice *choice, const char *setting,
                           struct tp_error *err);

/* The roofs of a device that its driver calls `name`, with what the user
 * said. Those of a device that is not known are 0, its name is "". */
struct tp_device_roof tp_roof_of(const char *name,
                                 const struct tp_roof_choice *choice);

#endif

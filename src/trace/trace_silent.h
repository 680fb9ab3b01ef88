/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_SILENT_H
#define TP_TRACE_TRACE_SILENT_H

#include "trace/trace.h"

/* Collectives that the host calls ("nccl:all_reduce"), and those of them that
 * start nothing on the device that is in the trace. */
struct tp_trace_silent {
    int64_t collectives;     /* all, outermost ranges only                 */
    int64_t silent;          /* of them without a device event             */
    const char *name;        /* of most of these; "": there are none       */
    int64_t named;           /* so many have that name                     */
};

/* Fills `silent`; texts are the trace's. TP_E_MEMORY only. */
enum tp_status tp_trace_silent_find(const struct tp_trace *trace,
                                    struct tp_trace_silent *silent,
                                    struct tp_error *err);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_READER_H
#define TP_TRACE_TRACE_READER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pool.h"
#include "data/events.h"

/*
 * Traces of the PyTorch profiler: Chrome JSON as Kineto writes it, plain or
 * gzip (several members too), with an object or a list at its root.
 *
 * The file is cut into batches of whole events which are parsed in parallel;
 * what is held at a time is a few batches and the events. Damage is repaired
 * where it can be and counted (enum tp_repair); of a file that ends too early
 * everything up to the cut is read.
 */

/* Whether a file of this name is taken for a trace when a directory is
 * searched: *.json, *.json.gz (also .json.tmp, which a killed profiler
 * leaves). */
bool tp_trace_is_name(const char *path);

/* Worker and number in "<worker>.<number>.pt.trace.json[.gz]". `worker`
 * points into `path`; *length 0 when the name has another form, then *span
 * is -1. */
void tp_trace_name_parts(const char *path, const char **worker,
                         size_t *length, int64_t *span);

/* Who watches a reading, and what it is for; all-zero: nobody. */
struct tp_trace_watch {
    const volatile sig_atomic_t *stop; /* nonzero: TP_E_INTERRUPTED          */
    /* Told how many more bytes of the file were taken, packed ones if it is
     * packed; by several threads, but never by two at once. */
    void (*taken)(void *context, uint64_t bytes);
    void *context;
    bool callers; /* keep who called operators, too: Python stacks and the
                     numbers that autograd gives (struct tp_op_inputs)     */
};

/*
 * Reads one trace into `events` (all-zero on entry; released by the caller,
 * also after a failure). Events are in the order of the file, whatever the
 * number of jobs. TP_E_UNSUPPORTED: JSON, but no trace of this kind (another
 * program's, trace_foreign.h, a JSON file without traceEvents); TP_E_DAMAGED:
 * not JSON, empty, or gzip that cannot be inflated at all; TP_E_IO,
 * TP_E_MEMORY, TP_E_INTERRUPTED. `watch` may be NULL.
 */
enum tp_status tp_trace_read(const char *path, struct tp_pool *pool,
                             const struct tp_trace_watch *watch,
                             struct tp_events *events, struct tp_error *err);

/* As tp_trace_read, from memory; for tests and fuzzing. */
enum tp_status tp_trace_read_memory(const char *data, size_t size,
                                    struct tp_pool *pool,
                                    struct tp_events *events,
                                    struct tp_error *err);

/* As tp_trace_read_memory, cut into pieces of about `piece` bytes. Of JSON
 * without damage the events do not depend on it. */
enum tp_status tp_trace_read_pieces(const char *data, size_t size,
                                    size_t piece, struct tp_pool *pool,
                                    struct tp_events *events,
                                    struct tp_error *err);

#endif

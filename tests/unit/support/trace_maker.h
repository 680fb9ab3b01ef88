/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_TRACE_MAKER_H
#define TP_TESTS_TRACE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/*
 * Writes traces as Kineto does, of a host that is on one thread at a time and
 * a GPU with one stream. Calls follow the host's clock: each takes the time
 * given, and work reaches the GPU when its call has ended and what came before
 * is done. All times are in us. So what a verdict has to find is known by
 * construction.
 */
struct trace_maker {
    struct tp_text json;
    double host;     /* now                                */
    double gpu;      /* end of all work given so far       */
    int64_t correlation, step;
    double step_from;
    int thread;      /* of the host; set at any time       */
    bool memory;     /* record [memory] events             */
    bool on_host;    /* they are of the host's memory      */
    uint64_t address;
    int64_t allocated;
};

/* Begins a trace of one rank; rank -1 leaves it unsaid. */
void trace_maker_begin(struct trace_maker *maker, int rank, int world_size);

/* The whole JSON, NUL-terminated; owned by the maker. */
const char *trace_maker_end(struct trace_maker *maker, size_t *size);
void trace_maker_clear(struct trace_maker *maker);

/* ProfilerStep#N around what lies between. */
void trace_maker_step_begin(struct trace_maker *maker);
void trace_maker_step_end(struct trace_maker *maker);

/* The GPU does nothing until so long from now, though work is launched. */
void trace_maker_stall(struct trace_maker *maker, double us);

/* Time in which nothing is recorded: Python. */
void trace_maker_python(struct trace_maker *maker, double us);

/* A frame of a Python function around what comes between. */
double trace_maker_frame_begin(const struct trace_maker *maker);
void trace_maker_frame_end(struct trace_maker *maker, const char *name,
                           double begun);

/* A range of record_function() around what came since `begun`. */
void trace_maker_range(struct trace_maker *maker, const char *name,
                       double begun);

/* DataLoader.__next__; workers: the iterator of num_workers > 0. */
void trace_maker_loader(struct trace_maker *maker, double us, bool workers);

/* An operator of `us` on the host that launches one kernel of `kernel_us`. */
void trace_maker_op(struct trace_maker *maker, const char *name, double us,
                    double kernel_us);

/* An operator of `us` on the host alone. */
void trace_maker_host_op(struct trace_maker *maker, const char *name,
                         double us);

/* A launch of `us`, of a kernel of this name. */
void trace_maker_launch(struct trace_maker *maker, const char *kernel,
                        double us);

/* .item(): a copy of 4 bytes to the host, waited for; the host wakes up
 * `latency_us` after the GPU is done. */
void trace_maker_item(struct trace_maker *maker, double latency_us);

/* .item() of a tensor that is on the host: no call at all. */
void trace_maker_item_on_host(struct trace_maker *maker);

/* torch.cuda.synchronize(). */
void trace_maker_synchronize(struct trace_maker *maker);

/* .to(device): a copy of `us` on the GPU. */
void trace_maker_copy_in(struct trace_maker *maker, double us, bool pageable);

/* .cpu(): a copy of `us` to pageable memory, in which the call waits for the
 * GPU and `latency_us` longer. */
void trace_maker_copy_out(struct trace_maker *maker, double us,
                          double latency_us);

/* A temporary tensor: aten::empty of `us` and, where asked for, the driver's
 * cudaMalloc inside; and its end. */
void trace_maker_allocate(struct trace_maker *maker, int64_t bytes, double us,
                          double driver_us);
void trace_maker_free(struct trace_maker *maker, int64_t bytes);

/* A call of the driver that starts no work. */
void trace_maker_call(struct trace_maker *maker, const char *name, double us);

/* A collective of `us` on the GPU; 0: its kernel is not in the trace. */
void trace_maker_all_reduce(struct trace_maker *maker, double us);

#endif

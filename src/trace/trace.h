/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_H
#define TP_TRACE_TRACE_H

#include <stdbool.h>

#include "base/file.h"
#include "base/notes.h"
#include "data/events.h"

/*
 * Profiler traces: what is known of one trace, and of all of a run.
 *
 *   path -> events (formats/trace.h) -> index (nesting, launch links, steps)
 *        -> rows of numbers (one function per table)
 *
 * What follows from the rows of all traces is not here: verdict/judged.h.
 *
 * Times are integer nanoseconds while they are computed and microseconds in
 * rows. The *window* W of a trace reaches from the start of its first to the
 * end of its last ProfilerStep (without steps: of its device events; without
 * those: of its host events). Rows that use another window say so.
 */

/* --- index: trace_index.c, trace_names.c ------------------------------- */

/* What follows from an event's name alone; bits, worked out once per name. */
enum tp_name_kind {
    TP_NAME_STEP = 1,           /* ProfilerStep#N                          */
    TP_NAME_DATALOADER = 2,     /* enumerate(DataLoader)#..., DataPipe     */
    TP_NAME_OPTIMIZER = 4,      /* Optimizer.step#..., zero_grad           */
    TP_NAME_DROPPED = 8,        /* bookkeeping that key_averages leaves out*/
    TP_NAME_DRIVER_ALLOC = 16,  /* cudaMalloc, cudaFree, hipMalloc, ...    */
    TP_NAME_BLOCKING = 32,      /* calls that wait for the device          */
    TP_NAME_LAUNCH = 64,        /* calls that start a kernel or graph      */
    TP_NAME_COPY_CALL = 128,    /* memcpy and memset calls                 */
    TP_NAME_COMM = 256,         /* communication kernels: nccl, rccl, ...  */
    TP_NAME_ITEM = 512,         /* aten::item, _local_scalar_dense, ...    */
    TP_NAME_COPY_OP = 1024,     /* aten::to, _to_copy, copy_               */
    TP_NAME_EMPTY_OP = 2048,    /* aten::empty*, resize_, new_*            */
    TP_NAME_SINGLE_TENSOR = 4096, /* optimizer kernels one tensor at a time*/
    TP_NAME_MOVES = 8192,       /* kernels that only move memory: dma_request*/
    TP_NAME_COLLECTIVE = 16384, /* host ranges nccl:all_reduce, gloo:...   */
    /* Ranges that are annotations in every trace: torch up to 1.11 has them
     * as operators. */
    TP_NAME_ANNOTATIONS =
        TP_NAME_STEP | TP_NAME_DATALOADER | TP_NAME_OPTIMIZER
};

/* One ProfilerStep of the host. */
struct tp_step {
    uint32_t event;
    int64_t number;             /* N of ProfilerStep#N                     */
    int64_t from, to;           /* ns */
};

/* All arrays are owned; `count` is tp_events.count. */
struct tp_trace_index {
    uint32_t *kinds;       /* [texts.count] enum tp_name_kind bits         */
    uint32_t *host;        /* CPU_OP, ANNOTATION, RUNTIME, DRIVER events, by
                              lane, start, longest first, calls after ops  */
    size_t host_count;
    uint32_t *parent;      /* [count] of host events: the innermost host
                              event around it on its lane                  */
    uint32_t *op;          /* [count] of calls and device events: innermost
                              CPU_OP (no annotation) around the call       */
    uint32_t *call;        /* [count] of device and cuda_sync events: the
                              runtime or driver call with its correlation  */
    uint32_t *launched;    /* [count] of calls: first device event of it   */
    uint32_t *device;      /* device events with a stream, by start        */
    size_t device_count;
    struct tp_step *steps; /* host steps by start                          */
    size_t step_count;
    int64_t empty_steps;   /* left out: they last no time                  */
    uint32_t main_lane;    /* lane of the steps, else of most host events  */
    int64_t from, to;      /* the window W, ns                             */
    const char *window;    /* what W is, in words                          */
};

/* Nests, links and finds the steps. Absent links are TP_NO_EVENT. */
enum tp_status tp_trace_index_make(const struct tp_events *events,
                                   struct tp_trace_index *index,
                                   struct tp_error *err);
void tp_trace_index_clear(struct tp_trace_index *index);

/* --- rows of the tables ------------------------------------------------ */

/* /ops: torch's key_averages. trace_ops.c */
struct tp_op_row {
    const char *name;
    const char *device_type; /* "CPU" or "CUDA" */
    int64_t count;
    double cpu_total_us, self_cpu_us, cuda_total_us, self_cuda_us;
    int64_t cpu_mem_b, self_cpu_mem_b, cuda_mem_b, self_cuda_mem_b;
};

/* /kernels: device work by name (kernels, copies, sets). trace_kernels.c */
struct tp_kernel_row {
    const char *name;
    const char *kind; /* "compute", "communication", "memory" */
    int64_t count;
    double total_us, mean_us, min_us, max_us, std_us, share; /* of all */
    double mean_blocks_per_sm, mean_occupancy; /* NaN where not recorded */
};

/* /op_kernels: device work by the operator that started it.
 * trace_op_kernels.c */
struct tp_op_kernel_row {
    const char *op;          /* innermost around the call; "": none        */
    const char *kernel;
    int64_t count;
    double device_us, mean_us;
    double launch_delay_us;  /* mean; start of op to start of the call     */
    double runtime_delay_us; /* mean; start of the call to start of kernel */
};

/* /annotations: named ranges by name. trace_annotations.c */
struct tp_annotation_row {
    const char *name;
    const char *where;       /* "host", "device"                           */
    int64_t count;
    double total_us, mean_us, max_us; /* of the ranges                     */
    /* Device work started in host ranges, on their thread, once where ranges
     * of one name are in each other; self: in no range inside. Of device
     * ranges -1 and NaN.                                                  */
    int64_t device_events;
    double device_us;
    int64_t self_device_events;
    double self_device_us;
};

/* Bins of the kernel duration histogram: the first ends at 1 us, the rest are
 * half octaves, the last is open. */
enum { TP_KERNEL_BINS = 40 };

/* /steps. trace_steps.c */
struct tp_step_row {
    int64_t step;
    double start_us;      /* since the first event of the trace            */
    double host_us;       /* duration of ProfilerStep                      */
    double window_us;     /* with its own device tail (tensorboard plugin) */
    double data_wait_us;  /* DataLoader on the main thread                 */
    double compute_us;    /* window without its own data wait: the tail of
                             the device counts while the next one loads   */
    /* Each moment of the window once, in this order of priority.          */
    double kernel_us, memcpy_us, memset_us, communication_us, runtime_us,
        dataloader_us, cpu_exec_us, other_us;
    int64_t device_events;
    double busy;          /* union of device events over host_us           */
    int64_t steady;       /* 1: counts for the rules                       */
    int64_t typical;      /* 1: counts for the averages, too               */
};

/* /idle: one row per trace; shares of W. trace_idle.c */
struct tp_idle_row {
    double window_us, busy, alloc, dataloader, blocking, launch, cpu_op, none;
    double blocked, blocked_busy; /* blocking calls; the device busy then  */
    double refill;                /* idle after a blocking call            */
    int64_t blocking_calls;
    double driver_alloc_us;
};

/* /busy: how device time is spent, by several definitions. trace_busy.c */
struct tp_busy_row {
    const char *definition; /* whose: "window", "device span", ...         */
    double total_us, busy_us, idle_us;
    double compute_us, communication_us, memory_us; /* unions             */
    double exposed_communication_us, exposed_memory_us;
    double overlap_us;      /* communication under computation             */
    double overlap;         /* overlap_us over communication_us            */
};

/* /launches: runtime and driver calls that started device work, by name. */
struct tp_launch_row {
    const char *name;
    int64_t count;
    double call_us, mean_call_us, max_call_us;
    double mean_device_us, mean_delay_us, max_delay_us;
    int64_t short_kernels; /* device time below call time, call <= 50 us   */
};

/* /streams: gaps and queue per device stream. trace_launch.c */
struct tp_stream_row {
    int64_t device, stream, device_events;
    double busy_us, host_wait_us, kernel_wait_us, other_wait_us;
    double mean_queue, max_queue; /* over change points                    */
    double full_queue_us;         /* 1 024 and more                        */
};

/* /copies: by direction and kind of memory. trace_copies.c */
struct tp_copy_row {
    const char *kind; /* "Memcpy HtoD (Pageable -> Device)" */
    int64_t count, bytes;
    double total_us, bandwidth_gbps; /* sum of bytes over sum of time      */
    double call_us;   /* the host inside the calls                         */
};

/* /syncs: calls that wait for the device, by cause. trace_syncs.c */
struct tp_sync_row {
    const char *call;
    const char *cause; /* "item", "copy DtoH", "copy HtoD", "optimizer",
                          "operator", "explicit", "profiler"               */
    const char *op;    /* innermost operator, "" outside of all            */
    int64_t count;
    double total_us, idle_us; /* time; of it with the device idle          */
};

/* /memory: one row per device and trace. trace_memory.c */
struct tp_memory_row {
    const char *device;
    int64_t events, allocations, frees;
    double allocated_b;      /* bytes of all allocations                   */
    double peak_allocated_b, peak_reserved_b; /* NaN: not recorded         */
    double allocations_per_step, allocated_per_step_b;
    double turnover;         /* bytes per step over the peak               */
    double short_lived;      /* share freed within 1 ms or the same op     */
    double reserved_swings;  /* falls followed by rises of total reserved  */
};

/* /collectives, trace_comms.c */
struct tp_comm_row {
    const char *collective, *kernel, *group, *dtype;
    int64_t group_size, count;
    int64_t in_bytes, out_bytes; /* of this rank, as recorded; -1: not     */
    double total_us, mean_us, max_us, exposed_us; /* of this rank: waiting
                                for the others is part of it               */
    double algorithm_gbps, bus_gbps; /* larger of in and out over total_us:
                                less than the link carried                 */
};

/*
 * /critical_path: what the critical paths of the steps (without steps: of the
 * trace, as step 0; of more than 32 768 host events: of equal slices of it)
 * were spent on, see trace_path.h. Of each step by kind; then, with step
 * -1, of all steps by kind and name, the 64 longest. trace_path.c
 */
struct tp_path_row {
    int64_t step;
    const char *kind, *name; /* name: "" in rows of a step                */
    int64_t count;
    double total_us, share;  /* of the paths' length                      */
};

/* A communication kernel in a step, and how many of its name and stream were
 * before it there. trace_arrivals.c */
struct tp_arrival_row {
    const char *kernel;
    int64_t stream, step, number;
    int64_t start_ns, ns; /* as the file has it: since base_ns, if any      */
};

/* --- one trace --------------------------------------------------------- */

/* Rows in arrays of their own; texts belong to events or the run's arena. */
#define TP_ROWS(type)                                                        \
    struct {                                                                 \
        struct type *rows;                                                   \
        size_t count, capacity;                                              \
    }

/* A curve over time, for figures; at_us counts from the start of W. */
struct tp_moment {
    double at_us, value;
};
struct tp_curve {
    struct tp_moment *rows;
    size_t count, capacity;
};

/* Copies of one direction through memory of the host that is not pinned: the
 * call waits for them. */
struct tp_pageable {
    int64_t copies, bytes;
    double call_us;          /* the host inside them                       */
};

/* What verdict and rules ask beside the rows. trace_facts.c */
struct tp_trace_facts {
    int64_t from_ns, to_ns;  /* the window W                               */
    const char *window;      /* what W is, in words                        */
    int64_t host_events, device_events;
    uint64_t devices;        /* bit k: device k (of 63 and more: 63)       */
    int64_t unlinked;        /* device events without a call in the file   */
    int64_t uncorrelated;    /* of them without any correlation id         */
    int64_t empty_steps;     /* of no length, left out of /steps           */
    int64_t memory_events, out_of_memory;
    const char *loader;      /* name of the DataLoader's events, or ""     */
    int64_t driver_calls;    /* that allocate or free, inside W            */
    int64_t steady_driver_calls; /* of them inside steady steps            */
    int64_t first_driver_step;   /* first steady step with one; -1         */
    const char *driver_call; /* the one with the most time, or ""          */
    double driver_us;
    double late_driver_us;   /* of it after half of the device's events    */
    const char *top_op;      /* operator with the most kernels, or ""      */
    int64_t top_op_kernels;
    double top_op_kernel_us; /* mean duration of them                      */
    const char *single_tensor; /* an optimizer without foreach, or ""      */
    int64_t kernels;
    double alloc_op_us;      /* the host inside operators that allocate    */
    struct tp_pageable to_device, to_host; /* inside W                     */
    double device_memory_b;  /* of the device it ran on; 0: not said       */
    const char *device_name; /* the same                                   */
};

struct tp_trace {
    const char *path;
    const char *worker;      /* "" unless the name has one                 */
    int64_t span;            /* number in the file name; -1                */
    int64_t rank;            /* of the file, else -1                       */
    struct tp_events events;
    struct tp_trace_index index;
    TP_ROWS(tp_op_row) ops;
    TP_ROWS(tp_kernel_row) kernels;
    TP_ROWS(tp_op_kernel_row) op_kernels;
    TP_ROWS(tp_annotation_row) annotations;
    TP_ROWS(tp_step_row) steps;
    TP_ROWS(tp_busy_row) busy;
    TP_ROWS(tp_launch_row) launches;
    TP_ROWS(tp_stream_row) streams;
    TP_ROWS(tp_copy_row) copies;
    TP_ROWS(tp_sync_row) syncs;
    TP_ROWS(tp_memory_row) memory;
    TP_ROWS(tp_comm_row) comms;
    TP_ROWS(tp_path_row) paths;
    TP_ROWS(tp_arrival_row) arrivals;
    struct tp_idle_row idle;
    /* Kernels only: how many, and how much time, per bin of duration.     */
    uint64_t kernel_count[TP_KERNEL_BINS];
    double kernel_us[TP_KERNEL_BINS];
    double median_kernel_us; /* NaN without kernels                        */
    double short_share;      /* of kernel time, in kernels below 10 us     */
    double mean_queue;       /* of all streams, weighted by time           */
    struct tp_curve utilisation;    /* 0 to 1, of equal pieces of W        */
    struct tp_curve queue;
    struct tp_curve allocated, reserved; /* bytes of the first device      */
    struct tp_trace_facts facts;
};

/* --- the run ----------------------------------------------------------- */

struct tp_trace_skipped {
    const char *file, *reason;
    int64_t offset;
    bool damage;
};

struct tp_trace_run {
    struct tp_arena arena;    /* owns every text of rows and notes         */
    struct tp_found_list files;
    struct tp_trace *traces;  /* by rank, worker, span, path               */
    size_t trace_count, trace_capacity;
    TP_ROWS(tp_trace_skipped) skipped;
    struct tp_notes notes;
    uint64_t bytes_read;
};

/* Release everything; empty afterwards. Rows' texts are the run's. */
void tp_trace_clear(struct tp_trace *trace);
void tp_trace_run_clear(struct tp_trace_run *run);

#endif

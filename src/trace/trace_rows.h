/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_ROWS_H
#define TP_TRACE_TRACE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tp_trace;

/*
 * The rows of the tables about one trace, each beside the function that makes
 * them. A maker reads trace->events and trace->index and fills its own rows,
 * to be called once. Rows are in an order that depends on nothing but the
 * events. All fail with TP_E_MEMORY only; what was filled is released with the
 * trace. None is called for one trace by two threads at once.
 *
 * Makers are independent of each other but for the steps, which tell which of
 * them are steady and come first.
 *
 * Times are integer nanoseconds while they are computed and microseconds in
 * rows. W is the window of the trace (trace.h).
 */

/* Rows in an array of their own; texts belong to events or the run's arena.
 * Every such list has this shape, whatever its rows are. */
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

/* /ops: torch's key_averages. trace_ops.c */
struct tp_op_row {
    const char *name;
    const char *group;       /* of /op_groups: shapes, frames or modules; "" */
    const char *device_type; /* "CPU" or "CUDA" */
    bool is_device;          /* the latter      */
    int64_t count;
    double cpu_total_us, self_cpu_us, cuda_total_us, self_cuda_us;
    int64_t cpu_mem_b, self_cpu_mem_b, cuda_mem_b, self_cuda_mem_b;
};

struct tp_op_list {
    struct tp_op_row *rows;
    size_t count, capacity;
};

/* trace->ops: torch's key_averages, longest self device time first. */
enum tp_status tp_trace_ops(struct tp_trace *trace, struct tp_error *err);

/* /op_groups: as /ops, with rows told apart by more than their names.
 * trace_groups.c */

/* What besides their names tells operators apart in /op_groups. */
enum tp_group_by {
    TP_GROUP_NONE,
    TP_GROUP_SHAPE,  /* of the inputs: key_averages(group_by_input_shape) */
    TP_GROUP_STACK,  /* Python around: key_averages(group_by_stack_n=N)   */
    TP_GROUP_MODULE, /* nn.Modules around                                 */
};

struct tp_group_choice {
    int by;       /* enum tp_group_by                                     */
    size_t depth; /* of stacks: so many frames from the innermost out     */
};

/* trace->op_groups, if trace->group_by asks for them; texts belong to the
 * arena of the events. */
enum tp_status tp_trace_groups(struct tp_trace *trace, struct tp_error *err);

/* The rows that the events of a trace go into. */
struct tp_op_grouping {
    uint32_t *keys;     /* [events.count] row of an event, from 0 on       */
    size_t key_count;
    const char **texts; /* [key_count] what tells it from its namesakes    */
};

/* trace->op_groups as trace->ops, a row for each key; for tp_trace_groups.
 * trace_ops.c */
enum tp_status tp_trace_ops_grouped(struct tp_trace *trace,
                                    const struct tp_op_grouping *grouping,
                                    struct tp_error *err);

/* /kernels: device work by name (kernels, copies, sets). trace_kernels.c */
struct tp_kernel_row {
    const char *name;
    const char *kind; /* "compute", "communication", "memory" */
    int64_t count;
    double total_us, mean_us, min_us, max_us, std_us, share; /* of all */
    double mean_blocks_per_sm, mean_occupancy; /* NaN where not recorded */
};

/* Bins of the kernel duration histogram: the first ends at 1 us, the rest are
 * half octaves, the last is open. */
enum { TP_KERNEL_BINS = 40 };

/* trace->kernels, longest total first, with the histogram of durations, the
 * median and the share of time in short kernels. */
enum tp_status tp_trace_kernels(struct tp_trace *trace, struct tp_error *err);

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

/* trace->op_kernels: operators with the kernels they start, longest device
 * time first. */
enum tp_status tp_trace_op_kernels(struct tp_trace *trace,
                                   struct tp_error *err);

/* /annotations: named ranges by name. trace_annotations.c */
struct tp_annotation_row {
    const char *name;
    const char *where;       /* "host", "device"                           */
    bool is_host;            /* the former                                 */
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

/* trace->annotations: of the host, by device time, then of the device. */
enum tp_status tp_trace_annotations(struct tp_trace *trace,
                                    struct tp_error *err);

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

/* trace->steps: every ProfilerStep, its costs, and whether it is steady; one
 * row -1 from the first to the last operator in a trace without steps. */
enum tp_status tp_trace_steps(struct tp_trace *trace, struct tp_error *err);

/* /idle: one row per trace; shares of W. trace_idle.c */
struct tp_idle_row {
    double window_us, busy, alloc, dataloader, blocking, launch, cpu_op, none;
    double blocked, blocked_busy; /* blocking calls; the device busy then  */
    double refill;                /* idle after a blocking call, nothing
                                     pending                               */
    int64_t blocking_calls;
    double driver_alloc_us;
    double queued;           /* work that was launched does not begin; of
                                the shares this one is first               */
    const char *queued_name; /* the device event that ends most of that ...*/
    int64_t queued_count;    /* ... so often ...                           */
    double queued_name_us;   /* ... after so long in all                   */
    int64_t queued_most;     /* device events pending at one moment        */
    double first_launch;     /* idle behind calls that load code; part of
                                launch, unless another cause is first      */
    int64_t first_launches;  /* such calls, the longest ...                */
    int64_t first_launch_steps; /* steps that have some                    */
    double first_launch_us;  /* of all of them                             */
    double first_launch_max_us;
    const char *first_launch_kernel; /* ... of this kernel                 */
};

/* trace->idle: what the host did in each idle moment of the device. */
enum tp_status tp_trace_idle(struct tp_trace *trace, struct tp_error *err);

/* What a frame of Python is. */
enum tp_frame_kind {
    TP_FRAME_FUNCTION, /* "file.py(123): name"                             */
    TP_FRAME_BUILTIN,  /* "<built-in method ...>"                          */
    TP_FRAME_MODULE,   /* "nn.Module: Linear_3"                            */
    TP_FRAME_KINDS
};

/* Whose idle time is held against frames. */
enum tp_frame_idle {
    TP_FRAME_HOST,     /* launches, operators, nothing recorded            */
    TP_FRAME_LOADER,   /* the DataLoader                                   */
    TP_FRAME_BLOCKING, /* calls that wait for the device                   */
    TP_FRAME_IDLES
};

/* /frames: Python functions, most idle time of their own first. Times include
 * the frames inside, once where a function is inside itself; self: without
 * those. Idle times are what of the window's the main lane spent in it.
 * trace_frames.c */
struct tp_frame_row {
    const char *name;
    enum tp_frame_kind what;
    const char *kind;        /* the same in words                          */
    int64_t count;
    int64_t depth;           /* frames around the call that idles most     */
    double total_us, self_us;
    double idle_us[TP_FRAME_IDLES], self_idle_us[TP_FRAME_IDLES];
};

/* Over what device time is counted. */
enum tp_busy_span {
    TP_BUSY_WINDOW, /* W                                                   */
    TP_BUSY_LINKED, /* device events whose launch is in the file           */
    TP_BUSY_DEVICE  /* all device events                                   */
};

/* /busy: how device time is spent, by several definitions. trace_busy.c */
struct tp_busy_row {
    enum tp_busy_span span;
    const char *definition; /* the span in words                           */
    double total_us, busy_us, idle_us;
    double compute_us, communication_us, memory_us; /* unions             */
    double exposed_communication_us, exposed_memory_us;
    double exposed_transfer_us; /* of the latter, copies that leave the device
                               or come to it                               */
    double overlap_us;      /* communication under computation             */
    double overlap;         /* overlap_us over communication_us            */
};

/* trace->busy: device time by class under several definitions. */
enum tp_status tp_trace_busy(struct tp_trace *trace, struct tp_error *err);

/* /launches: runtime and driver calls that started device work, by name. */
struct tp_launch_row {
    const char *name;
    int64_t count;
    double call_us, mean_call_us, max_call_us;
    double mean_device_us, mean_delay_us, max_delay_us;
    int64_t short_kernels; /* device time below call time, call <= 50 us   */
};

/* trace->launches: calls that started device work, by name. */
enum tp_status tp_trace_launches(struct tp_trace *trace, struct tp_error *err);

/* /streams: gaps and queue per device stream. trace_launch.c */
struct tp_stream_row {
    int64_t device, stream, device_events;
    double busy_us, host_wait_us, kernel_wait_us, other_wait_us;
    double mean_queue, max_queue; /* over change points                    */
    double full_queue_us;         /* 1 024 and more                        */
};

/* trace->streams: gaps and queue of each. */
enum tp_status tp_trace_streams(struct tp_trace *trace, struct tp_error *err);

/* trace->utilisation and trace->queue over equal pieces of W, and
 * trace->mean_queue. */
enum tp_status tp_trace_curves(struct tp_trace *trace, struct tp_error *err);

/* /copies: by direction and kind of memory. trace_copies.c */
struct tp_copy_row {
    const char *kind; /* "Memcpy HtoD (Pageable -> Device)" */
    int64_t count, bytes;
    double total_us, bandwidth_gbps; /* sum of bytes over sum of time      */
    double call_us;   /* the host inside the calls                         */
};

/* trace->copies: copies and sets by direction and kind of memory. */
enum tp_status tp_trace_copies(struct tp_trace *trace, struct tp_error *err);

/* Why a call waits for the device: the outermost reason that a user can act
 * on. */
enum tp_sync_cause {
    TP_SYNC_ITEM,
    TP_SYNC_COPY, /* in a direction that is not known */
    TP_SYNC_COPY_TO_HOST,
    TP_SYNC_COPY_TO_DEVICE,
    TP_SYNC_OPTIMIZER,
    TP_SYNC_OPERATOR,
    TP_SYNC_EXPLICIT,
    TP_SYNC_PROFILER,
    TP_SYNC_CAUSES
};

/* /syncs: calls that wait for the device, by cause. trace_syncs.c */
struct tp_sync_row {
    const char *call;
    enum tp_sync_cause why;
    const char *cause; /* why, in words                                    */
    const char *op;    /* innermost operator, "" outside of all            */
    const char *frame; /* of a script, where most of it was spent; "":
                          unknown, or no scripts were given                */
    int64_t count;
    double total_us, idle_us; /* time; of it with the device idle          */
};

/* trace->syncs: calls that wait for the device, by cause. */
enum tp_status tp_trace_syncs(struct tp_trace *trace, struct tp_error *err);

/* /memory: one row per device and trace. trace_memory.c */
struct tp_memory_row {
    const char *device;
    bool is_host;
    int64_t events, allocations, frees;
    double allocated_b;      /* bytes of all allocations                   */
    double peak_allocated_b, peak_reserved_b; /* NaN: not recorded         */
    double allocations_per_step, allocated_per_step_b;
    double turnover;         /* bytes per step over the peak               */
    double short_lived;      /* share freed within 1 ms or the same op     */
    double reserved_swings;  /* falls followed by rises of total reserved  */
};

/* What memory is for; trace_memory_peaks.c says how it is told. */
enum tp_memory_kind {
    TP_MEMORY_ACTIVATION,
    TP_MEMORY_GRADIENT,
    TP_MEMORY_OPTIMIZER, /* state of the optimizer                         */
    TP_MEMORY_BACKWARD,  /* of the backward pass alone                     */
    TP_MEMORY_TEMPORARY,
    TP_MEMORY_BEFORE,    /* there before the recording began               */
    TP_MEMORY_UNKNOWN,
    TP_MEMORY_KINDS
};

/* /memory_peaks: what is alive when most memory of a device is taken, in the
 * three steps where that is most, by kind and operator. trace_memory_peaks.c */
struct tp_memory_peak_row {
    const char *device;
    int64_t peak;            /* 1: the highest                             */
    int64_t step;            /* -1: outside of all                         */
    double at_us;            /* since W began                              */
    int64_t total_b;         /* of the device at that moment               */
    enum tp_memory_kind what;
    const char *kind;        /* the same in words                          */
    const char *op;          /* that took it; "": none                     */
    int64_t allocations;     /* -1: not known                              */
    int64_t bytes;
};

/* trace->memory and the curves trace->allocated and trace->reserved. */
enum tp_status tp_trace_memory(struct tp_trace *trace, struct tp_error *err);

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

/* What an edge of a critical path is spent on. */
enum tp_path_kind {
    TP_PATH_OPERATOR,      /* the host in an operator, outside of calls     */
    TP_PATH_CALL,          /* the host in a runtime or driver call          */
    TP_PATH_WAIT,          /* the host in a call that waits for the device  */
    TP_PATH_OUTSIDE,       /* the host between operators                    */
    TP_PATH_LAUNCH,        /* from the begin of a call to its device event  */
    TP_PATH_QUEUE,         /* the same while the stream was busy with what is
                              not in the window                             */
    TP_PATH_KERNEL,
    TP_PATH_COPY,          /* copies and memsets                            */
    TP_PATH_COMMUNICATION,
    TP_PATH_GAP,           /* between device events of a stream             */
    TP_PATH_RETURN,        /* from a device event to the host that waited   */
    TP_PATH_KINDS
};

/*
 * /critical_path: what the critical paths of the steps (without steps: of the
 * trace, as step 0; of more than 32 768 host events: of equal slices of it)
 * were spent on, see trace_path.h. Of each step by kind; then, with step
 * -1, of all steps by kind and name, the 64 longest. trace_path.c
 */
struct tp_path_row {
    int64_t step;
    enum tp_path_kind spent_on;
    const char *kind;        /* the same in words                          */
    const char *name;        /* "" in rows of a step                       */
    int64_t count;
    double total_us, share;  /* of the paths' length                      */
};

/* What kernels of matrix products were made of. */
enum tp_tensor_cores {
    TP_TENSOR_CORES_UNKNOWN, /* no product, or the name does not tell      */
    TP_TENSOR_CORES_NO,
    TP_TENSOR_CORES_YES
};

/* /roofline: operators with device work by name and inputs, longest first. An
 * operator that is made of others whose work is known as a whole (a
 * convolution, a normalisation) has the kernels of those inside.
 * trace_roofline.c */
struct tp_roof_row {
    const char *op;
    const char *kind;        /* "gemm", "pointwise", ..                    */
    const char *inputs;      /* "bf16[5, 512], bf16[512, 64], 1", see
                                tp_op_args_write                           */
    int64_t count;           /* operators                                  */
    double device_us, mean_us, share; /* kernels; of all device time       */
    double flops, bytes;     /* of one; NaN: not known                     */
    double intensity, tflops, gbps;
    const char *precision;   /* "bf16", "tf32": what the roof is of        */
    const char *bound;       /* "compute", "memory": the roof that is lower*/
    double roof_us;          /* of one, at the roof                        */
    double roof;             /* roof_us over mean_us: 1 is the roof        */
    double above_us;         /* device_us beyond the roof                  */
    const char *doubt;       /* faster than the roof: "cache", as its bytes
                                may have come from there, "algorithm", as its
                                kernel computes with fewer FLOP, else
                                "inputs", as these are not what the kernels
                                did or the device is another; "": it is not */
    const char *tensor_cores; /* "yes", "no", ""                           */
    int64_t alignment;       /* of n and k of a GEMM: largest power of two,
                                up to 64, that divides both; -1: none      */
    double sm_efficiency, occupancy; /* percent, as the TensorBoard plugin
                                has them; NaN: not recorded                */
    const char *kernel;      /* the longest                                */
    /* Not columns: for rules and figures. */
    int what;                /* enum tp_work_kind                          */
    int type;                /* enum tp_precision, as the tensors have it  */
    enum tp_tensor_cores cores;
    double batch, m, n, k, result; /* as struct tp_work                    */
};

/* trace->roofline: what operators do against what the device can. */
enum tp_status tp_trace_roofline(struct tp_trace *trace, struct tp_error *err);

/* /fusions: kernels of one stream that come one after the other, go through
 * equally many elements and compute little for each, by the names of their
 * operators. trace_fusions.c */
struct tp_fusion_row {
    const char *ops;         /* "aten::mul, aten::add"                     */
    double elements;
    int64_t kernels, count;  /* in one chain; chains                       */
    double device_us;        /* of all of them                             */
    double saved_us;         /* of it beyond the longest of each chain     */
};

/* trace->fusions, most to save first. Made with the roofline. */

/* /optimizers: Optimizer.step ranges by name. trace_fusions.c */
struct tp_optimizer_row {
    const char *name;        /* "Optimizer.step#AdamW.step"                */
    int64_t count, device_events, many_tensor_events; /* of many parameters
                                at once: foreach, fused                    */
    double device_us, idle_us; /* of its events; between them              */
};

/* trace->optimizers. Made with the roofline. */

/* trace->comms: communication kernels by collective, group and type. */
enum tp_status tp_trace_comms(struct tp_trace *trace, struct tp_error *err);

/* trace->paths: what the critical path of each step was spent on. Empty
 * without device events. */
enum tp_status tp_trace_paths(struct tp_trace *trace, struct tp_error *err);

/* What takes no time, or less, in a replay. Host: launches, other calls,
 * operators and what is recorded of neither. */
enum tp_what_if_change {
    TP_WHAT_IF_NOTHING,      /* as recorded: what the replay is off by     */
    TP_WHAT_IF_ALLOC,
    TP_WHAT_IF_LOADER,
    TP_WHAT_IF_BLOCKING,     /* no call waits for the device               */
    TP_WHAT_IF_LAUNCH,
    TP_WHAT_IF_LOAD,         /* of code, by first launches                 */
    TP_WHAT_IF_OPS,
    TP_WHAT_IF_OUTSIDE,
    TP_WHAT_IF_QUEUED,       /* what is launched begins when it can        */
    TP_WHAT_IF_HOST,
    TP_WHAT_IF_COMMUNICATION,
    TP_WHAT_IF_OPERATOR,     /* twice as fast: it, and what it starts      */
    TP_WHAT_IF_CHANGES
};

/* /what_if: an estimate of the step time if something took no time. Made with
 * the critical paths. trace_what_if.c */
struct tp_what_if_row {
    enum tp_what_if_change changed;
    const char *change;      /* the same in words                          */
    const char *name;        /* of the operator, else ""                   */
    int64_t first_step, steps; /* that are played; steps 1 without any     */
    double step_us;          /* as recorded: from the begin of the first to
                                the end of the last one's work, a step     */
    double new_step_us, won_us, won; /* won: of step_us                    */
};

/* The steps that are played for /what_if. */
struct tp_played {
    int64_t from_ns;         /* begin of the first, as the file has it      */
    int64_t origin_ns;       /* from there: see trace_replay.h              */
    int64_t recorded_ns;     /* how long it took from there                 */
    int64_t first_step, steps;
};

/* What a rank does itself between two of its collectives. trace_segments.c */
struct tp_segment_row {
    int64_t number;          /* of the collective that it leads to, in the
                                order of play; one more: the end of all     */
    int64_t after;           /* number of the one behind which it begins;
                                -1: the begin of what is played             */
    int64_t own_ns;          /* how long it takes                           */
    int64_t start_ns, ns, stream; /* of collective `number`, as recorded    */
};

/* A communication kernel: what it communicates (trace_collective.h), and how
 * many of its name and stream were before it in its step. trace_arrivals.c */
struct tp_arrival_row {
    const char *kernel;
    const char *collective, *group_name, *group_ranks, *dtype;
    int64_t group_size, sequence, in_bytes, out_bytes;
    int64_t stream, step, number; /* step -1: in none                       */
    int64_t start_ns, ns; /* as the file has it: since base_ns, if any      */
};

/* trace->arrivals: every communication kernel, for the comparison of ranks
 * (trace_ranks.h, trace_meetings.h). */
enum tp_status tp_trace_arrivals(struct tp_trace *trace,
                                 struct tp_error *err);

/* What a moment of a step is spent on. */
enum tp_spent {
    TP_SPENT_DEVICE, /* device work                                        */
    TP_SPENT_HOST,   /* the device idles, the host is in an operator or a
                        range                                              */
    TP_SPENT_CALL,   /* the same, in a runtime call                        */
    TP_SPENT_WAIT,   /* the same, in a call that waits for the device      */
    TP_SPENT_GAP,    /* the same, between two operators                    */
    TP_SPENT_KINDS
};

/* Moments of the typical steps by what they are spent on, for comparisons;
 * trace_spent.h. */
struct tp_spent_row {
    enum tp_spent what;
    const char *path;   /* "a > b", b inside of a; of a gap: what is before */
    const char *name;   /* of the device event or call; of a gap: what is
                           behind; of operators ""                         */
    const char *inputs; /* shapes and types of the operator; "": unknown   */
    int64_t ns;         /* of the steps                                    */
    double squares;     /* that of each step squared, added up: ns^2       */
    int64_t count;      /* that begin in the steps                         */
};

/* Copies of one direction through memory of the host that is not pinned: the
 * call waits for them. */
struct tp_pageable {
    int64_t copies, bytes;
    double call_us;          /* the host inside them                       */
};

/* An operator or collective by all events of its name; "": there is none. */
struct tp_trace_host_op {
    const char *name;
    double us; /* of operators without those inside                        */
    int64_t count;
};

/* What the host does in W. */
struct tp_trace_host_ops {
    /* operators that begin in W and are no collectives, by their time without
     * the operators inside */
    int64_t operators;
    double self_us;       /* of all                                        */
    double tiny_us;       /* of those below 10 us                          */
    const char *tiny;     /* the one with most of that, or ""; ...         */
    int64_t tiny_count;   /* ... so many of it are below 10 us             */
    struct tp_trace_host_op most;
    struct tp_trace_host_op collective; /* the one with most time          */
    /* moments of W on any thread: each is one of the first three, the
     * DataLoader's or a call's to the driver */
    double working_us;       /* an operator runs that is no collective     */
    double communicating_us; /* none does, but a collective                */
    double outside_us;       /* nothing is recorded but annotations        */
};

/* What verdict and rules ask beside the rows; trace_facts.h. */
struct tp_trace_facts {
    int64_t from_ns, to_ns;  /* the window W                               */
    const char *window;      /* what W is, in words                        */
    int64_t host_events, device_events;
    uint64_t devices;        /* bit k: device k (of 63 and more: 63)       */
    int64_t working_devices; /* of them with a tenth of the busiest's time */
    double device_busy;      /* of W one of these on average; NaN: W is 0  */
    int64_t unlinked;        /* device events without a call in the file   */
    int64_t uncorrelated;    /* of them without any correlation id         */
    int64_t empty_steps;     /* of no length, left out of /steps           */
    int64_t zero_events;     /* at time 0, left out everywhere             */
    int64_t memory_events, out_of_memory;
    const char *loader;      /* name of the DataLoader's events, or ""     */
    int64_t batches;         /* of it, for the main thread inside W        */
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
    double device_us;        /* device events, summed up                   */
    double orphan_us;        /* of it without an operator around its call  */
    const char *orphan;      /* the event with most of that, or ""; ...    */
    int64_t orphan_events;   /* ... so many of this name ...               */
    double orphan_name_us;   /* ... which last so long                     */
    struct tp_trace_host_ops host; /* of a trace without device events       */
    int64_t collectives;     /* that the host calls, ...                   */
    int64_t silent_collectives; /* ... of them without device work, most  */
    const char *silent_collective; /* ... of this name, or ""             */
    double alloc_op_us;      /* the host inside operators that allocate    */
    struct tp_pageable to_device, to_host; /* inside W                     */
    double device_memory_b;  /* of the device it ran on; 0: not said       */
    const char *device_name; /* the same                                   */
    const char *copy_frame; /* where a script copies through pageable
                               memory, as tp_sync_row.frame                */
};

#endif

/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_EVENTS_H
#define TP_DATA_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/event_repair.h"
#include "data/events_gpu.h"
#include "data/settings.h"

/*
 * The events of one profiler trace as columns. Texts are interned: equal texts
 * have equal numbers, so that whatever follows from a name is worked out once
 * a name and not once an event. Times are integer nanoseconds, as the file has
 * them (since the epoch, or since `base_ns`), never through a double.
 *
 * Rare arguments live in side tables; an event's `detail` is the row there.
 * Flow events and bookkeeping events ("M") are not kept: names of processes
 * and threads go to the lanes, and linking uses correlation ids.
 */

/* What an event is; old and new names of the profiler folded together. */
enum tp_event_category {
    TP_EVENT_OTHER,          /* anything not below                         */
    TP_EVENT_CPU_OP,         /* cpu_op, Operator                           */
    TP_EVENT_ANNOTATION,     /* user_annotation                            */
    TP_EVENT_GPU_ANNOTATION, /* gpu_user_annotation, any spelling          */
    TP_EVENT_RUNTIME,        /* cuda_runtime, Runtime, mtia_runtime, ...   */
    TP_EVENT_DRIVER,         /* cuda_driver, ...                           */
    TP_EVENT_KERNEL,         /* kernel, mtia_ccp_events, ...               */
    TP_EVENT_MEMCPY,         /* gpu_memcpy, Memcpy                         */
    TP_EVENT_MEMSET,         /* gpu_memset, Memset                         */
    TP_EVENT_PYTHON,         /* python_function                            */
    TP_EVENT_MEMORY,         /* instant [memory]                           */
    TP_EVENT_OUT_OF_MEMORY,  /* instant [OutOfMemory]                      */
    TP_EVENT_SYNC,           /* cuda_sync                                  */
    TP_EVENT_OVERHEAD,       /* overhead                                   */
    TP_EVENT_SPAN,           /* Trace: the window of the profiler          */
    TP_EVENT_CATEGORIES
};

/* The name as users know it: "cpu_op", "kernel". */
const char *tp_event_category_name(enum tp_event_category category);

#define TP_NO_EVENT UINT32_MAX

/* Arguments of [memory] instants. */
struct tp_memory_detail {
    int64_t bytes;           /* negative: freed                            */
    uint64_t address;        /* 0: absent                                  */
    int64_t total_allocated; /* bytes after it; -1: absent                 */
    int64_t total_reserved;
    int32_t device_type;     /* c10::DeviceType; 0: CPU                    */
    int32_t device_id;
};

/* Arguments of a collective (record_param_comms and nccl kernels). Texts are
 * numbers of tp_events.texts; 0 is "". */
struct tp_comm_detail {
    uint32_t collective, dtype, group_name, group_ranks;
    uint32_t comms_id;   /* digits as in the file: may exceed 2^63         */
    int64_t in_elements, out_elements; /* -1: absent                       */
    int64_t group_size;
    int64_t sequence;
};

/* What the profiler says of an operator's inputs (record_shapes): a list each,
 * with an element for each input. */
enum tp_input_list {
    TP_INPUT_DIMS,    /* "Input Dims": [] of what is no tensor             */
    TP_INPUT_TYPES,   /* "Input type": a dtype, "Scalar", "TensorList", .. */
    TP_INPUT_STRIDES, /* "Input Strides"                                   */
    TP_INPUT_VALUES,  /* "Concrete Inputs": of what is no tensor           */
    TP_INPUT_LISTS
};

/* What ends a list before the last one in a text of tp_events.inputs: JSON has
 * no such byte. */
#define TP_INPUT_END "\x1f"

/* An operator whose inputs, or the Python around it, were recorded, in the
 * order of events; texts of tp_events.inputs, 0: not. */
struct tp_op_inputs {
    uint32_t event;
    uint32_t inputs; /* the lists                                          */
    uint32_t stack;  /* "inner;outer;" with the profiler's verbose stacks,
                        and in old traces                                  */
    uint32_t backward; /* 1: what autograd runs, of a thread's forward     */
    int64_t autograd;  /* "Sequence number", which forward and its backward
                          share; -1: none                                  */
};

/* Arguments of a cuda_sync event. */
struct tp_sync_detail {
    uint32_t kind; /* text */
    int32_t stream, device;
};

/* A row of events: a thread of the host, a stream of a device. */
struct tp_lane {
    uint32_t pid, tid;     /* texts, as in the file, quotes removed        */
    uint32_t process_name; /* texts of the "M" events; 0: none             */
    uint32_t process_labels;
    uint32_t thread_name;
};

struct tp_text_table {
    const char **texts;   /* NUL-terminated, in the arena; texts[0] is ""  */
    uint32_t *lengths, *hashes;
    size_t count, capacity;
    uint32_t *slots;      /* open addressing; 0: empty                     */
    size_t slot_count;
};

/* One entry of deviceProperties (computeProperties). -1: absent. */
struct tp_device_properties {
    int64_t id;
    const char *name;
    int64_t total_memory; /* bytes */
    int64_t sm_count, compute_major, compute_minor, threads_per_sm;
};

/* The category of events that this program adds to a trace (--annotate): they
 * are read as if they were not there. */
#define TP_EVENT_ADDED "tprof-analyze"

/* All-zero bytes are empty. */
struct tp_events {
    struct tp_arena arena;      /* owns texts                              */
    size_t count;
    /* Columns of `count`; grown together, capacity in the last.           */
    int64_t *start, *duration;  /* ns; instants have duration 0            */
    int64_t *correlation;       /* -1: none; NULL when no longer needed    */
    uint32_t *name, *lane, *detail;
    uint8_t *category;          /* enum tp_event_category                  */
    size_t capacity;

    struct tp_text_table texts;
    struct tp_lane *lanes;
    size_t lane_count, lane_capacity;
    uint32_t *lane_slots;       /* open addressing; 0: empty               */
    size_t lane_slot_count;
    struct tp_gpu_detail *gpu;  /* detail of KERNEL, MEMCPY, MEMSET; events
                                   may share a row                         */
    size_t gpu_count, gpu_capacity;
    uint32_t *gpu_recent;       /* rows to share (events_gpu.c), or NULL   */
    struct tp_memory_detail *memory; /* detail of MEMORY                   */
    size_t memory_count, memory_capacity;
    struct tp_comm_detail *comms; /* detail of CPU_OP, gpu[].comm          */
    size_t comm_count, comm_capacity;
    struct tp_sync_detail *syncs; /* detail of SYNC                        */
    size_t sync_count, sync_capacity;
    struct tp_text_table inputs; /* [enum tp_input_list] as the file has
                                    them, joined by TP_INPUT_END           */
    struct tp_op_inputs *op_inputs;
    size_t op_input_count, op_input_capacity;
    char *joined;               /* room to join them                       */
    size_t joined_capacity;
    bool callers;               /* frames of Python say who called them    */

    /* What the file says beside its events. */
    int64_t base_ns;            /* 0 unless has_base                       */
    bool has_base;
    int64_t rank, world_size;   /* -1: not said                            */
    const char *backend;        /* "" when not said                        */
    const char *trace_name;
    struct tp_device_properties *devices;
    size_t device_count, device_capacity;
    bool record_shapes, profile_memory, with_stack, with_modules, with_flops;
    struct tp_setting settings[TP_SETTING_COUNT]; /* by add_metadata       */
    const char *trace_dir;      /* of a file of metrics; NULL              */
    bool has_tool_version;      /* a file that this program wrote          */
    uint64_t bytes;             /* of JSON, after inflating                */
    uint64_t seen;              /* events of every kind in the file        */
    uint64_t begins;            /* of them such as only begin something    */
    uint64_t repairs[TP_REPAIRS];
    /* [enum tp_event_category] left out for a time that cannot be; set to 0
     * for a negative duration                                             */
    uint64_t untimed[TP_EVENT_CATEGORIES], zeroed[TP_EVENT_CATEGORIES];
    int64_t first_repair[TP_REPAIRS]; /* byte in the JSON; -1              */
    int64_t truncated_at;       /* byte in the JSON; -1: whole             */
    int64_t array_end;          /* byte in the JSON behind the last event that
                                   is whole: the ']', or what is cut off   */
    bool is_list;               /* that array is all there is              */
    int64_t free_pid;           /* a number that is no pid of an event     */
    uint64_t added;             /* events of TP_EVENT_ADDED                */
};

/* The number of `text`, which is added if new; "" is 0. TP_NO_DETAIL when
 * memory ran out. Not for two threads at once. */
uint32_t tp_events_text(struct tp_events *events, const char *text,
                        size_t length);

/* The same of the texts of tp_events.inputs. */
uint32_t tp_events_inputs(struct tp_events *events, const char *text,
                          size_t length);
const char *tp_events_get_inputs(const struct tp_events *events,
                                 uint32_t text);

/* The text of a number; borrowed. */
const char *tp_events_get(const struct tp_events *events, uint32_t text);

/* The number of the lane (pid, tid), made if new; TP_NO_DETAIL when memory
 * ran out. */
uint32_t tp_events_lane(struct tp_events *events, uint32_t pid, uint32_t tid);

/* Makes room for `more` events in every column. */
enum tp_status tp_events_reserve(struct tp_events *events, size_t more,
                                 struct tp_error *err);

/* Counts a repair at a byte of the JSON. */
void tp_events_repaired(struct tp_events *events, enum tp_repair repair,
                        int64_t offset);

/* Appends the events, lanes and repairs of `from`, with its texts, lanes and
 * details renumbered; what the file says beside its events stays as it is. */
enum tp_status tp_events_merge(struct tp_events *into,
                               const struct tp_events *from,
                               struct tp_error *err);

/* Returns the memory behind the columns: they grow by doubling. */
void tp_events_shrink(struct tp_events *events);

/* Releases the column of correlations: who has linked events needs no more. */
void tp_events_drop_correlation(struct tp_events *events);

/* Empties, but keeps the memory for the next use. */
void tp_events_reset(struct tp_events *events);

/* Releases everything; empty afterwards. */
void tp_events_clear(struct tp_events *events);

#endif

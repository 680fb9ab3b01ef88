/* SPDX-License-Identifier: MIT */
/*
 * One event of the file into the columns of tp_events.
 *
 * Texts are interned and lanes numbered as they come. The next event mostly
 * has the category, process and thread of the one before, so those are
 * compared with what was last found before anything is looked up, which a hash
 * for each text would cost. Details of kernels, memory and collectives are
 * rows of their own, so that plain operators do not pay for them. O(1) for an
 * event.
 */
#include "formats/trace/trace_event.h"

#include <math.h>
#include <string.h>

#include "formats/trace/trace_number.h"

void tp_trace_arguments_init(struct tp_trace_arguments *args)
{
    static const struct tp_trace_arguments absent = {
        .gpu = {.bytes = -1,
                .device = -1,
                .stream = -1,
                .bandwidth = NAN,
                .occupancy = NAN,
                .blocks_per_sm = NAN,
                .warps_per_sm = NAN,
                .comm = TP_NO_DETAIL},
        .memory = {.total_allocated = -1,
                   .total_reserved = -1,
                   .device_id = -1},
        .correlation = -1,
        .in_elements = -1,
        .out_elements = -1,
        .group_size = -1,
        .sequence = -1,
        .autograd = -1,
        .forward = -1,
    };
    *args = absent;
}

void tp_trace_event_init(struct tp_trace_event *event)
{
    static const struct tp_event_text absent;
    event->phase = '\0';
    event->category = event->name = event->pid = event->tid = absent;
    event->start = event->duration = absent;
    if (event->args.used)
        tp_trace_arguments_init(&event->args);
}

/* --- categories --------------------------------------------------------- */

struct category_name {
    const char *name; /* lower case */
    uint8_t category;
};

/* Names of all ages; the first is the most frequent one. */
static const struct category_name categories[] = {
    {"cpu_op", TP_EVENT_CPU_OP},
    {"operator", TP_EVENT_CPU_OP},
    {"python_function", TP_EVENT_PYTHON},
    {"kernel", TP_EVENT_KERNEL},
    {"mtia_ccp_events", TP_EVENT_KERNEL},
    {"cuda_runtime", TP_EVENT_RUNTIME},
    {"runtime", TP_EVENT_RUNTIME},
    {"mtia_runtime", TP_EVENT_RUNTIME},
    {"glow_runtime", TP_EVENT_RUNTIME},
    {"xpu_runtime", TP_EVENT_RUNTIME},
    {"privateuse1_runtime", TP_EVENT_RUNTIME},
    {"cuda_driver", TP_EVENT_DRIVER},
    {"xpu_driver", TP_EVENT_DRIVER},
    {"privateuse1_driver", TP_EVENT_DRIVER},
    {"gpu_memcpy", TP_EVENT_MEMCPY},
    {"memcpy", TP_EVENT_MEMCPY},
    {"gpu_memset", TP_EVENT_MEMSET},
    {"memset", TP_EVENT_MEMSET},
    {"user_annotation", TP_EVENT_ANNOTATION},
    {"gpu_user_annotation", TP_EVENT_GPU_ANNOTATION},
    {"cuda_sync", TP_EVENT_SYNC},
    {"xpu_sync", TP_EVENT_SYNC},
    {"overhead", TP_EVENT_OVERHEAD},
    {"trace", TP_EVENT_SPAN},
};

static uint8_t find_category(struct tp_event_text name)
{
    char lower[24];
    if (name.size >= sizeof lower)
        return TP_EVENT_OTHER;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    lower[name.size] = '\0';
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (strcmp(categories[i].name, lower) == 0)
            return categories[i].category;
    }
    return TP_EVENT_OTHER;
}

/* --- texts and lanes ---------------------------------------------------- */

static bool intern(struct tp_events *events, struct tp_event_text text,
                   uint32_t *number)
{
    *number = text.size ? tp_events_text(events, text.data, text.size) : 0;
    return *number != TP_NO_DETAIL;
}

static bool is(struct tp_event_text text, const char *word)
{
    return text.size == strlen(word) &&
           memcmp(text.data, word, text.size) == 0;
}

static bool is_kept(struct tp_event_text text, const char *kept, size_t size)
{
    return text.size == size && (size == 0 || !memcmp(text.data, kept, size));
}

static uint8_t category_of(struct tp_event_before *memory,
                           struct tp_event_text name)
{
    if (is_kept(name, memory->category, memory->category_size) && name.size)
        return memory->category_number;
    uint8_t category = find_category(name);
    if (name.size && name.size <= sizeof memory->category) {
        memcpy(memory->category, name.data, name.size);
        memory->category_size = name.size;
        memory->category_number = category;
    }
    return category;
}

/* torch without Kineto writes no categories: its host events are those of one
 * process of this name. */
static uint8_t category_by_process(struct tp_event_before *memory,
                                   const struct tp_trace_event *event)
{
    if (event->category.size == 0 && is(event->pid, "CPU functions"))
        return TP_EVENT_CPU_OP;
    return category_of(memory, event->category);
}

static bool lane_of(struct tp_events *events,
                    struct tp_event_before *memory,
                    const struct tp_trace_event *event, uint32_t *lane)
{
    uint32_t pid, tid;
    if (memory->lane_known &&
        is_kept(event->pid, memory->pid, memory->pid_size) &&
        is_kept(event->tid, memory->tid, memory->tid_size)) {
        *lane = memory->lane;
        return true;
    }
    if (!intern(events, event->pid, &pid) || !intern(events, event->tid, &tid))
        return false;
    *lane = tp_events_lane(events, pid, tid);
    if (*lane == TP_NO_DETAIL)
        return false;
    memory->lane_known = event->pid.size > 0 && event->tid.size > 0 &&
                    event->pid.size <= sizeof memory->pid &&
                    event->tid.size <= sizeof memory->tid;
    if (memory->lane_known) {
        memory->lane = *lane;
        memory->pid_size = event->pid.size;
        memory->tid_size = event->tid.size;
        memcpy(memory->pid, event->pid.data, event->pid.size);
        memcpy(memory->tid, event->tid.data, event->tid.size);
    }
    return true;
}

/* --- details ------------------------------------------------------------ */

/* The row's number in *detail, TP_NO_DETAIL for an event without. */
static bool add_comm(struct tp_events *events,
                     const struct tp_trace_arguments *args, uint32_t *detail)
{
    *detail = TP_NO_DETAIL;
    if (!args->comm)
        return true;
    if (tp_grow(&events->comms, &events->comm_capacity, events->comm_count + 1,
                sizeof *events->comms, NULL) != TP_OK)
        return false;
    struct tp_comm_detail *row = &events->comms[events->comm_count];
    row->in_elements = args->in_elements;
    row->out_elements = args->out_elements;
    row->group_size = args->group_size;
    row->sequence = args->sequence;
    *detail = (uint32_t)events->comm_count++;
    return intern(events, args->collective, &row->collective) &&
           intern(events, args->dtype, &row->dtype) &&
           intern(events, args->group_name, &row->group_name) &&
           intern(events, args->group_ranks, &row->group_ranks) &&
           intern(events, args->comms_id, &row->comms_id);
}

/* N of a lane called "stream N": the oldest traces say it there only. */
static int32_t stream_of_lane(struct tp_event_text tid)
{
    static const char stream[] = "stream ";
    size_t skip = sizeof stream - 1;
    int64_t number;
    if (tid.size <= skip || memcmp(tid.data, stream, skip) != 0)
        return -1;
    while (tid.size > skip && tid.data[tid.size - 1] == ' ')
        tid.size--;
    if (!tp_trace_integer(tid.data + skip, tid.size - skip, &number) ||
        number > INT32_MAX)
        return -1;
    return (int32_t)number;
}

static bool add_gpu(struct tp_events *events,
                    const struct tp_trace_event *event, uint32_t *detail)
{
    struct tp_gpu_detail gpu = event->args.gpu; /* the next may have none */
    if (gpu.stream < 0)
        gpu.stream = stream_of_lane(event->tid);
    if (!add_comm(events, &event->args, &gpu.comm) ||
        tp_grow(&events->gpu, &events->gpu_capacity, events->gpu_count + 1,
                sizeof *events->gpu, NULL) != TP_OK)
        return false;
    events->gpu[events->gpu_count] = gpu;
    *detail = (uint32_t)events->gpu_count++;
    return true;
}

static bool add_memory(struct tp_events *events,
                       const struct tp_trace_arguments *args, uint32_t *detail)
{
    if (tp_grow(&events->memory, &events->memory_capacity,
                events->memory_count + 1, sizeof *events->memory,
                NULL) != TP_OK)
        return false;
    events->memory[events->memory_count] = args->memory;
    *detail = (uint32_t)events->memory_count++;
    return true;
}

static bool add_sync(struct tp_events *events,
                     const struct tp_trace_arguments *args, uint32_t *detail)
{
    if (tp_grow(&events->syncs, &events->sync_capacity, events->sync_count + 1,
                sizeof *events->syncs, NULL) != TP_OK)
        return false;
    struct tp_sync_detail *row = &events->syncs[events->sync_count];
    row->stream = args->gpu.stream;
    row->device = args->gpu.device;
    *detail = (uint32_t)events->sync_count++;
    return intern(events, args->sync_kind, &row->kind);
}

static bool add_op(struct tp_events *events, uint32_t inputs,
                   const struct tp_trace_arguments *args)
{
    const struct tp_event_text stack = args->stack;
    const struct tp_op_inputs row = {
        (uint32_t)events->count, inputs,
        stack.size ? tp_events_inputs(events, stack.data, stack.size) : 0,
        args->forward > 0, args->autograd};
    if (row.stack == TP_NO_DETAIL ||
        tp_grow(&events->op_inputs, &events->op_input_capacity,
                events->op_input_count + 1, sizeof *events->op_inputs,
                NULL) != TP_OK)
        return false;
    events->op_inputs[events->op_input_count++] = row;
    return true;
}

/* The row of what an operator was given, before the event itself is counted. */
static bool add_inputs(struct tp_events *events,
                       const struct tp_trace_arguments *args)
{
    const struct tp_event_text *lists = args->inputs;
    size_t length = TP_INPUT_LISTS - 1;
    if (!lists[TP_INPUT_DIMS].size)
        return !args->stack.size || add_op(events, 0, args);
    for (int i = 0; i < TP_INPUT_LISTS; i++)
        length += lists[i].size;
    if (tp_grow(&events->joined, &events->joined_capacity, length, 1, NULL))
        return false;
    char *to = events->joined;
    for (int i = 0; i < TP_INPUT_LISTS; i++) {
        if (i)
            *to++ = *TP_INPUT_END;
        if (lists[i].size)
            memcpy(to, lists[i].data, lists[i].size);
        to += lists[i].size;
    }
    const uint32_t inputs = tp_events_inputs(events, events->joined, length);
    return inputs != TP_NO_DETAIL && add_op(events, inputs, args);
}

static bool add_detail(struct tp_events *events, uint8_t category,
                       struct tp_trace_event *event, uint32_t *detail)
{
    *detail = TP_NO_DETAIL;
    switch (category) {
    case TP_EVENT_KERNEL:
    case TP_EVENT_MEMCPY:
    case TP_EVENT_MEMSET:
        return add_gpu(events, event, detail);
    case TP_EVENT_MEMORY:
        return add_memory(events, &event->args, detail);
    case TP_EVENT_SYNC:
        return add_sync(events, &event->args, detail);
    case TP_EVENT_CPU_OP:
        return add_inputs(events, &event->args) &&
               add_comm(events, &event->args, detail);
    case TP_EVENT_ANNOTATION:
        return !event->args.stack.size ||
               add_op(events, 0, &event->args);
    default:
        return true;
    }
}

/* --- events ------------------------------------------------------------- */

/* Nothing that a profiler records takes a week; HTA drops the same. */
static const int64_t longest_ns = INT64_C(7) * 24 * 3600 * 1000000000;

/* False when the event has no times that can be. Starts keep clear of the
 * ends of int64, so that neither start + duration nor the difference of any
 * two of them overflows: 2^62 + 2^61 + a week < 2^63. */
static bool get_times(const struct tp_trace_event *event, int64_t *start,
                      int64_t *duration)
{
    *duration = 0;
    if (!tp_trace_ns(event->start.data, event->start.size, start) ||
        *start > INT64_MAX / 2 || *start < INT64_MIN / 4)
        return false;
    if (event->phase != 'X')
        return true;
    return tp_trace_ns(event->duration.data, event->duration.size, duration) &&
           *duration <= longest_ns;
}

static bool add_event(struct tp_events *events,
                      struct tp_event_before *memory,
                      struct tp_trace_event *event, uint8_t category,
                      int64_t offset)
{
    int64_t start, duration;
    uint32_t name, lane, detail;
    if (!get_times(event, &start, &duration)) {
        tp_events_repaired(events, TP_REPAIR_TIME, offset);
        events->untimed[category]++;
        return true;
    }
    if (duration < 0) {
        tp_events_repaired(events, TP_REPAIR_NEGATIVE, offset);
        events->zeroed[category]++;
    }
    if (tp_events_reserve(events, 1, NULL) != TP_OK ||
        !intern(events, event->name, &name) ||
        !lane_of(events, memory, event, &lane) ||
        !add_detail(events, category, event, &detail))
        return false;
    size_t row = events->count++;
    events->start[row] = start;
    events->duration[row] = duration < 0 ? 0 : duration;
    events->correlation[row] = event->args.correlation;
    events->name[row] = name;
    events->lane[row] = lane;
    events->detail[row] = detail;
    events->category[row] = category;
    events->callers |= category == TP_EVENT_PYTHON && event->args.caller;
    return true;
}

/* "M" events: what processes and threads are called. */
static bool name_lane(struct tp_events *events,
                      struct tp_event_before *memory,
                      const struct tp_trace_event *event)
{
    bool process = is(event->name, "process_name");
    bool labels = !process && is(event->name, "process_labels");
    uint32_t text, number;
    if (!process && !labels && !is(event->name, "thread_name"))
        return true;
    if (!intern(events, labels ? event->args.labels : event->args.name,
                &text) ||
        !lane_of(events, memory, event, &number))
        return false;
    struct tp_lane *lane = &events->lanes[number];
    if (process)
        lane->process_name = text;
    else if (labels)
        lane->process_labels = text;
    else
        lane->thread_name = text;
    return true;
}

/* {}, with which some tools end the list. */
static bool is_nothing(const struct tp_trace_event *event)
{
    return !event->name.data && !event->category.data && !event->pid.data &&
           !event->tid.data && !event->start.data && !event->duration.data &&
           !event->args.used;
}

bool tp_trace_keep(struct tp_events *events,
                   struct tp_event_before *memory,
                   struct tp_trace_event *event, int64_t offset)
{
    if (is(event->category, TP_EVENT_ADDED)) {
        events->added++;
        return true;
    }
    events->seen += event->phase != 0;
    switch (event->phase) {
    case 'X':
        return add_event(events, memory, event,
                         category_by_process(memory, event), offset);
    case 'M':
        return name_lane(events, memory, event);
    case 'i':
    case 'I':
        if (is(event->name, "[memory]"))
            return add_event(events, memory, event, TP_EVENT_MEMORY, offset);
        if (is(event->name, "[OutOfMemory]"))
            return add_event(events, memory, event, TP_EVENT_OUT_OF_MEMORY,
                             offset);
        return true;
    case 'B':
        events->begins++;
        return true;
    case 0:
        if (!is_nothing(event))
            tp_events_repaired(events, TP_REPAIR_DROPPED, offset);
        return true;
    default:
        return true;
    }
}

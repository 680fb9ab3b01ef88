/* SPDX-License-Identifier: MIT */
/*
 * What a kernel communicates: by its own arguments, which torch copies onto
 * NCCL kernels since 2.2, else by those of the operator record_param_comms
 * around its launch, else by the range around that, or its name. Kinds are
 * found by letters that names contain: "_allgather_base", "AllGather" and
 * "all_gather" are one. A table of all spellings would have to be added to with
 * each version of torch. O(1) an event.
 */
#include "trace/trace_collective.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Operators between a launch and its record_param_comms: one today. */
enum { AROUND_MAX = 8 };

/* c10::ScalarType as its toString spells it; 0: unknown. */
static int64_t dtype_size(const char *dtype)
{
    static const struct {
        const char *name;
        int size;
    } types[] = {
        {"Byte", 1},          {"Char", 1},         {"Bool", 1},
        {"Short", 2},         {"Half", 2},         {"BFloat16", 2},
        {"Int", 4},           {"Float", 4},        {"ComplexHalf", 4},
        {"Long", 8},          {"Double", 8},       {"ComplexFloat", 8},
        {"ComplexDouble", 16}, {"QInt8", 1},       {"QUInt8", 1},
        {"QInt32", 4},        {"UInt16", 2},       {"UInt32", 4},
        {"UInt64", 8},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(dtype, types[i].name)) {
            return types[i].size;
        }
    }
    return strncmp(dtype, "Float8", 6) ? 0 : 1; /* Float8_e5m2, ... */
}

/* The arguments of an event's communication, or NULL. */
static const struct tp_comm_detail *comm_detail(const struct tp_trace *trace,
                                                uint32_t event)
{
    const struct tp_events *events = &trace->events;
    const uint32_t own = events->gpu[events->detail[event]].comm;
    if (own != TP_NO_DETAIL) {
        return &events->comms[own];
    }
    uint32_t op = trace->index.op[event];
    for (int i = 0; i < AROUND_MAX && op != TP_NO_EVENT; i++) {
        if (events->detail[op] != TP_NO_DETAIL) {
            return &events->comms[events->detail[op]];
        }
        op = trace->index.op[op];
    }
    return NULL;
}

/* Copies letters and digits, in lower case: "_allgather_base" and
 * "AllGather" have the same letters first. */
static void fold(const char *text, char *folded, size_t size)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++) {
        if (isalnum((unsigned char)*text)) {
            folded[length++] = (char)tolower((unsigned char)*text);
        }
    }
    folded[length] = 0;
}

enum traffic { ONCE, TWICE, SHARED };

/* Collectives by what their names contain; the first row that fits. */
static const struct collective {
    const char *folded;
    const char *name; /* for kernels that say nothing else */
    enum traffic traffic;
    bool waits;       /* tp_collective_waits */
} collectives[] = {
    {"allreduce", "allreduce", TWICE, true},
    {"reducescatter", "reduce_scatter", SHARED, true},
    {"allgather", "allgather", SHARED, true},
    {"alltoallv", "alltoallv", SHARED, false},
    {"alltoall", "alltoall", SHARED, true},
    {"sendrecv", "sendrecv", ONCE, false},
    {"broadcast", "broadcast", ONCE, false},
    {"reduce", "reduce", ONCE, false},
    {"send", "send", ONCE, false},
    {"recv", "recv", ONCE, false},
};

static const struct collective *find_collective(const char *text)
{
    char folded[128];
    fold(text, folded, sizeof folded);
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        if (strstr(folded, collectives[i].folded)) {
            return &collectives[i];
        }
    }
    return NULL;
}

const char *tp_collective_kind(const char *name)
{
    const struct collective *found = find_collective(name);
    return found ? found->name : NULL;
}

bool tp_collective_waits(const char *name)
{
    const struct collective *found = find_collective(name);
    return found && found->waits;
}

double tp_collective_bus_factor(const char *name, int64_t n)
{
    const struct collective *found = find_collective(name);
    const enum traffic traffic = found ? found->traffic : ONCE;
    if (traffic == ONCE) {
        return 1;
    }
    if (n < 1) {
        return NAN;
    }
    const double shared = (double)(n - 1) / (double)n;
    return traffic == TWICE ? 2 * shared : shared;
}

int64_t tp_collective_bytes(int64_t in_bytes, int64_t out_bytes)
{
    return in_bytes > out_bytes ? in_bytes : out_bytes;
}

static int64_t bytes_of(int64_t elements, int64_t size)
{
    return elements < 0 || size == 0 || elements > INT64_MAX / 4 / size
               ? -1
               : elements * size;
}

uint32_t tp_collective_named(struct tp_events *events, uint32_t text)
{
    const char *kind = tp_collective_kind(tp_events_get(events, text));
    return kind ? tp_events_text(events, kind, strlen(kind)) : 0;
}

/* The range of the host ("nccl:all_to_all") around the launch of a kernel:
 * kernels of send and receive are all-to-all, too. The kernel itself if there
 * is none. */
static uint32_t naming_event(const struct tp_trace *trace, uint32_t event)
{
    const uint32_t call = trace->index.call[event];
    uint32_t at = call == TP_NO_EVENT ? call : trace->index.parent[call];
    for (int i = 0; i < AROUND_MAX && at != TP_NO_EVENT; i++) {
        if (!strncmp(tp_events_get(&trace->events, trace->events.name[at]),
                     "nccl:", 5)) {
            return at;
        }
        at = trace->index.parent[at];
    }
    return event;
}

enum tp_status tp_collective_of(struct tp_trace *trace, uint32_t event,
                                struct tp_collective *it,
                                struct tp_error *err)
{
    struct tp_events *events = &trace->events;
    const struct tp_comm_detail *detail = comm_detail(trace, event);
    *it = (struct tp_collective){.group_size = -1,
                                 .sequence = -1,
                                 .in_bytes = -1,
                                 .out_bytes = -1};
    if (detail) {
        const int64_t size = dtype_size(tp_events_get(events, detail->dtype));
        it->name = detail->collective;
        it->dtype = detail->dtype;
        it->group_name = detail->group_name;
        it->group_ranks = detail->group_ranks;
        it->group_size = detail->group_size;
        it->sequence = detail->sequence;
        it->in_bytes = bytes_of(detail->in_elements, size);
        it->out_bytes = bytes_of(detail->out_elements, size);
    }
    if (!it->name) {
        it->name = tp_collective_named(
            events, events->name[naming_event(trace, event)]);
    }
    return it->name == TP_NO_DETAIL ? tp_fail_memory(err) : TP_OK;
}

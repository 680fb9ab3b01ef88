/* SPDX-License-Identifier: MIT */
/* The table of all lists of a trace, and what goes through it. */
#include "trace/trace_lists.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/limits.h"
#include "base/text.h"
#include "trace/trace_tracks.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- columns ------------------------------------------------------------ */

/* Of joined rows: the number of the trace is behind the trace's own row, so
 * that the other columns read both. */
#define TRACE_NUMBER(row)                                         \
    {                                                             \
        "trace", "1", TP_COLUMN_INTEGER, sizeof(struct row), NULL \
    }

/* After `trace` these are the columns, and names, of key_averages tables. */
#define OP(member, unit) TP_COLUMN(struct tp_op_row, member, unit)
/* Below 0 where more was given back than taken. */
#define OP_MEMORY(member) TP_COLUMN_OF_SIGNED(struct tp_op_row, member, "byte")

static const struct tp_column op_columns[] = {
    TRACE_NUMBER(tp_op_row), OP(name, ""), OP(device_type, ""), OP(count, "1"),
    TP_COLUMN_AS(struct tp_op_row, "cpu_time_total_us", cpu_total_us, "us"),
    TP_COLUMN_AS(struct tp_op_row, "self_cpu_time_total_us", self_cpu_us, "us"),
    TP_COLUMN_AS(struct tp_op_row, "cuda_time_total_us", cuda_total_us, "us"),
    TP_COLUMN_AS(struct tp_op_row, "self_cuda_time_total_us", self_cuda_us,
                  "us"),
    OP_MEMORY(cpu_mem_b), OP_MEMORY(self_cpu_mem_b), OP_MEMORY(cuda_mem_b),
    OP_MEMORY(self_cuda_mem_b),
};

static const struct tp_column op_group_columns[] = {
    TRACE_NUMBER(tp_op_row), OP(name, ""), OP(group, ""), OP(device_type, ""),
    OP(count, "1"),
    TP_COLUMN_AS(struct tp_op_row, "cpu_time_total_us", cpu_total_us, "us"),
    TP_COLUMN_AS(struct tp_op_row, "self_cpu_time_total_us", self_cpu_us, "us"),
    TP_COLUMN_AS(struct tp_op_row, "cuda_time_total_us", cuda_total_us, "us"),
    TP_COLUMN_AS(struct tp_op_row, "self_cuda_time_total_us", self_cuda_us,
                  "us"),
    OP_MEMORY(cpu_mem_b), OP_MEMORY(self_cpu_mem_b), OP_MEMORY(cuda_mem_b),
    OP_MEMORY(self_cuda_mem_b),
};

#define KERNEL(member, unit) TP_COLUMN(struct tp_kernel_row, member, unit)

static const struct tp_column kernel_columns[] = {
    TRACE_NUMBER(tp_kernel_row), KERNEL(name, ""), KERNEL(kind, ""),
    KERNEL(count, "1"), KERNEL(total_us, "us"), KERNEL(mean_us, "us"),
    KERNEL(min_us, "us"), KERNEL(max_us, "us"), KERNEL(std_us, "us"),
    KERNEL(share, "1"), KERNEL(mean_blocks_per_sm, "1"),
    KERNEL(mean_occupancy, "percent"),
};

#define OP_KERNEL(member, unit) TP_COLUMN(struct tp_op_kernel_row, member, unit)

static const struct tp_column op_kernel_columns[] = {
    TRACE_NUMBER(tp_op_kernel_row), OP_KERNEL(op, ""), OP_KERNEL(kernel, ""),
    OP_KERNEL(count, "1"), OP_KERNEL(device_us, "us"), OP_KERNEL(mean_us, "us"),
    OP_KERNEL(launch_delay_us, "us"), OP_KERNEL(runtime_delay_us, "us"),
};

#define TREE(member, unit) TP_COLUMN(struct tp_tree_row, member, unit)
static const struct tp_column tree_columns[] = {
    TRACE_NUMBER(tp_tree_row), TREE(place, "1"), TREE(around, "1"),
    TREE(depth, "1"), TREE(kind, ""), TREE(name, ""), TREE(count, "1"),
    TREE(host_us, "us"), TREE(self_host_us, "us"), TREE(device_events, "1"),
    TREE(device_us, "us"),
};

#define ANNOTATION(member, unit) \
    TP_COLUMN(struct tp_annotation_row, member, unit)

static const struct tp_column annotation_columns[] = {
    TRACE_NUMBER(tp_annotation_row), ANNOTATION(name, ""),
    ANNOTATION(where, ""), ANNOTATION(count, "1"), ANNOTATION(total_us, "us"),
    ANNOTATION(mean_us, "us"), ANNOTATION(max_us, "us"),
    ANNOTATION(device_events, "1"), ANNOTATION(device_us, "us"),
    ANNOTATION(self_device_events, "1"), ANNOTATION(self_device_us, "us"),
};

#define STEP(member, unit) TP_COLUMN(struct tp_step_row, member, unit)

static const struct tp_column step_columns[] = {
    TRACE_NUMBER(tp_step_row), STEP(step, "1"), STEP(start_us, "us"),
    STEP(host_us, "us"), STEP(window_us, "us"), STEP(data_wait_us, "us"),
    STEP(compute_us, "us"), STEP(kernel_us, "us"), STEP(memcpy_us, "us"),
    STEP(memset_us, "us"), STEP(communication_us, "us"), STEP(runtime_us, "us"),
    STEP(dataloader_us, "us"), STEP(cpu_exec_us, "us"), STEP(other_us, "us"),
    STEP(device_events, "1"), STEP(busy, "1"), STEP(steady, "1"),
    STEP(typical, "1"),
};

#define IDLE(member, unit) TP_COLUMN(struct tp_idle_row, member, unit)

static const struct tp_column idle_columns[] = {
    TRACE_NUMBER(tp_idle_row), IDLE(window_us, "us"), IDLE(busy, "1"),
    IDLE(alloc, "1"), IDLE(dataloader, "1"), IDLE(blocking, "1"),
    IDLE(launch, "1"), IDLE(cpu_op, "1"), IDLE(none, "1"), IDLE(blocked, "1"),
    IDLE(blocked_busy, "1"), IDLE(refill, "1"), IDLE(blocking_calls, "1"),
    IDLE(driver_alloc_us, "us"), IDLE(queued, "1"),
    IDLE(queued_name, ""), IDLE(queued_count, "1"), IDLE(queued_name_us, "us"),
    IDLE(queued_most, "1"), IDLE(first_launch, "1"), IDLE(first_launches, "1"),
    IDLE(first_launch_steps, "1"), IDLE(first_launch_max_us, "us"),
    IDLE(first_launch_kernel, ""), IDLE(first_launch_us, "us"),
};

#define BUSY(member, unit) TP_COLUMN(struct tp_busy_row, member, unit)

static const struct tp_column busy_columns[] = {
    TRACE_NUMBER(tp_busy_row), BUSY(definition, ""), BUSY(total_us, "us"),
    BUSY(busy_us, "us"), BUSY(idle_us, "us"), BUSY(compute_us, "us"),
    BUSY(communication_us, "us"), BUSY(memory_us, "us"),
    BUSY(exposed_communication_us, "us"), BUSY(exposed_memory_us, "us"),
    BUSY(overlap_us, "us"), BUSY(overlap, "1"),
    BUSY(exposed_transfer_us, "us"),
};

#define LAUNCH(member, unit) TP_COLUMN(struct tp_launch_row, member, unit)

static const struct tp_column launch_columns[] = {
    TRACE_NUMBER(tp_launch_row), LAUNCH(name, ""), LAUNCH(count, "1"),
    LAUNCH(call_us, "us"), LAUNCH(mean_call_us, "us"),
    LAUNCH(max_call_us, "us"), LAUNCH(mean_device_us, "us"),
    LAUNCH(mean_delay_us, "us"), LAUNCH(max_delay_us, "us"),
    LAUNCH(short_kernels, "1"),
};

#define STREAM(member, unit) TP_COLUMN(struct tp_stream_row, member, unit)

static const struct tp_column stream_columns[] = {
    TRACE_NUMBER(tp_stream_row), STREAM(device, "1"), STREAM(stream, "1"),
    STREAM(device_events, "1"), STREAM(busy_us, "us"),
    STREAM(host_wait_us, "us"), STREAM(kernel_wait_us, "us"),
    STREAM(other_wait_us, "us"), STREAM(mean_queue, "1"),
    STREAM(max_queue, "1"), STREAM(full_queue_us, "us"),
};

#define COPY(member, unit) TP_COLUMN(struct tp_copy_row, member, unit)

static const struct tp_column copy_columns[] = {
    TRACE_NUMBER(tp_copy_row), COPY(kind, ""), COPY(count, "1"),
    COPY(bytes, "byte"), COPY(total_us, "us"), COPY(bandwidth_gbps, "GB/s"),
    COPY(call_us, "us"),
};

#define SYNC(member, unit) TP_COLUMN(struct tp_sync_row, member, unit)

static const struct tp_column sync_columns[] = {
    TRACE_NUMBER(tp_sync_row), SYNC(call, ""), SYNC(cause, ""), SYNC(op, ""),
    SYNC(count, "1"), SYNC(total_us, "us"), SYNC(idle_us, "us"),
};

#define PATH(member, unit) TP_COLUMN(struct tp_path_row, member, unit)

static const struct tp_column path_columns[] = {
    TRACE_NUMBER(tp_path_row), PATH(step, "1"), PATH(kind, ""), PATH(name, ""),
    PATH(count, "1"), PATH(total_us, "us"), PATH(share, "1"),
};

#define WHAT_IF(member, unit) TP_COLUMN(struct tp_what_if_row, member, unit)

static const struct tp_column what_if_columns[] = {
    TRACE_NUMBER(tp_what_if_row), WHAT_IF(change, ""), WHAT_IF(name, ""),
    WHAT_IF(first_step, "1"), WHAT_IF(steps, "1"), WHAT_IF(step_us, "us"),
    WHAT_IF(new_step_us, "us"), WHAT_IF(won_us, "us"), WHAT_IF(won, "1"),
};

#define MEMORY(member, unit) TP_COLUMN(struct tp_memory_row, member, unit)

static const struct tp_column memory_columns[] = {
    TRACE_NUMBER(tp_memory_row), MEMORY(device, ""), MEMORY(events, "1"),
    MEMORY(allocations, "1"), MEMORY(frees, "1"), MEMORY(allocated_b, "byte"),
    MEMORY(peak_allocated_b, "byte"), MEMORY(peak_reserved_b, "byte"),
    MEMORY(allocations_per_step, "1"), MEMORY(allocated_per_step_b, "byte"),
    MEMORY(turnover, "1"), MEMORY(short_lived, "1"),
    MEMORY(reserved_swings, "1"),
};

#define PEAK(member, unit) TP_COLUMN(struct tp_memory_peak_row, member, unit)

static const struct tp_column peak_columns[] = {
    TRACE_NUMBER(tp_memory_peak_row), PEAK(device, ""), PEAK(peak, "1"),
    PEAK(step, "1"), PEAK(at_us, "us"), PEAK(total_b, "byte"), PEAK(kind, ""),
    PEAK(op, ""), PEAK(allocations, "1"), PEAK(bytes, "byte"),
};

#define COMM(member, unit) TP_COLUMN(struct tp_comm_row, member, unit)

static const struct tp_column comm_columns[] = {
    TRACE_NUMBER(tp_comm_row), COMM(collective, ""), COMM(kernel, ""),
    COMM(group, ""), COMM(dtype, ""), COMM(group_size, "1"), COMM(count, "1"),
    COMM(in_bytes, "byte"), COMM(out_bytes, "byte"), COMM(total_us, "us"),
    COMM(mean_us, "us"), COMM(max_us, "us"), COMM(exposed_us, "us"),
    COMM(algorithm_gbps, "GB/s"), COMM(bus_gbps, "GB/s"),
};

#define FRAME(member, unit) TP_COLUMN(struct tp_frame_row, member, unit)
#define FRAME_IDLE(name, member) \
    TP_COLUMN_AS(struct tp_frame_row, name, member, "us")

static const struct tp_column frame_columns[] = {
    TRACE_NUMBER(tp_frame_row), FRAME(name, ""), FRAME(kind, ""),
    FRAME(count, "1"), FRAME(depth, "1"), FRAME(total_us, "us"),
    FRAME(self_us, "us"),
    FRAME_IDLE("host_idle_us", idle_us[TP_FRAME_HOST]),
    FRAME_IDLE("self_host_idle_us", self_idle_us[TP_FRAME_HOST]),
    FRAME_IDLE("loader_idle_us", idle_us[TP_FRAME_LOADER]),
    FRAME_IDLE("self_loader_idle_us", self_idle_us[TP_FRAME_LOADER]),
    FRAME_IDLE("blocking_idle_us", idle_us[TP_FRAME_BLOCKING]),
    FRAME_IDLE("self_blocking_idle_us", self_idle_us[TP_FRAME_BLOCKING]),
};

#define ROOF(member, unit) TP_COLUMN(struct tp_roof_row, member, unit)

static const struct tp_column roof_columns[] = {
    TRACE_NUMBER(tp_roof_row), ROOF(op, ""), ROOF(kind, ""), ROOF(inputs, ""),
    ROOF(count, "1"),
    ROOF(device_us, "us"), ROOF(mean_us, "us"), ROOF(share, "1"),
    ROOF(flops, "FLOP"), ROOF(bytes, "byte"), ROOF(intensity, "FLOP/byte"),
    ROOF(tflops, "TFLOP/s"), ROOF(gbps, "GB/s"), ROOF(precision, ""),
    ROOF(bound, ""), ROOF(roof_us, "us"), ROOF(roof, "1"),
    ROOF(above_us, "us"), ROOF(doubt, ""), ROOF(tensor_cores, ""),
    ROOF(alignment, "1"),
    ROOF(sm_efficiency, "percent"), ROOF(occupancy, "percent"),
    ROOF(kernel, ""),
};

#define FUSION(member, unit) TP_COLUMN(struct tp_fusion_row, member, unit)

static const struct tp_column fusion_columns[] = {
    TRACE_NUMBER(tp_fusion_row), FUSION(ops, ""), FUSION(elements, "1"),
    FUSION(kernels, "1"), FUSION(count, "1"), FUSION(device_us, "us"),
    FUSION(saved_us, "us"),
};

#define OPTIMIZER(member, unit) TP_COLUMN(struct tp_optimizer_row, member, unit)

static const struct tp_column optimizer_columns[] = {
    TRACE_NUMBER(tp_optimizer_row), OPTIMIZER(name, ""), OPTIMIZER(count, "1"),
    OPTIMIZER(device_events, "1"), OPTIMIZER(many_tensor_events, "1"),
    OPTIMIZER(device_us, "us"), OPTIMIZER(idle_us, "us"),
};

static const struct tp_column arrival_columns[] = {
    TRACE_NUMBER(tp_arrival_row),
    TP_COLUMN(struct tp_arrival_row, kernel, ""),
    TP_COLUMN(struct tp_arrival_row, collective, ""),
    TP_COLUMN(struct tp_arrival_row, group_name, ""),
    TP_COLUMN(struct tp_arrival_row, group_ranks, ""),
    TP_COLUMN(struct tp_arrival_row, dtype, ""),
};

static const struct tp_column spent_columns[] = {
    TRACE_NUMBER(tp_spent_row),
    TP_COLUMN(struct tp_spent_row, path, ""),
    TP_COLUMN(struct tp_spent_row, name, ""),
    TP_COLUMN(struct tp_spent_row, inputs, ""),
};

static const struct tp_column segment_columns[] = {
    TRACE_NUMBER(tp_segment_row),
    TP_COLUMN(struct tp_segment_row, own_ns, "ns"),
};

static const struct tp_column piece_columns[] = {
    TRACE_NUMBER(tp_piece_row),
    TP_COLUMN(struct tp_piece_row, name, ""),
};

static const struct tp_column arrow_columns[] = {
    TRACE_NUMBER(tp_arrow_row),
    TP_COLUMN(struct tp_arrow_row, from_pid, ""),
    TP_COLUMN(struct tp_arrow_row, from_tid, ""),
    TP_COLUMN(struct tp_arrow_row, to_pid, ""),
    TP_COLUMN(struct tp_arrow_row, to_tid, ""),
};

/* --- lists -------------------------------------------------------------- */

#define LIST_IN_TURN(name, columns, member, make, turn)                      \
    {                                                                        \
        name, columns, COUNT_OF(columns), offsetof(struct tp_trace, member), \
            sizeof *((struct tp_trace *)0)->member.rows, false, make, turn   \
    }
#define LIST(name, columns, member, make) \
    LIST_IN_TURN(name, columns, member, make, TP_MADE_BESIDE)
#define LIST_FIRST(name, columns, member, make) \
    LIST_IN_TURN(name, columns, member, make, TP_MADE_FIRST)
#define LIST_WORDED(name, columns, member, make) \
    LIST_IN_TURN(name, columns, member, make, TP_MADE_WORDED)
#define NO_TEXTS(member, make)                                               \
    {                                                                        \
        NULL, NULL, 0, offsetof(struct tp_trace, member),                    \
            sizeof *((struct tp_trace *)0)->member.rows, false, make,        \
            TP_MADE_BESIDE                                                   \
    }
#define CURVE(member, make)                                                   \
    {                                                                         \
        NULL, NULL, 0, offsetof(struct tp_trace, member),                     \
            sizeof(struct tp_moment), false, make, TP_MADE_BESIDE             \
    }

const struct tp_trace_list_info tp_trace_lists[TP_TRACE_LISTS] = {
    [TP_TRACE_OPS] = LIST("ops", op_columns, ops, tp_trace_ops),
    [TP_TRACE_KERNELS] =
        LIST("kernels", kernel_columns, kernels, tp_trace_kernels),
    [TP_TRACE_OP_KERNELS] =
        LIST("op_kernels", op_kernel_columns, op_kernels, tp_trace_op_kernels),
    [TP_TRACE_TREE] = LIST("tree", tree_columns, tree, tp_trace_tree_rows),
    [TP_TRACE_ANNOTATIONS] = LIST("annotations", annotation_columns,
                                  annotations, tp_trace_annotations),
    [TP_TRACE_STEPS] =
        LIST_FIRST("steps", step_columns, steps, tp_trace_steps),
    [TP_TRACE_IDLE] = {"idle", idle_columns, COUNT_OF(idle_columns),
                       offsetof(struct tp_trace, idle),
                       sizeof(struct tp_idle_row), true, tp_trace_idle,
                       TP_MADE_BESIDE},
    [TP_TRACE_BUSY_ROWS] = LIST("busy", busy_columns, busy, tp_trace_busy),
    [TP_TRACE_LAUNCHES] =
        LIST("launches", launch_columns, launches, tp_trace_launches),
    [TP_TRACE_STREAMS] =
        LIST("streams", stream_columns, streams, tp_trace_streams),
    [TP_TRACE_COPIES] = LIST("copies", copy_columns, copies, tp_trace_copies),
    [TP_TRACE_SYNCS] = LIST("syncs", sync_columns, syncs, tp_trace_syncs),
    [TP_TRACE_MEMORY_ROWS] =
        LIST_WORDED("memory", memory_columns, memory, tp_trace_memory),
    [TP_TRACE_COLLECTIVES] =
        LIST_FIRST("collectives", comm_columns, comms, tp_trace_comms),
    [TP_TRACE_PATHS] =
        LIST("critical_path", path_columns, paths, tp_trace_paths),
    [TP_TRACE_WHAT_IF] = LIST("what_if", what_if_columns, what_if, NULL),
    [TP_TRACE_FRAMES] = LIST("frames", frame_columns, frames, NULL),
    [TP_TRACE_MEMORY_PEAKS] =
        LIST("memory_peaks", peak_columns, memory_peaks, NULL),
    [TP_TRACE_ROOFLINE] =
        LIST_WORDED("roofline", roof_columns, roofline, tp_trace_roofline),
    [TP_TRACE_FUSIONS] =
        LIST("fusions", fusion_columns, fusions, NULL),
    [TP_TRACE_OPTIMIZERS] =
        LIST("optimizers", optimizer_columns, optimizers, NULL),
    [TP_TRACE_OP_GROUPS] =
        LIST_WORDED("op_groups", op_group_columns, op_groups, tp_trace_groups),
    [TP_TRACE_ARRIVALS] =
        LIST_FIRST(NULL, arrival_columns, arrivals, tp_trace_arrivals),
    [TP_TRACE_SPENT] = LIST(NULL, spent_columns, spent, NULL),
    [TP_TRACE_SEGMENTS] = LIST(NULL, segment_columns, segments, NULL),
    [TP_TRACE_LONE_WHAT_IF] = LIST(NULL, what_if_columns, lone_what_if, NULL),
    [TP_TRACE_STEP_SPANS] = NO_TEXTS(step_spans, NULL),
    [TP_TRACE_STRETCHES] = NO_TEXTS(stretches, NULL),
    [TP_TRACE_PIECES] = LIST(NULL, piece_columns, pieces, NULL),
    [TP_TRACE_ARROWS] = LIST(NULL, arrow_columns, arrows, NULL),
    [TP_TRACE_LEVELS] = NO_TEXTS(levels, tp_tracks_queue),
    [TP_TRACE_UTILISATION] = CURVE(utilisation, tp_trace_curves),
    [TP_TRACE_QUEUE] = CURVE(queue, NULL),
    [TP_TRACE_ALLOCATED] = CURVE(allocated, NULL),
    [TP_TRACE_RESERVED] = CURVE(reserved, NULL),
};

/* What every TP_ROWS begins with. */
struct any_rows {
    void *rows;
    size_t count, capacity;
};

void *tp_trace_list_rows(const struct tp_trace *trace, enum tp_trace_list list,
                         size_t *count)
{
    const struct tp_trace_list_info *info = &tp_trace_lists[list];
    const char *at = (const char *)trace + info->offset;
    struct any_rows any;
    *count = 1;
    if (info->single)
        return (void *)at;
    memcpy(&any, at, sizeof any);
    *count = any.count;
    return any.rows;
}

void tp_trace_list_set(struct tp_trace *trace, enum tp_trace_list list,
                       void *rows, size_t count)
{
    const struct any_rows any = {rows, count, count};
    memcpy((char *)trace + tp_trace_lists[list].offset, &any, sizeof any);
}

struct tp_table tp_trace_list_table(const struct tp_trace *trace,
                                    enum tp_trace_list list)
{
    const struct tp_trace_list_info *info = &tp_trace_lists[list];
    struct tp_table table = {.name = info->name,
                             .columns = info->columns + 1,
                             .column_count = info->column_count - 1,
                             .row_size = info->row_size};
    table.rows = tp_trace_list_rows(trace, list, &table.row_count);
    return table;
}

/* --- making them ---------------------------------------------------------- */

/* Makes the lists whose turn it is, one after another. */
static enum tp_status make_in_turn(struct tp_trace *trace,
                                   enum tp_trace_turn turn,
                                   struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < TP_TRACE_LISTS && status == TP_OK; i++) {
        if (tp_trace_lists[i].make && tp_trace_lists[i].turn == turn)
            status = tp_trace_lists[i].make(trace, err);
    }
    return status;
}

/* Gives pages that nothing is in back to the system, where the C library can:
 * what one list was made in is often kept below what stays of it, and what the
 * next one is made in comes on top. Few events are not worth the search. */
static void give_back(const struct tp_trace *trace)
{
#if defined(__GLIBC__)
    enum { MANY = 1 << 19 };
    if (trace->events.count > MANY)
        malloc_trim(0);
#else
    (void)trace;
#endif
}

/* Lists that are made beside each other, and the worded ones. */
struct making {
    struct tp_trace *trace;
    size_t count;
    struct {
        enum tp_trace_list list; /* TP_TRACE_LISTS: all worded ones          */
        enum tp_status status;
        struct tp_error err;
    } tasks[TP_TRACE_LISTS + 1];
};

static void make_task(void *context, size_t index, unsigned worker)
{
    struct making *m = context;
    const enum tp_trace_list list = m->tasks[index].list;
    struct tp_error *err = &m->tasks[index].err;
    (void)worker;
    m->tasks[index].status =
        list < TP_TRACE_LISTS ? tp_trace_lists[list].make(m->trace, err)
                              : make_in_turn(m->trace, TP_MADE_WORDED, err);
    give_back(m->trace);
}

/* Paths first: they take longest. */
static void plan(struct making *m)
{
    m->tasks[m->count++].list = TP_TRACE_PATHS;
    for (size_t i = 0; i < TP_TRACE_LISTS; i++) {
        if (tp_trace_lists[i].make && i != TP_TRACE_PATHS &&
            tp_trace_lists[i].turn == TP_MADE_BESIDE)
            m->tasks[m->count++].list = (enum tp_trace_list)i;
    }
    m->tasks[m->count++].list = TP_TRACE_LISTS;
}

enum tp_status tp_trace_lists_make(struct tp_trace *trace, struct tp_pool *pool,
                                   struct tp_error *err)
{
    struct making making = {.trace = trace};
    enum tp_status status = make_in_turn(trace, TP_MADE_FIRST, err);
    if (status != TP_OK)
        return status;
    plan(&making);
    trace->pool = trace->annotated ? NULL : pool; /* tracks are in order */
    tp_pool_for(trace->pool, making.count, make_task, &making);
    trace->pool = NULL;
    for (size_t i = 0; i < making.count; i++) {
        if (making.tasks[i].status == TP_OK)
            continue;
        if (err)
            *err = making.tasks[i].err;
        return making.tasks[i].status;
    }
    return TP_OK;
}

void tp_trace_clear(struct tp_trace *trace)
{
    tp_trace_index_clear(&trace->index);
    tp_events_clear(&trace->events);
    for (enum tp_trace_list i = 0; i < TP_TRACE_LISTS; i++) {
        size_t count;
        if (!tp_trace_lists[i].single)
            free(tp_trace_list_rows(trace, i, &count));
    }
    memset(trace, 0, sizeof *trace);
}

/* --- texts -------------------------------------------------------------- */

/* What is called for each of them. */
struct visit {
    bool (*each)(void *context, const char **text);
    void *context;
};

static bool visit_at(const struct visit *visit, void *at)
{
    const char *text;
    memcpy(&text, at, sizeof text);
    const bool good = visit->each(visit->context, &text);
    memcpy(at, &text, sizeof text);
    return good;
}

/* A member of each row of a list. */
static bool visit_member(const struct visit *visit, struct tp_trace *trace,
                         enum tp_trace_list list, size_t offset)
{
    size_t count;
    char *rows = tp_trace_list_rows(trace, list, &count);
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good =
            visit_at(visit, rows + i * tp_trace_lists[list].row_size + offset);
    return good;
}

static bool visit_list(const struct visit *visit, struct tp_trace *trace,
                       enum tp_trace_list list)
{
    const struct tp_trace_list_info *info = &tp_trace_lists[list];
    bool good = true;
    for (size_t c = 0; c < info->column_count && good; c++) {
        if (info->columns[c].type == TP_COLUMN_TEXT && !info->columns[c].word)
            good = visit_member(visit, trace, list, info->columns[c].offset);
    }
    return good;
}

bool tp_trace_each_text(struct tp_trace *trace,
                        bool (*each)(void *context, const char **text),
                        void *context)
{
    const struct visit visit = {each, context};
    struct tp_trace_facts *facts = &trace->facts;
    const char **texts[] = {&facts->window,         &facts->loader,
                            &facts->driver_call,    &facts->top_op,
                            &facts->orphan,         &facts->silent_collective,
                            &facts->host.tiny,
                            &facts->host.most.name,
                            &facts->host.collective.name,
                            &facts->single_tensor,  &facts->device_name,
                            &trace->events.backend, &trace->events.trace_name,
                            &facts->copy_frame};
    bool good = true;
    for (enum tp_trace_list i = 0; i < TP_TRACE_LISTS && good; i++)
        good = visit_list(&visit, trace, i);
    /* members that are no columns */
    good = good &&
           visit_member(&visit, trace, TP_TRACE_OPS,
                        offsetof(struct tp_op_row, group)) &&
           visit_member(&visit, trace, TP_TRACE_SYNCS,
                        offsetof(struct tp_sync_row, frame));
    for (size_t i = 0; i < COUNT_OF(texts) && good; i++)
        good = each(context, texts[i]);
    for (size_t i = 0; i < TP_SETTING_COUNT && good; i++)
        good = each(context, &trace->settings[i].source);
    return good;
}

/* Where texts are kept. */
struct keeper {
    struct tp_intern *set;
    struct tp_arena *arena;
};

/* One copy of a text, cut where longer ones would make a table too wide. */
static bool keep(void *keeper, const char **text)
{
    static const char dots[] = "...";
    const struct keeper *k = keeper;
    char cut[TP_LIMIT_NAME_BYTES + sizeof dots];
    const char *whole = *text ? *text : "";
    const size_t length = tp_utf8_cut(whole, TP_LIMIT_NAME_BYTES);
    if (whole[length]) {
        memcpy(cut, whole, length);
        memcpy(cut + length, dots, sizeof dots);
        whole = cut;
    }
    *text = tp_intern(k->set, k->arena, whole);
    return *text != NULL;
}

enum tp_status tp_trace_keep_texts(struct tp_trace *trace,
                                   struct tp_intern *set,
                                   struct tp_arena *arena, struct tp_error *err)
{
    struct keeper k = {set, arena};
    return tp_trace_each_text(trace, keep, &k) ? TP_OK : tp_fail_memory(err);
}

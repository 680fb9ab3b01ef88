/* SPDX-License-Identifier: MIT */
#include "trace/trace_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A row of a joined table: the number of the trace, then the trace's row. */
enum { JOINED = sizeof(int64_t) };

#define TRACE_COLUMN                       \
    {                                      \
        "trace", "1", TP_COLUMN_INTEGER, 0 \
    }
#define CELL(row, name, unit, type, member)                                 \
    {                                                                       \
        name, unit, TP_COLUMN_##type, JOINED + offsetof(struct row, member) \
    }
#define TEXT(row, member) CELL(row, #member, "", TEXT, member)
#define INTEGER(row, member, unit) CELL(row, #member, unit, INTEGER, member)
#define REAL(row, member, unit) CELL(row, #member, unit, REAL, member)

/* After `trace` these are the columns, and names, of key_averages tables. */
static const struct tp_column op_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_op_row, name),
    TEXT(tp_op_row, device_type),
    INTEGER(tp_op_row, count, "1"),
    CELL(tp_op_row, "cpu_time_total_us", "us", REAL, cpu_total_us),
    CELL(tp_op_row, "self_cpu_time_total_us", "us", REAL, self_cpu_us),
    CELL(tp_op_row, "cuda_time_total_us", "us", REAL, cuda_total_us),
    CELL(tp_op_row, "self_cuda_time_total_us", "us", REAL, self_cuda_us),
    INTEGER(tp_op_row, cpu_mem_b, "byte"),
    INTEGER(tp_op_row, self_cpu_mem_b, "byte"),
    INTEGER(tp_op_row, cuda_mem_b, "byte"),
    INTEGER(tp_op_row, self_cuda_mem_b, "byte"),
};

static const struct tp_column kernel_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_kernel_row, name),
    TEXT(tp_kernel_row, kind),
    INTEGER(tp_kernel_row, count, "1"),
    REAL(tp_kernel_row, total_us, "us"),
    REAL(tp_kernel_row, mean_us, "us"),
    REAL(tp_kernel_row, min_us, "us"),
    REAL(tp_kernel_row, max_us, "us"),
    REAL(tp_kernel_row, std_us, "us"),
    REAL(tp_kernel_row, share, "1"),
    REAL(tp_kernel_row, mean_blocks_per_sm, "1"),
    REAL(tp_kernel_row, mean_occupancy, "percent"),
};

static const struct tp_column op_kernel_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_op_kernel_row, op),
    TEXT(tp_op_kernel_row, kernel),
    INTEGER(tp_op_kernel_row, count, "1"),
    REAL(tp_op_kernel_row, device_us, "us"),
    REAL(tp_op_kernel_row, mean_us, "us"),
    REAL(tp_op_kernel_row, launch_delay_us, "us"),
    REAL(tp_op_kernel_row, runtime_delay_us, "us"),
};

static const struct tp_column annotation_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_annotation_row, name),
    TEXT(tp_annotation_row, where),
    INTEGER(tp_annotation_row, count, "1"),
    REAL(tp_annotation_row, total_us, "us"),
    REAL(tp_annotation_row, mean_us, "us"),
    REAL(tp_annotation_row, max_us, "us"),
    INTEGER(tp_annotation_row, device_events, "1"),
    REAL(tp_annotation_row, device_us, "us"),
    INTEGER(tp_annotation_row, self_device_events, "1"),
    REAL(tp_annotation_row, self_device_us, "us"),
};

static const struct tp_column step_columns[] = {
    TRACE_COLUMN,
    INTEGER(tp_step_row, step, "1"),
    REAL(tp_step_row, start_us, "us"),
    REAL(tp_step_row, host_us, "us"),
    REAL(tp_step_row, window_us, "us"),
    REAL(tp_step_row, data_wait_us, "us"),
    REAL(tp_step_row, compute_us, "us"),
    REAL(tp_step_row, kernel_us, "us"),
    REAL(tp_step_row, memcpy_us, "us"),
    REAL(tp_step_row, memset_us, "us"),
    REAL(tp_step_row, communication_us, "us"),
    REAL(tp_step_row, runtime_us, "us"),
    REAL(tp_step_row, dataloader_us, "us"),
    REAL(tp_step_row, cpu_exec_us, "us"),
    REAL(tp_step_row, other_us, "us"),
    INTEGER(tp_step_row, device_events, "1"),
    REAL(tp_step_row, busy, "1"),
    INTEGER(tp_step_row, steady, "1"),
    INTEGER(tp_step_row, typical, "1"),
};

static const struct tp_column idle_columns[] = {
    TRACE_COLUMN,
    REAL(tp_idle_row, window_us, "us"),
    REAL(tp_idle_row, busy, "1"),
    REAL(tp_idle_row, alloc, "1"),
    REAL(tp_idle_row, dataloader, "1"),
    REAL(tp_idle_row, blocking, "1"),
    REAL(tp_idle_row, launch, "1"),
    REAL(tp_idle_row, cpu_op, "1"),
    REAL(tp_idle_row, none, "1"),
    REAL(tp_idle_row, blocked, "1"),
    REAL(tp_idle_row, blocked_busy, "1"),
    REAL(tp_idle_row, refill, "1"),
    INTEGER(tp_idle_row, blocking_calls, "1"),
    REAL(tp_idle_row, driver_alloc_us, "us"),
};

static const struct tp_column busy_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_busy_row, definition),
    REAL(tp_busy_row, total_us, "us"),
    REAL(tp_busy_row, busy_us, "us"),
    REAL(tp_busy_row, idle_us, "us"),
    REAL(tp_busy_row, compute_us, "us"),
    REAL(tp_busy_row, communication_us, "us"),
    REAL(tp_busy_row, memory_us, "us"),
    REAL(tp_busy_row, exposed_communication_us, "us"),
    REAL(tp_busy_row, exposed_memory_us, "us"),
    REAL(tp_busy_row, overlap_us, "us"),
    REAL(tp_busy_row, overlap, "1"),
};

static const struct tp_column launch_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_launch_row, name),
    INTEGER(tp_launch_row, count, "1"),
    REAL(tp_launch_row, call_us, "us"),
    REAL(tp_launch_row, mean_call_us, "us"),
    REAL(tp_launch_row, max_call_us, "us"),
    REAL(tp_launch_row, mean_device_us, "us"),
    REAL(tp_launch_row, mean_delay_us, "us"),
    REAL(tp_launch_row, max_delay_us, "us"),
    INTEGER(tp_launch_row, short_kernels, "1"),
};

static const struct tp_column stream_columns[] = {
    TRACE_COLUMN,
    INTEGER(tp_stream_row, device, "1"),
    INTEGER(tp_stream_row, stream, "1"),
    INTEGER(tp_stream_row, device_events, "1"),
    REAL(tp_stream_row, busy_us, "us"),
    REAL(tp_stream_row, host_wait_us, "us"),
    REAL(tp_stream_row, kernel_wait_us, "us"),
    REAL(tp_stream_row, other_wait_us, "us"),
    REAL(tp_stream_row, mean_queue, "1"),
    REAL(tp_stream_row, max_queue, "1"),
    REAL(tp_stream_row, full_queue_us, "us"),
};

static const struct tp_column copy_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_copy_row, kind),
    INTEGER(tp_copy_row, count, "1"),
    INTEGER(tp_copy_row, bytes, "byte"),
    REAL(tp_copy_row, total_us, "us"),
    REAL(tp_copy_row, bandwidth_gbps, "GB/s"),
    REAL(tp_copy_row, call_us, "us"),
};

static const struct tp_column sync_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_sync_row, call),
    TEXT(tp_sync_row, cause),
    TEXT(tp_sync_row, op),
    INTEGER(tp_sync_row, count, "1"),
    REAL(tp_sync_row, total_us, "us"),
    REAL(tp_sync_row, idle_us, "us"),
};

static const struct tp_column path_columns[] = {
    TRACE_COLUMN,
    INTEGER(tp_path_row, step, "1"),
    TEXT(tp_path_row, kind),
    TEXT(tp_path_row, name),
    INTEGER(tp_path_row, count, "1"),
    REAL(tp_path_row, total_us, "us"),
    REAL(tp_path_row, share, "1"),
};

static const struct tp_column memory_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_memory_row, device),
    INTEGER(tp_memory_row, events, "1"),
    INTEGER(tp_memory_row, allocations, "1"),
    INTEGER(tp_memory_row, frees, "1"),
    REAL(tp_memory_row, allocated_b, "byte"),
    REAL(tp_memory_row, peak_allocated_b, "byte"),
    REAL(tp_memory_row, peak_reserved_b, "byte"),
    REAL(tp_memory_row, allocations_per_step, "1"),
    REAL(tp_memory_row, allocated_per_step_b, "byte"),
    REAL(tp_memory_row, turnover, "1"),
    REAL(tp_memory_row, short_lived, "1"),
    REAL(tp_memory_row, reserved_swings, "1"),
};

static const struct tp_column comm_columns[] = {
    TRACE_COLUMN,
    TEXT(tp_comm_row, collective),
    TEXT(tp_comm_row, kernel),
    TEXT(tp_comm_row, group),
    TEXT(tp_comm_row, dtype),
    INTEGER(tp_comm_row, group_size, "1"),
    INTEGER(tp_comm_row, count, "1"),
    INTEGER(tp_comm_row, in_bytes, "byte"),
    INTEGER(tp_comm_row, out_bytes, "byte"),
    REAL(tp_comm_row, total_us, "us"),
    REAL(tp_comm_row, mean_us, "us"),
    REAL(tp_comm_row, max_us, "us"),
    REAL(tp_comm_row, exposed_us, "us"),
    REAL(tp_comm_row, algorithm_gbps, "GB/s"),
    REAL(tp_comm_row, bus_gbps, "GB/s"),
};

/* The rest have rows of their own, not joined. */
#define PLAIN(row, member, unit, type)                                \
    {                                                                 \
#member, unit, TP_COLUMN_##type, offsetof(struct row, member) \
    }

static const struct tp_column skipped_columns[] = {
    PLAIN(tp_trace_skipped, file, "", TEXT),
    PLAIN(tp_trace_skipped, reason, "", TEXT),
    PLAIN(tp_trace_skipped, offset, "byte", INTEGER),
};

/* Where a trace keeps the rows of a table. All lists have the same shape. */
struct list_info {
    const char *name;
    const struct tp_column *columns;
    size_t column_count, offset, row_size;
    bool single; /* one row, not a list */
};

#define LIST(name, columns, member)                                          \
    {                                                                        \
        name, columns, COUNT_OF(columns), offsetof(struct tp_trace, member), \
            sizeof *((struct tp_trace *)0)->member.rows, false               \
    }

static const struct list_info lists[TP_TRACE_LISTS] = {
    [TP_TRACE_OPS] = LIST("ops", op_columns, ops),
    [TP_TRACE_KERNELS] = LIST("kernels", kernel_columns, kernels),
    [TP_TRACE_OP_KERNELS] = LIST("op_kernels", op_kernel_columns, op_kernels),
    [TP_TRACE_ANNOTATIONS] =
        LIST("annotations", annotation_columns, annotations),
    [TP_TRACE_STEPS] = LIST("steps", step_columns, steps),
    [TP_TRACE_IDLE] = {"idle", idle_columns, COUNT_OF(idle_columns),
                       offsetof(struct tp_trace, idle),
                       sizeof(struct tp_idle_row), true},
    [TP_TRACE_BUSY_ROWS] = LIST("busy", busy_columns, busy),
    [TP_TRACE_LAUNCHES] = LIST("launches", launch_columns, launches),
    [TP_TRACE_STREAMS] = LIST("streams", stream_columns, streams),
    [TP_TRACE_COPIES] = LIST("copies", copy_columns, copies),
    [TP_TRACE_SYNCS] = LIST("syncs", sync_columns, syncs),
    [TP_TRACE_MEMORY] = LIST("memory", memory_columns, memory),
    [TP_TRACE_COLLECTIVES] = LIST("collectives", comm_columns, comms),
    [TP_TRACE_PATHS] = LIST("critical_path", path_columns, paths),
};

/* The rows of a list, and how many. */
static char *list_rows(const struct tp_trace *trace,
                       const struct list_info *info, size_t *count)
{
    const char *at = (const char *)trace + info->offset;
    TP_ROWS(tp_op_row) any; /* every list begins as this one does */
    if (info->single) {
        *count = 1;
        return (char *)at;
    }
    memcpy(&any, at, sizeof any);
    *count = any.count;
    return (char *)any.rows;
}

static void make_joined(const void *rows, size_t first, size_t count,
                        void *made)
{
    const struct tp_trace_join *join = rows;
    const struct list_info *info = &lists[join->list];
    const size_t size = JOINED + info->row_size;
    char *to = made;
    for (size_t i = 0; i < join->run->trace_count && count; i++) {
        size_t there;
        const char *from = list_rows(&join->run->traces[i], info, &there);
        for (size_t j = first; j < there && count; j++, count--, to += size) {
            const int64_t number = (int64_t)i;
            memcpy(to, &number, sizeof number);
            memcpy(to + JOINED, from + j * info->row_size, info->row_size);
        }
        first = first > there ? first - there : 0;
    }
}

static struct tp_table joined_table(struct tp_trace_join *join)
{
    const struct list_info *info = &lists[join->list];
    struct tp_table table = {
        info->name, info->columns,           info->column_count, join,
        0,          JOINED + info->row_size, make_joined};
    for (size_t i = 0; i < join->run->trace_count; i++) {
        size_t count;
        list_rows(&join->run->traces[i], info, &count);
        table.row_count += count;
    }
    return table;
}

#define PLAIN_TABLE(name, columns, rows, count)                             \
    (struct tp_table)                                                       \
    {                                                                       \
        name, columns, COUNT_OF(columns), rows, count, sizeof *(rows), NULL \
    }

void tp_trace_tables_make(const struct tp_trace_run *run,
                          struct tp_trace_tables *tables)
{
    for (enum tp_trace_table i = 0; i < TP_TRACE_LISTS; i++) {
        tables->joins[i] = (struct tp_trace_join){run, i};
        tables->tables[i] = joined_table(&tables->joins[i]);
    }
    tables->tables[TP_TRACE_SKIPPED] = PLAIN_TABLE(
        "skipped", skipped_columns, run->skipped.rows, run->skipped.count);
}

/* One copy of a text, cut where longer ones would make a table too wide. */
static const char *keep(struct tp_intern *set, struct tp_arena *arena,
                        const char *text)
{
    static const char dots[] = "...";
    char cut[TP_LIMIT_NAME_BYTES + sizeof dots];
    if (!text)
        text = "";
    size_t length = strlen(text);
    if (length <= TP_LIMIT_NAME_BYTES)
        return tp_intern(set, arena, text);
    length = TP_LIMIT_NAME_BYTES;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* not inside a character */
    memcpy(cut, text, length);
    memcpy(cut + length, dots, sizeof dots);
    return tp_intern(set, arena, cut);
}

static bool keep_list(struct tp_trace *trace, const struct list_info *info,
                      struct tp_intern *set, struct tp_arena *arena)
{
    size_t count;
    char *rows = list_rows(trace, info, &count);
    for (size_t c = 1; c < info->column_count; c++) {
        if (info->columns[c].type != TP_COLUMN_TEXT)
            continue;
        for (size_t i = 0; i < count; i++) {
            char *cell =
                rows + i * info->row_size + info->columns[c].offset - JOINED;
            const char *text;
            memcpy(&text, cell, sizeof text);
            if (!(text = keep(set, arena, text)))
                return false;
            memcpy(cell, &text, sizeof text);
        }
    }
    return true;
}

enum tp_status tp_trace_keep_texts(struct tp_trace *trace,
                                   struct tp_intern *set,
                                   struct tp_arena *arena, struct tp_error *err)
{
    struct tp_trace_facts *facts = &trace->facts;
    const char **texts[] = {&facts->window,         &facts->loader,
                            &facts->driver_call,    &facts->top_op,
                            &facts->single_tensor,  &facts->device_name,
                            &trace->events.backend, &trace->events.trace_name};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (!keep_list(trace, &lists[i], set, arena))
            return tp_fail_memory(err);
    }
    for (size_t i = 0; i < trace->arrivals.count; i++) {
        const char **kernel = &trace->arrivals.rows[i].kernel;
        if (!(*kernel = keep(set, arena, *kernel)))
            return tp_fail_memory(err);
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!(*texts[i] = keep(set, arena, *texts[i])))
            return tp_fail_memory(err);
    }
    return TP_OK;
}

static int compare_ops(const void *left, const void *right)
{
    const struct tp_op_row *a = left, *b = right;
    const int result = strcmp(a->name, b->name);
    return result ? result : strcmp(a->device_type, b->device_type);
}

static void add_op(struct tp_op_row *into, const struct tp_op_row *row)
{
    into->count += row->count;
    into->cpu_total_us += row->cpu_total_us;
    into->self_cpu_us += row->self_cpu_us;
    into->cuda_total_us += row->cuda_total_us;
    into->self_cuda_us += row->self_cuda_us;
    into->cpu_mem_b += row->cpu_mem_b;
    into->self_cpu_mem_b += row->self_cpu_mem_b;
    into->cuda_mem_b += row->cuda_mem_b;
    into->self_cuda_mem_b += row->self_cuda_mem_b;
}

enum tp_status tp_trace_sum_ops(const struct tp_trace *traces, size_t count,
                                struct tp_trace_sums *sums,
                                struct tp_error *err)
{
    size_t all = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        all += traces[i].ops.count;
    struct tp_op_row *rows = calloc(all + 1, sizeof *rows);
    if (!rows)
        return tp_fail_memory(err);
    all = 0;
    for (size_t i = 0; i < count; i++) {
        if (traces[i].ops.count)
            memcpy(rows + all, traces[i].ops.rows,
                   traces[i].ops.count * sizeof *rows);
        all += traces[i].ops.count;
    }
    if (count > 1)
        qsort(rows, all, sizeof *rows, compare_ops);
    for (size_t i = 0; i < all; i++) {
        if (used && compare_ops(&rows[used - 1], &rows[i]) == 0)
            add_op(&rows[used - 1], &rows[i]);
        else
            rows[used++] = rows[i];
    }
    *sums = (struct tp_trace_sums){rows, used};
    return TP_OK;
}

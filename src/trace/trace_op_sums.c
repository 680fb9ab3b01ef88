/* SPDX-License-Identifier: MIT */
#include "trace/trace_op_sums.h"

#include <stdlib.h>
#include <string.h>

int tp_trace_compare_ops(const struct tp_op_row *a, const struct tp_op_row *b)
{
    const int result = strcmp(a->name, b->name);
    return result ? result : strcmp(a->device_type, b->device_type);
}

static int compare(const void *a, const void *b)
{
    return tp_trace_compare_ops(a, b);
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
        qsort(rows, all, sizeof *rows, compare);
    for (size_t i = 0; i < all; i++) {
        if (used && compare(&rows[used - 1], &rows[i]) == 0)
            add_op(&rows[used - 1], &rows[i]);
        else
            rows[used++] = rows[i];
    }
    *sums = (struct tp_trace_sums){rows, used};
    return TP_OK;
}

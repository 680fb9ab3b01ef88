/* SPDX-License-Identifier: MIT */
/* Operators by shapes and stacks against key_averages of torch 2.15 on a trace
 * of its own (testdata/README.md), to the nanosecond; modules by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"

/* Reads a recording that is ours. */
static void read_own(struct tp_trace *trace, int by, size_t depth)
{
    static char path[4096];
    struct tp_error err = {0};
    struct tp_pool *pool = NULL;
    testdata_path("traces/cpu-groups-torch2.15.0/groups.json.gz", path,
                  sizeof path);
    *trace = (struct tp_trace){.path = path, .group_by = {by, depth}};
    cr_assert_eq(tp_pool_new(1, &pool, &err), TP_OK);
    const struct tp_trace_watch watch = {.callers = true};
    cr_assert_eq(tp_trace_read(path, pool, &watch, &trace->events, &err),
                 TP_OK, "%s", err.message);
    tp_pool_free(pool);
    cr_assert_eq(tp_trace_index_make(&trace->events, &trace->index, &err),
                 TP_OK);
    cr_assert_eq(tp_trace_groups(trace, &err), TP_OK);
}

static const struct tp_op_row *find(const struct tp_trace *trace,
                                    const char *name, const char *group)
{
    for (size_t i = 0; i < trace->op_groups.count; i++) {
        const struct tp_op_row *row = &trace->op_groups.rows[i];
        if (!strcmp(row->name, name) && !strcmp(row->group, group))
            return row;
    }
    return NULL;
}

/* Rows of a text: name, group, count, CPU total and self, tab between. */
static void check_against(const struct tp_trace *trace, const char *file)
{
    char path[4096], line[8192], name[1024], group[4096];
    long long count;
    double total, self;
    size_t rows = 0;
    testdata_path(file, path, sizeof path);
    FILE *text = fopen(path, "r");
    cr_assert_not_null(text, "%s", path);
    while (fgets(line, sizeof line, text)) {
        char *tab = strchr(line, '\t'), *next = strchr(tab + 1, '\t');
        *tab = *next = '\0';
        strcpy(name, line);
        strcpy(group, tab + 1);
        cr_assert_eq(sscanf(next + 1, "%lld %lf %lf", &count, &total, &self),
                     3);
        const struct tp_op_row *row = find(trace, name, group);
        cr_assert_not_null(row, "%s, %s", name, group);
        cr_expect_eq(row->count, count, "%s, %s", name, group);
        cr_expect_float_eq(row->cpu_total_us, total, 1e-6, "%s, %s: %.3f", name,
                           group, row->cpu_total_us);
        cr_expect_float_eq(row->self_cpu_us, self, 1e-6, "%s, %s: %.3f", name,
                           group, row->self_cpu_us);
        rows++;
    }
    fclose(text);
    cr_expect(rows > 90 && rows == trace->op_groups.count, "%zu, not %zu",
              trace->op_groups.count, rows);
}

Test(trace_groups, shapes_are_those_of_torch)
{
    struct tp_trace trace;
    read_own(&trace, TP_GROUP_SHAPE, 0);
    check_against(&trace, "traces/cpu-groups-torch2.15.0/shape.tsv");
    trace_file_close(&trace);
}

Test(trace_groups, stacks_are_those_of_torch)
{
    struct tp_trace trace;
    read_own(&trace, TP_GROUP_STACK, 5);
    check_against(&trace, "traces/cpu-groups-torch2.15.0/stack.tsv");
    trace_file_close(&trace);
}

/* What autograd runs belongs to the module of its forward operator. */
Test(trace_groups, modules)
{
    struct tp_trace trace;
    read_own(&trace, TP_GROUP_MODULE, 0);
    const struct tp_op_row *forward =
        find(&trace, "aten::addmm", "Net_0/Linear_1");
    cr_assert_not_null(forward);
    cr_expect_eq(forward->count, 3);
    cr_assert_not_null(find(&trace, "AddmmBackward0", "Net_0/Linear_1"));
    cr_assert_not_null(
        find(&trace, "NativeLayerNormBackward0", "Net_0/LayerNorm_0"));
    cr_assert_not_null(find(&trace, "aten::cat", "Net_0"));
    cr_assert_not_null(find(&trace, "aten::cross_entropy_loss", ""));
    int64_t all = 0;
    for (size_t i = 0; i < trace.op_groups.count; i++)
        all += strcmp(trace.op_groups.rows[i].name, "aten::addmm")
                   ? 0
                   : trace.op_groups.rows[i].count;
    cr_expect_eq(all, 6);
    trace_file_close(&trace);
}

/* Frames alone, as with_stack writes them: the innermost first, those of other
 * threads not at all, device time with the operator. */
Test(trace_groups, frames)
{
#define FRAME(name, tid, ts, dur)                                             \
    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" name         \
    "\", \"pid\": 1, \"tid\": " #tid ", \"ts\": " #ts ", \"dur\": " #dur "},"
    static const char json[] =
        "{\"traceEvents\": [" FRAME("a.py(1): main", 1, 0, 100)
            FRAME("a.py(9): f", 1, 10, 50) FRAME("b.py(2): g", 2, 0, 100)
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": "
        "1, \"tid\": 1, \"ts\": 20, \"dur\": 10},"
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": "
        "1, \"tid\": 1, \"ts\": 70, \"dur\": 20},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"launch\", "
        "\"pid\": 1, \"tid\": 1, \"ts\": 72, \"dur\": 1, \"args\": "
        "{\"correlation\": 5}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "
        "\"tid\": 7, \"ts\": 80, \"dur\": 30, \"args\": {\"device\": 0, "
        "\"stream\": 7, \"correlation\": 5}}]}";
#undef FRAME
    struct tp_trace trace;
    trace_text_read(json, &trace);
    trace.group_by = (struct tp_group_choice){TP_GROUP_STACK, 2};
    cr_assert_eq(tp_trace_groups(&trace, NULL), TP_OK);
    const struct tp_op_row *inner =
        find(&trace, "aten::mm", "a.py(9): f; a.py(1): main");
    const struct tp_op_row *outer = find(&trace, "aten::mm", "a.py(1): main");
    cr_assert(inner && outer);
    cr_expect(inner->count == 1 && inner->self_cpu_us == 10 &&
              inner->self_cuda_us == 0);
    cr_expect(outer->count == 1 && outer->self_cpu_us == 19 &&
              outer->self_cuda_us == 30);
    trace_file_close(&trace);
}

Test(trace_groups, none)
{
    struct tp_trace trace;
    read_own(&trace, TP_GROUP_NONE, 0);
    cr_expect_eq(trace.op_groups.count, 0);
    trace_file_close(&trace);
}

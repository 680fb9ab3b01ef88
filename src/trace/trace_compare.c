/* SPDX-License-Identifier: MIT */
/*
 * Two runs side by side: rows of both are thrown together, sorted by name and
 * kind, and each group becomes one row with a before and an after.
 *
 * Sorting needs no second structure and gives an order that depends on names
 * only; a hash of names would save a factor of log n on some thousands of
 * rows. Sums are divided by the steps of their side, so that runs of unequal
 * length compare. O(n log n).
 */
#include "trace/trace_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum side { BASE, TEST, SIDES };

/* A row of one trace, on its way into a row of the comparison. */
struct item {
    const char *name, *kind;
    enum side side;
    int64_t count;
    double us, device_us;
};

struct items {
    struct item *rows;
    size_t count, capacity;
};

struct merging {
    const struct tp_trace_run *runs[SIDES];
    int64_t steps[SIDES];
};

/* --- operators and kernels ---------------------------------------------- */

static enum tp_status add_item(struct items *items, const struct item *item,
                               struct tp_error *err)
{
    const enum tp_status status =
        tp_grow(&items->rows, &items->capacity, items->count + 1,
                sizeof *items->rows, err);
    if (!status) {
        items->rows[items->count++] = *item;
    }
    return status;
}

/* Operators, annotations and calls; device rows are those of kernels. */
static enum tp_status add_ops(const struct tp_trace *trace, enum side side,
                              struct items *items, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < trace->ops.count && !status; i++) {
        const struct tp_op_row *row = &trace->ops.rows[i];
        const struct item item = {row->name,        row->device_type,
                                  side,             row->count,
                                  row->self_cpu_us, row->self_cuda_us};
        if (!row->is_device) {
            status = add_item(items, &item, err);
        }
    }
    return status;
}

static enum tp_status add_kernels(const struct tp_trace *trace,
                                  enum side side, struct items *items,
                                  struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (size_t i = 0; i < trace->kernels.count && !status; i++) {
        const struct tp_kernel_row *row = &trace->kernels.rows[i];
        const struct item item = {row->name,  row->kind,     side,
                                  row->count, row->total_us, 0};
        status = add_item(items, &item, err);
    }
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->kind, y->kind);
}

/* Largest change first. */
static int by_change(const void *a, const void *b)
{
    const struct tp_compare_row *x = a;
    const struct tp_compare_row *y = b;
    const double left =
        fmax(fabs(x->change_us), fabs(x->change_device_us));
    const double right =
        fmax(fabs(y->change_us), fabs(y->change_device_us));
    if (left != right) {
        return left > right ? -1 : 1;
    }
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->kind, y->kind);
}

/* How the count of a step changed; exact, as products of integers below
 * 2^63 are in long double, or near enough to equal. */
static const char *change_of(const struct merging *merging, int64_t base,
                             int64_t test)
{
    if (base == 0 || test == 0) {
        return base == test ? "unchanged" : base == 0 ? "added" : "removed";
    }
    const long double before = (long double)base * merging->steps[TEST];
    const long double after = (long double)test * merging->steps[BASE];
    return before == after ? "unchanged" : before < after ? "more" : "fewer";
}

/* Adds up the items of one name. */
static struct tp_compare_row make_row(const struct merging *merging,
                                      const struct item *items, size_t count)
{
    int64_t counts[SIDES] = {0};
    double us[SIDES] = {0}, device_us[SIDES] = {0};
    for (size_t i = 0; i < count; i++) {
        const enum side side = items[i].side;
        counts[side] += items[i].count;
        us[side] += items[i].us;
        device_us[side] += items[i].device_us;
    }
    const double base = (double)merging->steps[BASE];
    const double test = (double)merging->steps[TEST];
    struct tp_compare_row row = {
        .name = items->name,
        .kind = items->kind,
        .change = change_of(merging, counts[BASE], counts[TEST]),
        .base_count = counts[BASE],
        .test_count = counts[TEST],
        .base_per_step = (double)counts[BASE] / base,
        .test_per_step = (double)counts[TEST] / test,
        .base_us = us[BASE] / base,
        .test_us = us[TEST] / test,
        .base_device_us = device_us[BASE] / base,
        .test_device_us = device_us[TEST] / test};
    row.change_us = row.test_us - row.base_us;
    row.change_device_us = row.test_device_us - row.base_device_us;
    const double larger =
        fabs(row.change_us) >= fabs(row.change_device_us)
            ? row.change_us
            : row.change_device_us;
    row.sign = larger > 0 ? "+" : larger < 0 ? "-" : "=";
    return row;
}

typedef enum tp_status add_function(const struct tp_trace *trace,
                                    enum side side, struct items *items,
                                    struct tp_error *err);

/* Rows of the comparison of what `add` takes from each trace; owned by the
 * caller. */
static enum tp_status compare(const struct merging *merging,
                              add_function *add,
                              struct tp_compare_row **rows, size_t *count,
                              struct tp_error *err)
{
    struct items items = {0};
    enum tp_status status = TP_OK;
    for (enum side side = BASE; side < SIDES; side++) {
        const struct tp_trace_run *run = merging->runs[side];
        for (size_t i = 0; i < run->trace_count && !status; i++) {
            status = add(&run->traces[i], side, &items, err);
        }
    }
    *rows = calloc(items.count + 1, sizeof **rows);
    if (!status && !*rows) {
        status = tp_fail_memory(err);
    }
    if (!status && items.count > 1) {
        qsort(items.rows, items.count, sizeof *items.rows, by_name);
    }
    for (size_t first = 0, end; first < items.count && !status; first = end) {
        for (end = first + 1;
             end < items.count &&
             by_name(&items.rows[first], &items.rows[end]) == 0;
             end++) {
        }
        (*rows)[(*count)++] =
            make_row(merging, &items.rows[first], end - first);
    }
    if (*count > 1) {
        qsort(*rows, *count, sizeof **rows, by_change);
    }
    free(items.rows);
    return status;
}

/* --- steps -------------------------------------------------------------- */

/* Means over the typical steps of all traces. */
static const struct metric {
    const char *name, *unit;
    size_t offset; /* of a double in tp_step_row */
} metrics[] = {
    {"step", "us", offsetof(struct tp_step_row, host_us)},
    {"step with device tail", "us", offsetof(struct tp_step_row, window_us)},
    {"data wait", "us", offsetof(struct tp_step_row, data_wait_us)},
    {"step without data wait", "us",
     offsetof(struct tp_step_row, compute_us)},
    {"cost: kernel", "us", offsetof(struct tp_step_row, kernel_us)},
    {"cost: memcpy", "us", offsetof(struct tp_step_row, memcpy_us)},
    {"cost: memset", "us", offsetof(struct tp_step_row, memset_us)},
    {"cost: communication", "us",
     offsetof(struct tp_step_row, communication_us)},
    {"cost: runtime", "us", offsetof(struct tp_step_row, runtime_us)},
    {"cost: dataloader", "us", offsetof(struct tp_step_row, dataloader_us)},
    {"cost: cpu_exec", "us", offsetof(struct tp_step_row, cpu_exec_us)},
    {"cost: other", "us", offsetof(struct tp_step_row, other_us)},
    {"device busy", "1", offsetof(struct tp_step_row, busy)},
};

static double mean_of(const struct tp_trace_run *run,
                      const struct metric *metric)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t k = 0; k < run->traces[i].steps.count; k++) {
            const struct tp_step_row *row = &run->traces[i].steps.rows[k];
            double value;
            memcpy(&value, (const char *)row + metric->offset, sizeof value);
            if (row->step >= 0 && row->typical) {
                sum += value;
                count++;
            }
        }
    }
    return count > 0 ? sum / (double)count : NAN;
}

static enum tp_status compare_steps(const struct merging *merging,
                                    struct tp_trace_comparison *comparison,
                                    struct tp_error *err)
{
    const struct tp_trace_run *base = merging->runs[BASE];
    const struct tp_trace_run *test = merging->runs[TEST];
    const enum tp_status status =
        tp_grow(&comparison->steps.rows, &comparison->steps.capacity,
                COUNT_OF(metrics), sizeof *comparison->steps.rows, err);
    for (size_t i = 0; i < COUNT_OF(metrics) && !status; i++) {
        const struct metric *metric = &metrics[i];
        const double before = mean_of(base, metric);
        const double after = mean_of(test, metric);
        comparison->steps.rows[comparison->steps.count++] =
            (struct tp_compare_step_row){
                metric->name, metric->unit, before, after, after - before,
                before != 0 ? after / before : NAN};
    }
    return status;
}

/* --- all ---------------------------------------------------------------- */

static int64_t count_steps(const struct tp_trace_run *run)
{
    int64_t steps = 0;
    for (size_t i = 0; i < run->trace_count; i++) {
        for (size_t k = 0; k < run->traces[i].steps.count; k++) {
            steps += run->traces[i].steps.rows[k].step >= 0;
        }
    }
    return steps;
}

enum tp_status tp_trace_compare(const struct tp_trace_run *base,
                                const struct tp_trace_run *test,
                                struct tp_trace_comparison *comparison,
                                struct tp_error *err)
{
    struct merging merging = {{base, test},
                              {count_steps(base), count_steps(test)}};
    const bool steps = merging.steps[BASE] > 0 && merging.steps[TEST] > 0;
    for (enum side side = BASE; side < SIDES && !steps; side++) {
        const size_t count = merging.runs[side]->trace_count;
        merging.steps[side] = count ? (int64_t)count : 1;
    }
    comparison->base_steps = merging.steps[BASE];
    comparison->test_steps = merging.steps[TEST];
    comparison->per = steps ? "step" : "trace";
    enum tp_status status =
        compare(&merging, add_ops, &comparison->ops.rows,
                &comparison->ops.count, err);
    if (!status) {
        status = compare(&merging, add_kernels, &comparison->kernels.rows,
                         &comparison->kernels.count, err);
    }
    return status ? status : compare_steps(&merging, comparison, err);
}

void tp_trace_comparison_clear(struct tp_trace_comparison *comparison)
{
    free(comparison->ops.rows);
    free(comparison->kernels.rows);
    free(comparison->steps.rows);
    free(comparison->why.rows);
    free(comparison->causes.rows);
    free(comparison->named.rows);
    *comparison = (struct tp_trace_comparison){0};
}

/* --- tables ------------------------------------------------------------- */

#define ROW(member, unit) TP_COLUMN(struct tp_compare_row, member, unit)
#define US(name, member) TP_COLUMN_AS(struct tp_compare_row, name, member, "us")

static const struct tp_column op_columns[] = {
    ROW(name, ""), ROW(change, ""), ROW(sign, ""), ROW(base_count, "1"),
    ROW(test_count, "1"), ROW(base_per_step, "1"), ROW(test_per_step, "1"),
    US("base_self_cpu_us", base_us), US("test_self_cpu_us", test_us),
    US("change_self_cpu_us", change_us),
    US("base_self_cuda_us", base_device_us),
    US("test_self_cuda_us", test_device_us),
    US("change_self_cuda_us", change_device_us),
};

static const struct tp_column kernel_columns[] = {
    ROW(name, ""), ROW(kind, ""), ROW(change, ""), ROW(sign, ""),
    ROW(base_count, "1"), ROW(test_count, "1"), ROW(base_per_step, "1"),
    ROW(test_per_step, "1"), ROW(base_us, "us"), ROW(test_us, "us"),
    ROW(change_us, "us"),
};

#define STEP(member, unit) TP_COLUMN(struct tp_compare_step_row, member, unit)

static const struct tp_column step_columns[] = {
    STEP(metric, ""), STEP(unit, ""), STEP(base, "unit"), STEP(test, "unit"),
    STEP(change, "unit"), STEP(ratio, "1"),
};

#define WHY(member, unit) TP_COLUMN(struct tp_why_row, member, unit)

static const struct tp_column why_columns[] = {
    WHY(kind, ""), WHY(change, ""), WHY(path, ""), WHY(base_name, ""),
    WHY(test_name, ""), WHY(base_inputs, ""), WHY(test_inputs, ""),
    WHY(base_per_step, "1"), WHY(test_per_step, "1"), WHY(base_us, "us"),
    WHY(test_us, "us"), WHY(change_us, "us"),
};

/* A table of rows that are there. */
#define TABLE(name, columns, list)                                \
    (struct tp_table)                                             \
    {                                                             \
        name, columns, COUNT_OF(columns), (list).rows, (list).count, \
            sizeof *(list).rows, NULL                             \
    }

void tp_trace_compare_tables(const struct tp_trace_comparison *comparison,
                             struct tp_table tables[TP_COMPARE_TABLES])
{
    tables[TP_COMPARE_STEPS] =
        TABLE("compare/steps", step_columns, comparison->steps);
    tables[TP_COMPARE_OPS] =
        TABLE("compare/ops", op_columns, comparison->ops);
    tables[TP_COMPARE_KERNELS] =
        TABLE("compare/kernels", kernel_columns, comparison->kernels);
    tables[TP_COMPARE_WHY] =
        TABLE("compare/why", why_columns, comparison->why);
}

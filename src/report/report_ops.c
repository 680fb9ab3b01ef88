/* SPDX-License-Identifier: MIT */
/*
 * The table of operators as users of torch know it, from
 * key_averages().table(): the same columns, widths and roundings. Shares of
 * CPU time are of the sum of all self CPU times, shares of CUDA time of the
 * sum over device rows only; since the rows of operators show the time of the
 * kernels they launch, that column adds up to about 200 %.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_ops.h"
#include "trace/trace_op_sums.h"

enum {
    NAME_WIDTH_MAX = 55, /* longer names are cut, as torch does */
    WIDTH = 12,
    SPACING = 2
};

const char *const tp_trace_sort_columns[] = {"self_cuda_time_total",
                                             "cuda_time_total",
                                             "self_cpu_time_total",
                                             "cpu_time_total",
                                             "self_cuda_memory_usage",
                                             "cuda_memory_usage",
                                             "self_cpu_memory_usage",
                                             "cpu_memory_usage",
                                             "count",
                                             NULL};

/* Later versions of torch write "device" for "cuda". */
static bool same_column(const char *known, const char *given)
{
    static const char cuda[] = "cuda", device[] = "device";
    const char *at = strstr(given, device);
    char plain[64];
    size_t length = strlen(given);
    if (length >= sizeof plain)
        return false;
    if (at) {
        const size_t before = (size_t)(at - given);
        memcpy(plain, given, before);
        memcpy(plain + before, cuda, sizeof cuda - 1);
        memcpy(plain + before + sizeof cuda - 1, at + sizeof device - 1,
               length - before - (sizeof device - 1) + 1);
    } else {
        memcpy(plain, given, length + 1);
    }
    length = strlen(plain);
    if (length > 3 && !strcmp(plain + length - 3, "_us"))
        plain[length - 3] = '\0';
    return !strcmp(known, plain);
}

const char *tp_trace_sort_column(const char *name)
{
    for (const char *const *column = tp_trace_sort_columns; *column; column++) {
        if (same_column(*column, name))
            return *column;
    }
    return NULL;
}

static double sort_value(const struct tp_op_row *row, const char *sort)
{
    const double values[] = {row->self_cuda_us,
                             row->cuda_total_us,
                             row->self_cpu_us,
                             row->cpu_total_us,
                             (double)row->self_cuda_mem_b,
                             (double)row->cuda_mem_b,
                             (double)row->self_cpu_mem_b,
                             (double)row->cpu_mem_b,
                             (double)row->count};
    size_t i = 0;
    while (strcmp(tp_trace_sort_columns[i], sort))
        i++;
    return values[i];
}

struct sorted {
    const struct tp_op_row *row;
    double value;
};

static int compare(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return tp_trace_compare_ops(a->row, b->row);
}

static struct sorted *sort_rows(const struct tp_trace_sums *sums,
                                const char *sort)
{
    struct sorted *rows = calloc(sums->count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < sums->count; i++)
        rows[i] =
            (struct sorted){&sums->rows[i], sort_value(&sums->rows[i], sort)};
    if (rows && sums->count)
        qsort(rows, sums->count, sizeof *rows, compare);
    return rows;
}

/* One right-aligned cell and its spacing. */
static void add_cell(struct tp_text *text, const char *value)
{
    tp_text_add(text, "%*s%*s", WIDTH, value, SPACING, "");
}

static void add_time(struct tp_text *text, double us)
{
    char cell[40];
    if (us >= 1e6)
        snprintf(cell, sizeof cell, "%.3fs", us / 1e6);
    else if (us >= 1e3)
        snprintf(cell, sizeof cell, "%.3fms", us / 1e3);
    else
        snprintf(cell, sizeof cell, "%.3fus", us);
    add_cell(text, cell);
}

static void add_share(struct tp_text *text, double part, double all)
{
    char cell[40] = "NaN";
    if (all > 0)
        snprintf(cell, sizeof cell, "%.2f%%", 100 * part / all);
    add_cell(text, cell);
}

static void add_memory(struct tp_text *text, int64_t bytes)
{
    const double kb = 1024, size = (double)bytes;
    char cell[40];
    if (fabs(size) >= kb * kb * kb)
        snprintf(cell, sizeof cell, "%.2f Gb", size / (kb * kb * kb));
    else if (fabs(size) >= kb * kb)
        snprintf(cell, sizeof cell, "%.2f Mb", size / (kb * kb));
    else if (fabs(size) >= kb)
        snprintf(cell, sizeof cell, "%.2f Kb", size / kb);
    else
        snprintf(cell, sizeof cell, "%" PRId64 " b", bytes);
    add_cell(text, cell);
}

/* What the table shows, and the sums its shares are of. */
struct layout {
    int name_width;
    bool has_device, has_memory;
    double cpu_us, device_us;
};

static struct layout lay_out(const struct tp_trace_sums *sums,
                             const struct sorted *rows, size_t shown)
{
    struct layout layout = {.name_width = 8};
    for (size_t i = 0; i < sums->count; i++) {
        const struct tp_op_row *row = &sums->rows[i];
        layout.cpu_us += row->self_cpu_us;
        if (row->is_device)
            layout.device_us += row->self_cuda_us;
        layout.has_device |= row->self_cuda_us > 0;
        layout.has_memory |= row->cpu_mem_b || row->cuda_mem_b;
    }
    for (size_t i = 0; i < shown; i++) {
        const int width = (int)tp_utf8_count(rows[i].row->name) + 4;
        layout.name_width =
            width > layout.name_width ? width : layout.name_width;
    }
    if (layout.name_width > NAME_WIDTH_MAX)
        layout.name_width = NAME_WIDTH_MAX;
    return layout;
}

static int columns_of(const struct layout *layout)
{
    return 6 + (layout->has_device ? 4 : 0) +
           (layout->has_memory ? layout->has_device ? 4 : 2 : 0);
}

static void add_rule(const struct layout *layout, struct tp_text *text)
{
    for (int i = 0; i < layout->name_width; i++)
        tp_text_add(text, "-");
    for (int i = 0; i < columns_of(layout); i++)
        tp_text_add(text, "  %.*s", WIDTH, "------------");
    tp_text_add(text, "  \n");
}

static void add_heading(const struct layout *layout, struct tp_text *text)
{
    static const char *const cpu[] = {"Self CPU %", "Self CPU", "CPU total %",
                                      "CPU total", "CPU time avg"};
    static const char *const device[] = {"Self CUDA", "Self CUDA %",
                                         "CUDA total", "CUDA time avg"};
    static const char *const memory[] = {"CPU Mem", "Self CPU Mem", "CUDA Mem",
                                         "Self CUDA Mem"};
    add_rule(layout, text);
    tp_text_add(text, "%*s  ", layout->name_width, "Name");
    for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++)
        add_cell(text, cpu[i]);
    for (size_t i = 0; layout->has_device && i < 4; i++)
        add_cell(text, device[i]);
    for (size_t i = 0; layout->has_memory && i < (layout->has_device ? 4 : 2);
         i++)
        add_cell(text, memory[i]);
    add_cell(text, "# of Calls");
    tp_text_add(text, "\n");
    add_rule(layout, text);
}

/* Right-aligned, cut to its column; whole characters only. */
static void add_name(const struct layout *layout, const char *name,
                     struct tp_text *text)
{
    struct tp_text shown = {0};
    tp_text_printable(&shown, name);
    const char *from = tp_text_get(&shown);
    const int most = layout->name_width;
    int length = (int)tp_utf8_count(from);
    const bool cut = length > most;
    if (cut) {
        shown.data[tp_utf8_first(from, (size_t)most - 3)] = '\0';
        length = most;
    }
    tp_text_add(text, "%*s%s%s%*s", most - length, "", from, cut ? "..." : "",
                SPACING, "");
    text->failed |= shown.failed;
    tp_text_clear(&shown);
}

static void add_row(const struct layout *layout, const struct tp_op_row *row,
                    struct tp_text *text)
{
    char count[24];
    const double calls = row->count > 0 ? (double)row->count : 1;
    add_name(layout, row->name, text);
    add_share(text, row->self_cpu_us, layout->cpu_us);
    add_time(text, row->self_cpu_us);
    add_share(text, row->cpu_total_us, layout->cpu_us);
    add_time(text, row->cpu_total_us);
    add_time(text, row->cpu_total_us / calls);
    if (layout->has_device) {
        add_time(text, row->self_cuda_us);
        add_share(text, row->self_cuda_us, layout->device_us);
        add_time(text, row->cuda_total_us);
        add_time(text, row->cuda_total_us / calls);
    }
    if (layout->has_memory) {
        add_memory(text, row->cpu_mem_b);
        add_memory(text, row->self_cpu_mem_b);
    }
    if (layout->has_memory && layout->has_device) {
        add_memory(text, row->cuda_mem_b);
        add_memory(text, row->self_cuda_mem_b);
    }
    snprintf(count, sizeof count, "%" PRId64, row->count);
    add_cell(text, count);
    tp_text_add(text, "\n");
}

/* "Self CPU time total: 1.234s" */
static void add_total(const char *what, double us, struct tp_text *text)
{
    struct tp_text time = {0};
    add_time(&time, us);
    const char *value = tp_text_get(&time);
    value += strspn(value, " ");
    tp_text_add(text, "%s time total: %.*s\n", what, (int)strcspn(value, " "),
                value);
    text->failed |= time.failed;
    tp_text_clear(&time);
}

void tp_trace_report_ops(const struct tp_trace_report *report,
                         struct tp_text *text)
{
    struct tp_trace_sums sums;
    if (tp_trace_sum_ops(report->run->traces, report->run->trace_count, &sums,
                         NULL) != TP_OK) {
        text->failed = true;
        return;
    }
    struct sorted *rows = sort_rows(&sums, report->sort);
    size_t shown = sums.count < report->top ? sums.count : report->top;
    text->failed |= rows == NULL;
    if (rows && shown) {
        const struct layout layout = lay_out(&sums, rows, shown);
        add_heading(&layout, text);
        for (size_t i = 0; i < shown; i++)
            add_row(&layout, rows[i].row, text);
        add_rule(&layout, text);
        add_total("Self CPU", layout.cpu_us, text);
        if (layout.has_device)
            add_total("Self CUDA", layout.device_us, text);
        if (shown < sums.count)
            tp_text_add(text, "%zu more rows: --top N, or /ops\n",
                        sums.count - shown);
    }
    free(rows);
    free(sums.rows);
}

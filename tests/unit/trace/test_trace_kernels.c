/* SPDX-License-Identifier: MIT */
/* Kernels against TraceLens, the tensorboard plugin, and counts over real
 * traces. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/csv.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

static void read_kernels(const char *file, struct tp_trace *trace)
{
    trace_file_read(file, trace);
    cr_assert_eq(tp_trace_kernels(trace, NULL), TP_OK);
}

/* --- TraceLens: rows by operator, name and stream ------------------------ */

static const struct {
    const char *tag, *file;
    size_t name; /* column of the kernel's name; the sum is two, the count
                    three, the smallest five, the largest six later */
} lenses[] = {
    {"15_bert_h100",
     "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz", 2},
    {"16_owlv2_h100",
     "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz", 2},
    {"edge_gpu_only_mi210", "edge/gpu_only_trace.json.gz", 1},
};

/* What is left of our rows after all of theirs were taken away. */
static void take(struct tp_trace *trace, char **fields, size_t name)
{
    for (size_t i = 0; i < trace->kernels.count; i++) {
        struct tp_kernel_row *row = &trace->kernels.rows[i];
        if (strcmp(row->name, fields[name]) == 0) {
            row->total_us -= strtod(fields[name + 2], NULL);
            row->count -= strtoll(fields[name + 3], NULL, 10);
            cr_expect(row->min_us <= strtod(fields[name + 5], NULL) + 1e-3);
            cr_expect(row->max_us >= strtod(fields[name + 6], NULL) - 1e-3);
            return;
        }
    }
    cr_expect(false, "no kernel %s", fields[name]);
}

Test(trace_kernels, equal_tracelens)
{
    static char line[1 << 16];
    for (size_t i = 0; i < sizeof lenses / sizeof *lenses; i++) {
        struct tp_trace trace;
        char path[256];
        snprintf(path, sizeof path, "expected/tracelens/%s/kernel_summary.csv",
                 lenses[i].tag);
        FILE *file = trace_file_open(path);
        read_kernels(lenses[i].file, &trace);
        cr_assert(fgets(line, sizeof line, file));
        while (fgets(line, sizeof line, file)) {
            char *fields[12];
            cr_assert(csv_split(line, fields, 12) >= lenses[i].name + 7);
            take(&trace, fields, lenses[i].name);
        }
        for (size_t j = 0; j < trace.kernels.count; j++) {
            const struct tp_kernel_row *row = &trace.kernels.rows[j];
            if (!strcmp(row->kind, "memory")) { /* not in that table */
                continue;
            }
            cr_expect_eq(row->count, 0, "%s: %s, %d more", lenses[i].tag,
                         row->name, (int)row->count);
            cr_expect_float_eq(row->total_us, 0, 0.01, "%s: %s, %f more",
                               lenses[i].tag, row->name, row->total_us);
        }
        fclose(file);
        trace_file_close(&trace);
    }
}

/* --- the plugin: its longest kernels, names cut at 80 bytes ----------------
 */

struct top {
    char name[81];
    long long count;
    double sum, mean, max, min, blocks, occupancy;
};

static bool read_top(const char *line, struct top *top)
{
    const char *numbers = strstr(line, " cnt ");
    if (strncmp(line, "    ", 4) || !numbers || numbers - line - 4 > 80) {
        return false;
    }
    snprintf(top->name, sizeof top->name, "%.*s", (int)(numbers - line - 4),
             line + 4);
    return sscanf(numbers,
                  " cnt %lld sum %lf mean %lf max %lf min %lf bpsm %lf occ "
                  "%lf",
                  &top->count, &top->sum, &top->mean, &top->max, &top->min,
                  &top->blocks, &top->occupancy) == 7;
}

static bool is_row(const struct tp_kernel_row *row, const struct top *top)
{
    return !strncmp(row->name, top->name, strlen(top->name)) &&
           row->count == top->count && fabs(row->total_us - top->sum) < 0.1 &&
           fabs(row->mean_us - top->mean) < 0.01 &&
           fabs(row->max_us - top->max) < 0.01 &&
           fabs(row->min_us - top->min) < 0.01 &&
           fabs(row->mean_blocks_per_sm - top->blocks) < 0.006 &&
           fabs(row->mean_occupancy - top->occupancy) < 0.006;
}

/* Compares the kernels of one section of a file; how many. */
static size_t compare_plugin(const char *expected, const char *section,
                             const char *name)
{
    static char line[1 << 16];
    struct tp_trace trace;
    FILE *file = trace_file_open(expected);
    bool inside = false;
    size_t compared = 0;
    read_kernels(name, &trace);
    while (fgets(line, sizeof line, file)) {
        struct top top;
        if (!strncmp(line, "=====", 5)) {
            inside = strstr(line, section) != NULL;
        } else if (inside && read_top(line, &top)) {
            bool found = false;
            for (size_t i = 0; i < trace.kernels.count; i++) {
                found |= is_row(&trace.kernels.rows[i], &top);
            }
            cr_expect(found, "%s", top.name);
            compared++;
        }
    }
    fclose(file);
    trace_file_close(&trace);
    return compared;
}

Test(trace_kernels, equal_the_tensorboard_plugin)
{
    static const char own[] = "own/expected/tb_plugin.txt";
    static const char public[] = "expected/tb_plugin.txt";
    cr_expect_eq(compare_plugin(own, "own/train", "own/train.json.gz"), 6);
    cr_expect_eq(
        compare_plugin(own, "own/fractions", "own/fractions.json.gz"), 6);
    if (trace_data_there(public))
        cr_expect_geq(compare_plugin(public, "resnet50_num_workers_0",
                                     "01_resnet50_nw0/worker0.1623143089861"
                                     ".pt.trace.json.gz"),
                      5);
}

/* --- signals: median, share of short kernels -------------------------------
 */

static const struct {
    const char *section, *file;
} signals[] = {
    {"own/train", "own/train.json.gz"},
    {"own/fractions", "own/fractions.json.gz"},
    {"own/ranks/rank0", "own/ranks/rank0.json.gz"},
    {"01_resnet50_nw0",
     "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz"},
    {"06_nccl_data", "06_nccl_data/nccl_data.json.gz"},
    {"09_negative_queue", "09_negative_queue/rank0.json.gz"},
    {"05_trace_compare/base", "05_trace_compare/base/base.json.gz"},
    {"12_mi250_minitoy",
     "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz"},
    {"15_bert_h100",
     "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz"},
    {"19_b200_eager", "19_b200_eager/eager_trace.json.gz"},
    {"gpu_only", "edge/gpu_only_trace.json.gz"},
};

/* The line about kernels in a section; false when there is none. */
static bool read_signals(const char *section, double *numbers)
{
    static char line[1 << 16];
    FILE *file = trace_file_open(trace_data_own(section)
                                     ? "own/expected/signals.txt"
                                     : "expected/signals.txt");
    bool inside = false, found = false;
    while (!found && fgets(line, sizeof line, file)) {
        if (line[0] == '#') {
            inside = strstr(line, section) != NULL;
        } else if (inside) {
            found = sscanf(line,
                           " gpu_span %*f busy%% %*f kernels %lf med_us %lf "
                           "mean %lf <10us: %lf%% cnt, %lf%% time",
                           &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                           &numbers[4]) == 5;
        }
    }
    fclose(file);
    return found;
}

Test(trace_kernels, durations)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct tp_trace trace;
        double wanted[5], count = 0, total = 0;
        if (!trace_data_there(signals[i].file))
            continue;
        const bool found = read_signals(signals[i].section, wanted);
        cr_assert(found, "%s", signals[i].section);
        read_kernels(signals[i].file, &trace);
        for (size_t bin = 0; bin < TP_KERNEL_BINS; bin++) {
            count += (double)trace.kernel_count[bin];
            total += trace.kernel_us[bin];
        }
        cr_expect_eq(count, wanted[0], "%s", signals[i].section);
        cr_expect_float_eq(total / count, wanted[2], 0.0051, "%s",
                           signals[i].section);
        cr_expect_float_eq(trace.median_kernel_us, wanted[1], 0.0051, "%s",
                           signals[i].section);
        cr_expect_float_eq(100 * trace.short_share, wanted[4], 0.051, "%s",
                           signals[i].section);
        trace_file_close(&trace);
    }
}

/* --- by hand ---------------------------------------------------------------
 */

#define KERNEL(cat, name, ts, dur)                        \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name  \
    "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{\"stream\":7,\"device\":0}},"
#define END "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]"

/* Bin b ends before 2^(b/2) us. */
Test(trace_kernels, bins_and_kinds)
{
    struct tp_trace trace;
    trace_text_read(
        "[" KERNEL("kernel", "k", 0, 0) KERNEL("kernel", "k", 1, 0.999)
            KERNEL("kernel", "k", 2, 1) KERNEL("kernel", "k", 3, 1.414)
                KERNEL("kernel", "k", 4, 1.415) KERNEL("kernel", "k", 5, 2)
                    KERNEL("kernel", "ncclKernel_x", 6,
                           524288) KERNEL("kernel", "ncclKernel_x", 7, 80000000)
                        KERNEL("kernel", "ncclKernel_x", 8, 524287)
                            KERNEL("gpu_memset", "Memset (Device)", 9, 5)
                                KERNEL("mtia_ccp_events", "dma_request", 10, 5)
                                    END,
        &trace);
    cr_assert_eq(tp_trace_kernels(&trace, NULL), TP_OK);
    cr_expect_eq(trace.kernel_count[0], 2);
    cr_expect_eq(trace.kernel_count[1], 2);
    cr_expect_eq(trace.kernel_count[2], 1);
    cr_expect_eq(trace.kernel_count[3], 1);
    cr_expect_eq(trace.kernel_count[TP_KERNEL_BINS - 2], 1);
    cr_expect_eq(trace.kernel_count[TP_KERNEL_BINS - 1], 2);
    cr_assert_eq(trace.kernels.count, 4);
    const struct tp_kernel_row *rows = trace.kernels.rows;
    cr_expect_str_eq(rows[0].kind, "communication");
    cr_expect_str_eq(rows[1].kind, "compute");
    cr_expect_str_eq(rows[2].name, "Memset (Device)");
    cr_expect_str_eq(rows[2].kind, "memory");
    cr_expect_str_eq(rows[3].kind, "memory");
    cr_expect(isnan(rows[3].std_us) && isnan(rows[3].mean_occupancy));
    /* numpy.std([0, .999, 1, 1.414, 1.415, 2], ddof=1) */
    cr_expect_float_eq(rows[1].std_us, 0.6677361754465607, 1e-12);
    trace_file_close(&trace);
}

/* SPDX-License-Identifier: MIT */
/* Device time against TraceLens and Holistic Trace Analysis. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/hta.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

/* --- TraceLens ------------------------------------------------------------ */

static const struct {
    const char *folder, *trace;
} tracelens[] = {
    {"15_bert_h100",
     "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz"},
    {"16_owlv2_h100",
     "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"},
    {"edge_gpu_only_mi210", "edge/gpu_only_trace.json.gz"},
};

static const struct tp_busy_row *find_row(const struct tp_trace *trace,
                                          const char *definition)
{
    for (size_t i = 0; i < trace->busy.count; i++) {
        if (strcmp(trace->busy.rows[i].definition, definition) == 0) {
            return &trace->busy.rows[i];
        }
    }
    cr_assert_fail("no row %s", definition);
    return NULL;
}

/* The column of a row of TraceLens' gpu_timeline. */
static double value_of(const struct tp_busy_row *row, const char *type)
{
    const struct {
        const char *type;
        double value;
    } columns[] = {
        {"computation_time", row->compute_us},
        {"exposed_comm_time", row->exposed_communication_us},
        {"exposed_memcpy_time", row->exposed_memory_us},
        {"busy_time", row->busy_us},
        {"idle_time", row->idle_us},
        {"total_time", row->total_us},
        {"total_comm_time", row->communication_us},
        {"total_memcpy_time", row->memory_us},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (strcmp(type, columns[i].type) == 0) {
            return columns[i].value;
        }
    }
    cr_assert_fail("unknown row %s", type);
    return NAN;
}

static void compare_timeline(const char *folder, const struct tp_busy_row *row)
{
    char name[256];
    char line[256];
    int rows = 0;
    snprintf(name, sizeof name, "expected/tracelens/%s/gpu_timeline.csv",
             folder);
    FILE *file = trace_file_open(name);
    cr_assert_not_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        char type[64];
        double milliseconds = NAN;
        cr_assert_eq(sscanf(line, "%63[^,],%lf", type, &milliseconds), 2);
        const double ours = value_of(row, type);
        cr_expect_leq(fabs(ours - 1e3 * milliseconds), 0.1,
                      "%s: %s is %.3f us, not %.3f", folder, type, ours,
                      1e3 * milliseconds);
        rows++;
    }
    fclose(file);
    cr_assert_eq(rows, 8);
}

Test(trace_busy, tracelens)
{
    for (size_t i = 0; i < sizeof tracelens / sizeof *tracelens; i++) {
        struct tp_trace trace;
        struct tp_error err = {0};
        trace_file_read(tracelens[i].trace, &trace);
        cr_assert_eq(tp_trace_busy(&trace, &err), TP_OK, "%s", err.message);
        compare_timeline(tracelens[i].folder,
                         find_row(&trace, "linked device span"));
        trace_file_close(&trace);
    }
}

/* --- Holistic Trace Analysis ---------------------------------------------- */

static void compare_temporal(const struct hta_line *line, const struct hta *hta)
{
    const struct hta_temporal ours = hta_temporal(hta);
    const int64_t idle = (int64_t)atof(line->words[2]);
    const int64_t compute = (int64_t)atof(line->words[3]);
    const int64_t other = (int64_t)atof(line->words[4]);
    const int64_t kernel = (int64_t)atof(line->words[5]);
    cr_expect(ours.idle == idle && ours.compute == compute &&
                  ours.non_compute == other && ours.kernel == kernel,
              "%s %d: %ld %ld %ld %ld, not %ld %ld %ld %ld", line->section,
              line->include_last, (long)ours.idle, (long)ours.compute,
              (long)ours.non_compute, (long)ours.kernel, (long)idle,
              (long)compute, (long)other, (long)kernel);
}

/* "COMPUTATION overlapping MEMORY" as bits. */
static int kinds_of(const struct hta_line *line)
{
    int kinds = 0;
    for (int i = 1; i < line->count - 2; i++) {
        kinds |=
            strcmp(line->words[i], "COMPUTATION") == 0 ? HTA_COMPUTATION : 0;
        kinds |= strcmp(line->words[i], "COMMUNICATION") == 0
                     ? HTA_COMMUNICATION
                     : 0;
        kinds |= strcmp(line->words[i], "MEMORY") == 0 ? HTA_MEMORY : 0;
    }
    return kinds;
}

static void compare_kinds(const struct hta_line *line, int64_t ours)
{
    const int64_t theirs = atoll(line->words[line->count - 2]);
    cr_expect_eq(ours, theirs, "%s %d kinds %d: %ld, not %ld", line->section,
                 line->include_last, kinds_of(line), (long)ours, (long)theirs);
}

static void compare_overlap(const struct hta_line *line, double ours)
{
    const char *theirs = line->words[line->count - 1];
    if (strcmp(theirs, "NaN") == 0) {
        cr_expect(isnan(ours), "%s: overlap %f", line->section, ours);
    } else {
        cr_expect_leq(fabs(ours - atof(theirs)), 0.005 + 1e-9,
                      "%s %d: overlap %.3f, not %s", line->section,
                      line->include_last, ours, theirs);
    }
}

/* Headings and the like have no number first. */
static bool is_row(const struct hta_line *line)
{
    return line->count > 2 && line->words[0][0] >= '0' &&
           line->words[0][0] <= '9';
}

/* How many rows of each table were compared. */
struct compared {
    int temporal, kinds, overlap;
};

static void compare_line(const struct hta_line *line, struct hta_traces *traces,
                         struct compared *compared)
{
    if (strcmp(line->block, "temporal") == 0) {
        compare_temporal(line, hta_find(traces, line, atoi(line->words[1])));
        compared->temporal++;
    } else if (strcmp(line->block, "kernel_type(no") == 0 ||
               strcmp(line->block, "ktypes") == 0) {
        int64_t sum = 0; /* over the ranks */
        cr_assert_neq(kinds_of(line), 0);
        for (int rank = 0; rank < hta_ranks(line); rank++) {
            sum += hta_kinds(hta_find(traces, line, rank), 7)
                       .times[kinds_of(line)];
        }
        compare_kinds(line, sum);
        compared->kinds++;
    } else if (strcmp(line->block, "comm_comp") == 0 ||
               strcmp(line->block, "overlap") == 0) {
        const int rank = atoi(line->words[1]);
        compare_overlap(line, hta_overlap(hta_find(traces, line, rank)));
        compared->overlap++;
    }
}

static struct compared compare_hta(const char *file)
{
    struct hta_line line = {.file = trace_file_open(file)};
    struct hta_traces traces = {.count = 0};
    struct compared compared = {0};
    while (hta_next(&line)) {
        if (is_row(&line)) {
            cr_assert_not_null(hta_find(&traces, &line, 0), "%s",
                               line.section);
            compare_line(&line, &traces, &compared);
        }
    }
    hta_traces_close(&traces);
    return compared;
}

Test(trace_busy, hta_of_own_traces)
{
    const struct compared compared = compare_hta("own/expected/hta.txt");
    cr_assert_eq(compared.temporal, 20);
    cr_assert_eq(compared.overlap, 20);
    cr_assert_geq(compared.kinds, 40);
}

Test(trace_busy, hta)
{
    const struct compared compared = compare_hta("expected/hta.txt");
    cr_assert_eq(compared.temporal, 20);
    cr_assert_eq(compared.overlap, 20);
    cr_assert_geq(compared.kinds, 40);
}

/* Rows have the rank second; kinds are added up over the ranks. */
Test(trace_busy, hta_ranks)
{
    const struct compared compared =
        compare_hta("expected/hta_23_dlrm_8rank.txt");
    cr_assert_eq(compared.temporal, 16);
    cr_assert_eq(compared.overlap, 16);
    cr_assert_eq(compared.kinds, 10);
}

/* --- by hand -------------------------------------------------------------- */

/* clang-format off: an event a line */
#define DEVICE(cat, name, stream, ts, dur)                          \
    ",{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name           \
    "\",\"pid\":0,\"tid\":" #stream ",\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{\"device\":0,\"stream\":" #stream "}}"

/* Computation 0 .. 100, communication 50 .. 200, a copy 150 .. 250; nothing
 * of it was launched in the file. */
Test(trace_busy, by_hand)
{
    struct tp_trace trace;
    trace_text_read(
        "{\"traceEvents\":[{\"ph\":\"M\"}" DEVICE("kernel", "k", 7, 0, 60)
            DEVICE("gpu_memset", "Memset (Device)", 7, 60, 40)
                DEVICE("kernel", "ncclKernel_AllReduce", 8, 50, 150)
                    DEVICE("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 9,
                           150, 100) DEVICE("kernel", "k", 7, 300, 100) "]}",
        &trace);
    cr_assert_eq(tp_trace_busy(&trace, NULL), TP_OK);
    const struct tp_busy_row *row = find_row(&trace, "device span");
    cr_expect_float_eq(row->total_us, 400, 1e-9);
    cr_expect_float_eq(row->busy_us, 350, 1e-9);
    cr_expect_float_eq(row->idle_us, 50, 1e-9);
    cr_expect_float_eq(row->compute_us, 200, 1e-9);
    cr_expect_float_eq(row->communication_us, 150, 1e-9);
    cr_expect_float_eq(row->memory_us, 100, 1e-9);
    cr_expect_float_eq(row->exposed_communication_us, 100, 1e-9);
    cr_expect_float_eq(row->exposed_memory_us, 50, 1e-9);
    cr_expect_float_eq(row->overlap_us, 50, 1e-9);
    cr_expect_float_eq(row->overlap, 1.0 / 3, 1e-12);

    row = find_row(&trace, "linked device span");
    cr_expect_float_eq(row->total_us, 0, 1e-9);
    cr_expect_float_eq(row->busy_us, 0, 1e-9);
    cr_expect(isnan(row->overlap));
    trace_file_close(&trace);
}

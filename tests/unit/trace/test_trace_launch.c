/* SPDX-License-Identifier: MIT */
/* Launches, gaps and queues against Holistic Trace Analysis. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/hta.h"
#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

static bool is_number(const char *word)
{
    return (*word >= '0' && *word <= '9') || *word == '-';
}

/* A row of the table of gaps: [n] rank stream category time ratio. */
static void compare_gap(const struct hta_line *line, const struct hta *hta)
{
    const int stream = atoi(line->words[2]);
    const struct hta_gaps gaps = hta_gaps(hta, stream);
    const char *category = line->words[3];
    const int64_t theirs = (int64_t)atof(line->words[4]);
    const int64_t ours = strcmp(category, "host_wait") == 0 ? gaps.host_wait
                         : strcmp(category, "kernel_wait") == 0
                             ? gaps.kernel_wait
                             : gaps.other;
    cr_expect_eq(ours, theirs, "%s %d stream %d %s: %ld, not %ld",
                 line->section, line->include_last, stream, category,
                 (long)ours, (long)theirs);
}

static const char *const files[] = {"own/expected/hta.txt", "expected/hta.txt",
                                    "expected/hta_23_dlrm_8rank.txt"};

Test(trace_launch, hta_gaps)
{
    struct hta_traces traces = {.count = 0};
    int rows = 0;
    for (int i = 0; i < 3 && trace_data_there(files[i]); i++) {
        struct hta_line line = {.file = trace_file_open(files[i])};
        while (hta_next(&line)) {
            if (strcmp(line.block, "idle") == 0 && line.count == 6) {
                const int rank = atoi(line.words[1]);
                const struct hta *hta = hta_find(&traces, &line, rank);
                cr_assert_not_null(hta);
                compare_gap(&line, hta);
                rows++;
            }
        }
    }
    hta_traces_close(&traces);
    cr_assert_geq(rows, trace_data_there(files[1]) ? 340 : 90, "%d", rows);
}

/* A row of the table of queues: [rank] stream count mean std min .. max. */
static void compare_queue(const struct hta_line *line, const struct hta *hta)
{
    char *const *words = line->words + line->count - 9;
    const int stream = atoi(words[0]);
    const struct hta_queue ours = hta_queue(hta, stream, 1024);
    cr_expect_eq(ours.count, (int64_t)atof(words[1]),
                 "%s %d stream %d: %ld changes, not %s", line->section,
                 line->include_last, stream, (long)ours.count, words[1]);
    cr_expect(ours.mean_low - 1e-6 <= atof(words[2]) &&
                  atof(words[2]) <= ours.mean_high + 1e-6,
              "%s %d stream %d: mean %.6f to %.6f, not %s", line->section,
              line->include_last, stream, ours.mean_low, ours.mean_high,
              words[2]);
    cr_expect_eq(ours.max, (int64_t)atof(words[8]),
                 "%s %d stream %d: max %ld, not %s", line->section,
                 line->include_last, stream, (long)ours.max, words[8]);
    cr_expect_eq(ours.min, 0);
}

Test(trace_launch, hta_queues)
{
    struct hta_traces traces = {.count = 0};
    int rows = 0;
    for (int i = 0; i < 3 && trace_data_there(files[i]); i++) {
        struct hta_line line = {.file = trace_file_open(files[i])};
        int rank = 0;
        while (hta_next(&line)) {
            if (strcmp(line.block, "queue") != 0 || !is_number(line.words[0]) ||
                line.count < 9) {
                continue;
            }
            rank = line.count == 10 ? atoi(line.words[0]) : rank;
            const struct hta *hta = hta_find(&traces, &line, rank);
            cr_assert_not_null(hta);
            compare_queue(&line, hta);
            rows++;
        }
    }
    hta_traces_close(&traces);
    cr_assert_geq(rows, trace_data_there(files[1]) ? 120 : 40, "%d", rows);
}

/* --- launches ------------------------------------------------------------- */

/* What HTA's launch statistics say of a trace. */
struct described {
    int rows, short_kernels;
    double mean[3], max[3]; /* call, device, delay; us */
};

/* The product's rows of the calls HTA looks at, together. */
static struct described describe(const struct tp_trace *trace)
{
    static const char *const calls[] = {"cudaLaunchKernel",
                                        "cudaLaunchKernelExC",
                                        "cudaMemcpyAsync", "cudaMemsetAsync"};
    struct described out = {0};
    double sums[3] = {0};
    for (size_t i = 0; i < trace->launches.count; i++) {
        const struct tp_launch_row *row = &trace->launches.rows[i];
        for (int k = 0; k < 4; k++) {
            if (strcmp(row->name, calls[k]) != 0) {
                continue;
            }
            out.rows += (int)row->count;
            out.short_kernels += (int)row->short_kernels;
            sums[0] += row->call_us;
            sums[1] += row->mean_device_us * (double)row->count;
            sums[2] += row->mean_delay_us * (double)row->count;
            out.max[0] = fmax(out.max[0], row->max_call_us);
            out.max[2] = fmax(out.max[2], row->max_delay_us);
        }
    }
    for (int i = 0; i < 3; i++) {
        out.mean[i] = sums[i] / (double)out.rows;
    }
    return out;
}

static void read_described(struct hta_line *line, struct described *out)
{
    if (strcmp(line->words[0], "rows") == 0) {
        out->rows = atoi(line->words[1]);
        out->short_kernels = atoi(line->words[5]);
    } else if (strcmp(line->words[0], "mean") == 0) {
        for (int i = 0; i < 3; i++) {
            out->mean[i] = atof(line->words[2 + i]);
        }
    } else if (strcmp(line->words[0], "max") == 0) {
        for (int i = 0; i < 3; i++) {
            out->max[i] = atof(line->words[2 + i]);
        }
    }
}

/* Traces in whole microseconds give HTA's numbers, others are off by its
 * rounding; HTA prints six figures or six decimals. */
static void compare_described(const char *name, const struct described *ours,
                              const struct described *theirs, double slack)
{
    cr_expect_eq(ours->rows, theirs->rows, "%s: %d launches, not %d", name,
                 ours->rows, theirs->rows);
    for (int i = 0; i < 3; i++) {
        cr_expect_leq(fabs(ours->mean[i] - theirs->mean[i]),
                      slack + 1e-6 * theirs->mean[i] + 1e-6,
                      "%s: mean %d is %.6f, not %.6f", name, i, ours->mean[i],
                      theirs->mean[i]);
        cr_expect_leq(i == 1 ? 0 : fabs(ours->max[i] - theirs->max[i]),
                      slack + 1e-6 * theirs->max[i],
                      "%s: max %d is %.6f, not %.6f", name, i, ours->max[i],
                      theirs->max[i]);
    }
    if (slack == 0) {
        cr_expect_eq(ours->short_kernels, theirs->short_kernels,
                     "%s: %d short, not %d", name, ours->short_kernels,
                     theirs->short_kernels);
    }
}

static void check_launches(const char *section, const char *name, double slack)
{
    const bool own = strncmp(section, "own/", 4) == 0;
    struct hta_line line = {.file = trace_file_open(files[own ? 0 : 1])};
    struct described theirs = {0};
    struct tp_trace trace;
    while (hta_next(&line)) {
        if (line.include_last && strstr(line.section, section) &&
            strcmp(line.block, "launch") == 0) {
            read_described(&line, &theirs);
        }
    }
    trace_file_read(name, &trace);
    cr_assert_eq(tp_trace_launches(&trace, NULL), TP_OK);
    const struct described ours = describe(&trace);
    compare_described(name, &ours, &theirs, slack);
    cr_assert_gt(theirs.rows, 0);
    trace_file_close(&trace);
}

Test(trace_launch, hta_launches)
{
    check_launches("own/train", "own/train.json.gz", 0);
    check_launches("own/loader", "own/loader.json.gz", 0);
    check_launches("own/busy", "own/busy.json.gz", 0);
    check_launches("own/fractions", "own/fractions.json.gz", 2);
    if (!trace_data_there(files[1]))
        return;
    check_launches("simple_add",
                   "13_simple_add/benchmark_result_493459_1694039959_trace"
                   ".json.gz",
                   0);
    check_launches("num_workers_0",
                   "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz", 0);
    check_launches("num_workers_4",
                   "02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz", 0);
    check_launches("gaunernst_bert",
                   "15_bert_h100/gaunernst_bert-small-uncased__1016001.json"
                   ".gz",
                   2);
    check_launches("google_owlv2",
                   "16_owlv2_h100/google_owlv2-large-patch14-ensemble__"
                   "1016001.json.gz",
                   2);
}

/* --- streams -------------------------------------------------------------- */

static const struct tp_stream_row *find_stream(const struct tp_trace *trace,
                                               int64_t stream)
{
    for (size_t i = 0; i < trace->streams.count; i++) {
        if (trace->streams.rows[i].stream == stream) {
            return &trace->streams.rows[i];
        }
    }
    cr_assert_fail("no stream %ld", (long)stream);
    return NULL;
}

static double gap_of(const struct tp_stream_row *row, const char *category)
{
    return strcmp(category, "host_wait") == 0     ? row->host_wait_us
           : strcmp(category, "kernel_wait") == 0 ? row->kernel_wait_us
                                                  : row->other_wait_us;
}

/* Compares the product's rows of one trace with HTA's lines of its section
 * and rank; possible where nothing is rounded or left out by HTA: a single
 * step, whole microseconds, every launch in the file. */
static int compare_streams(const char *file, const char *section, int rank,
                           const struct tp_trace *trace)
{
    struct hta_line line = {.file = trace_file_open(file)};
    int rows = 0;
    int at = -1;
    while (hta_next(&line)) {
        if (!strstr(line.section, section) || !is_number(line.words[0])) {
            continue;
        }
        if (strcmp(line.block, "idle") == 0 && line.count == 6 &&
            atoi(line.words[1]) == rank) {
            const struct tp_stream_row *row =
                find_stream(trace, atoi(line.words[2]));
            cr_expect_float_eq(gap_of(row, line.words[3]), atof(line.words[4]),
                               1e-6, "%s %d: %s %s", section, rank,
                               line.words[2], line.words[3]);
            rows++;
        } else if (strcmp(line.block, "queue") == 0 && line.count >= 9) {
            char *const *words = line.words + line.count - 9;
            at = line.count == 10 ? atoi(line.words[0]) : at;
            if (at == rank) {
                cr_expect_float_eq(
                    find_stream(trace, atoi(words[0]))->max_queue,
                    atof(words[8]), 1e-9);
                rows++;
            }
        }
    }
    return rows;
}

Test(trace_launch, hta_streams)
{
    static const struct {
        const char *file, *section, *trace;
        int rank, rows;
    } known[] = {
        {"own/expected/hta.txt", "own/one_step", "own/one_step.json.gz", 0, 7},
        {"own/expected/hta.txt", "own/ranks", "own/ranks/rank1.json.gz", 1, 9},
        {"own/expected/hta.txt", "own/ranks", "own/ranks/rank3.json.gz", 3, 9},
        {"expected/hta.txt", "simple_add",
         "13_simple_add/benchmark_result_493459_1694039959_trace.json.gz", 0,
         16},
        {"expected/hta_23_dlrm_8rank.txt", "",
         "23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json", 0, 16},
        {"expected/hta_23_dlrm_8rank.txt", "",
         "23_dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json", 7, 16},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tp_trace trace;
        if (!trace_data_there(known[i].trace))
            continue;
        trace_file_read(known[i].trace, &trace);
        cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
        const int rows = compare_streams(known[i].file, known[i].section,
                                         known[i].rank, &trace);
        cr_assert_geq(rows, known[i].rows, "%s: %d", known[i].trace, rows);
        trace_file_close(&trace);
    }
}

/* --- values HTA's own tests ask for --------------------------------------- */

Test(trace_launch, mtia)
{
    struct tp_trace trace;
    trace_file_read("14_mtia_rank_0/mtia_rank_0.json.gz", &trace);
    struct hta hta = hta_open(&trace, false);
    int found = 0;
    for (size_t i = 0; i < hta.count; i++) {
        const struct hta_row *row = &hta.rows[i];
        if (trace.events.correlation[row->event] == 423) {
            const double call = (double)(row->call_end - row->launch);
            const double device = (double)(row->end - row->ts);
            cr_expect(row->linked);
            cr_expect_leq(fabs(call - 435.2), 2, "call %.1f", call);
            cr_expect_leq(fabs(device - 124.768), 2, "device %.1f", device);
            cr_expect_leq(row->ts, row->call_end, "delay");
            found++;
        }
    }
    cr_assert_eq(found, 1);

    const struct hta_temporal temporal = hta_temporal(&hta);
    const double kernel = (double)temporal.kernel / 100;
    cr_expect_leq(fabs((double)temporal.idle / kernel - 42.382), 0.01);
    cr_expect_leq(fabs((double)temporal.compute / kernel - 54.812), 0.01);
    cr_expect_leq(fabs((double)temporal.non_compute / kernel - 2.805), 0.01);
    const struct hta_queue queue = hta_queue(&hta, 102, 1);
    cr_expect_eq(queue.count, 6);
    cr_expect_eq(queue.blocked, 1060, "%ld", (long)queue.blocked);
    cr_expect_eq(hta_gaps(&hta, 1).host_wait, 417937);
    hta_close(&hta);

    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_expect_eq(trace.streams.count, 2);
    const struct tp_stream_row *row = find_stream(&trace, 102);
    cr_expect_float_eq(row->mean_queue, 0.5, 1e-12);
    cr_expect_float_eq(row->max_queue, 1, 1e-12);
    row = find_stream(&trace, 1);
    cr_expect_float_eq(row->max_queue, 1, 1e-12);
    /* HTA asks for 417937, 0.07 of all, in rounded times: there some of the
     * calls begin after the event before them that really begin before. */
    const double all =
        row->host_wait_us + row->kernel_wait_us + row->other_wait_us;
    cr_expect_leq(fabs(row->host_wait_us / all - 0.07), 0.005, "%.3f of %.3f",
                  row->host_wait_us, all);
    trace_file_close(&trace);
}

/* No queue is ever shorter than nothing. */
static void check_queues(const char *name, size_t streams, int64_t least)
{
    struct tp_trace trace;
    trace_file_read(name, &trace);
    struct hta hta = hta_open(&trace, true);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_expect_eq(trace.streams.count, streams);
    int64_t changes = 0;
    for (size_t i = 0; i < trace.streams.count; i++) {
        const struct tp_stream_row *row = &trace.streams.rows[i];
        const struct hta_queue queue = hta_queue(&hta, (int)row->stream, 1024);
        cr_expect_geq(queue.min, 0);
        cr_expect_geq(row->mean_queue, 0);
        changes += queue.count;
    }
    cr_expect_geq(changes, least, "%ld", (long)changes);
    hta_close(&hta);
    trace_file_close(&trace);
}

Test(trace_launch, negative_queue)
{
    check_queues("own/fractions.json.gz", 2, 200);
    check_queues("own/ranks/rank0.json.gz", 3, 40);
    if (trace_data_there("09_negative_queue/rank0.json.gz"))
        check_queues("09_negative_queue/rank0.json.gz", 6, 12000);
}

/* --- by hand -------------------------------------------------------------- */

#define CALL(name, ts, dur, id)                                \
    ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur      \
    ",\"args\":{\"correlation\":" #id "}}"
#define DEVICE(ts, dur, id)                                                 \
    ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7," \
    "\"ts\":" #ts ",\"dur\":" #dur                                          \
    ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":" #id "}}"

/* Two kernels queue up, the third waits for the host, the fourth was launched
 * in time but comes late, the fifth was launched before the file begins. */
/* clang-format off */
static const char by_hand[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\","
    "\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1000}"
    CALL("cudaLaunchKernel", 0, 10, 1) CALL("cudaLaunchKernel", 10, 10, 2)
    CALL("cudaLaunchKernel", 200, 60, 3) CALL("cudaLaunchKernel", 261, 9, 4)
    DEVICE(20, 50, 1) DEVICE(75, 25, 2) DEVICE(240, 40, 3) DEVICE(400, 5, 4)
    DEVICE(500, 1, 99) "]}";
/* clang-format on */

Test(trace_launch, launches_by_hand)
{
    struct tp_trace trace;
    trace_text_read(by_hand, &trace);
    cr_assert_eq(tp_trace_launches(&trace, NULL), TP_OK);
    cr_assert_eq(trace.launches.count, 1);
    const struct tp_launch_row *row = &trace.launches.rows[0];
    cr_expect_str_eq(row->name, "cudaLaunchKernel");
    cr_expect_eq(row->count, 4);
    cr_expect_float_eq(row->call_us, 89, 1e-9);
    cr_expect_float_eq(row->mean_call_us, 22.25, 1e-9);
    cr_expect_float_eq(row->max_call_us, 60, 1e-9);
    cr_expect_float_eq(row->mean_device_us, 30, 1e-9);
    cr_expect_float_eq(row->mean_delay_us, 48.75, 1e-9); /* 10, 55, 0, 130 */
    cr_expect_float_eq(row->max_delay_us, 130, 1e-9);
    cr_expect_eq(row->short_kernels, 1); /* the third call is too long */
    trace_file_close(&trace);
}

Test(trace_launch, streams_by_hand)
{
    struct tp_trace trace;
    trace_text_read(by_hand, &trace);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_assert_eq(trace.streams.count, 1);
    const struct tp_stream_row *row = &trace.streams.rows[0];
    cr_expect_eq(row->device, 0);
    cr_expect_eq(row->stream, 7);
    cr_expect_eq(row->device_events, 5);
    cr_expect_float_eq(row->busy_us, 121, 1e-9);
    cr_expect_float_eq(row->kernel_wait_us, 5, 1e-9);  /* 70 .. 75   */
    cr_expect_float_eq(row->host_wait_us, 140, 1e-9);  /* 100 .. 240 */
    cr_expect_float_eq(row->other_wait_us, 215, 1e-9); /* 120 and 95 */
    /* 1 2 1 0 1 0 1 0 */
    cr_expect_float_eq(row->mean_queue, 0.75, 1e-12);
    cr_expect_float_eq(row->max_queue, 2, 1e-12);
    cr_expect_float_eq(row->full_queue_us, 0, 1e-12);
    trace_file_close(&trace);
}

/* A graph is one launch, however many kernels it has: three calls of a graph
 * of two kernels each queue up as three launches of a kernel do. */
Test(trace_launch, graphs_are_one_launch_each)
{
    static const char graphs[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\","
        "\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,"
        "\"dur\":1000}"
        CALL("cudaGraphLaunch", 0, 10, 1) CALL("cudaGraphLaunch", 10, 10, 2)
        CALL("cudaGraphLaunch", 20, 10, 3)
        DEVICE(40, 50, 1) DEVICE(90, 50, 1) DEVICE(140, 50, 2)
        DEVICE(190, 50, 2) DEVICE(240, 50, 3) DEVICE(290, 50, 3) "]}";
    static const char kernels[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\","
        "\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,"
        "\"dur\":1000}"
        CALL("cudaLaunchKernel", 0, 10, 1) CALL("cudaLaunchKernel", 10, 10, 2)
        CALL("cudaLaunchKernel", 20, 10, 3)
        DEVICE(40, 100, 1) DEVICE(140, 100, 2) DEVICE(240, 100, 3) "]}";
    struct tp_trace trace[2];
    trace_text_read(graphs, &trace[0]);
    trace_text_read(kernels, &trace[1]);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tp_trace_streams(&trace[i], NULL), TP_OK);
        cr_assert_eq(tp_trace_curves(&trace[i], NULL), TP_OK);
    }
    const struct tp_stream_row *row[] = {trace[0].streams.rows,
                                         trace[1].streams.rows};
    cr_expect_eq(row[0]->device_events, 6);
    cr_expect_float_eq(row[0]->max_queue, 3, 1e-12);
    cr_expect_float_eq(row[0]->max_queue, row[1]->max_queue, 1e-12);
    cr_expect_float_eq(row[0]->mean_queue, row[1]->mean_queue, 1e-12);
    cr_expect_float_eq(trace[0].mean_queue, trace[1].mean_queue, 1e-12);
    trace_file_close(&trace[0]);
    trace_file_close(&trace[1]);
}

/* The mean of a curve of equal pieces. */
static double mean_of(const struct tp_curve *curve)
{
    double sum = 0;
    for (size_t i = 0; i < curve->count; i++) {
        sum += curve->rows[i].value;
    }
    return sum / (double)curve->count;
}

Test(trace_launch, curves_by_hand)
{
    struct tp_trace trace;
    trace_text_read(by_hand, &trace);
    cr_assert_eq(tp_trace_curves(&trace, NULL), TP_OK);
    cr_assert_eq(trace.utilisation.count, 500);
    cr_assert_eq(trace.queue.count, 500);
    /* Pieces of 2 us. The queue: 0 .. 20, 10 .. 75, 200 .. 240, 261 .. 400. */
    cr_expect_float_eq(trace.utilisation.rows[9].value, 0, 1e-12);
    cr_expect_float_eq(trace.utilisation.rows[10].value, 1, 1e-12);
    cr_expect_float_eq(trace.utilisation.rows[10].at_us, 21, 1e-12);
    cr_expect_float_eq(trace.utilisation.rows[37].value, 0.5, 1e-12);
    cr_expect_float_eq(trace.queue.rows[5].value, 2, 1e-12);
    cr_expect_float_eq(trace.queue.rows[36].value, 1, 1e-12);
    cr_expect_float_eq(trace.queue.rows[37].value, 0.5, 1e-12);
    cr_expect_float_eq(trace.queue.rows[130].value, 0.5, 1e-12);
    cr_expect_float_eq(mean_of(&trace.utilisation), 0.121, 1e-9);
    cr_expect_float_eq(mean_of(&trace.queue), 0.264, 1e-9);
    cr_expect_float_eq(trace.mean_queue, 0.264, 1e-12);
    trace_file_close(&trace);
}

/* A queue of 1 030: it is full from the 1 024th launch, at 1 023, to the
 * seventh start, at 2 006, and no longer. */
Test(trace_launch, full_queue)
{
    enum { LAUNCHES = 1030, ROOM = 400 * LAUNCHES };
    char *json = malloc(ROOM);
    struct tp_trace trace;
    cr_assert_not_null(json);
    size_t used = (size_t)snprintf(json, ROOM, "{\"traceEvents\":[");
    for (int i = 0; i < LAUNCHES; i++) {
        used += (size_t)snprintf(
            json + used, ROOM - used,
            "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
            "\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,"
            "\"args\":{\"correlation\":%d}},"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,"
            "\"tid\":7,\"ts\":%d,\"dur\":1,\"args\":{\"device\":0,"
            "\"stream\":7,\"correlation\":%d}}",
            i > 0 ? "," : "", i, i + 1, 2000 + i, i + 1);
    }
    snprintf(json + used, ROOM - used, "]}");
    trace_text_read(json, &trace);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_assert_eq(trace.streams.count, 1);
    cr_expect_float_eq(trace.streams.rows[0].max_queue, LAUNCHES, 1e-12);
    cr_expect_float_eq(trace.streams.rows[0].full_queue_us, 2006 - 1023, 1e-9);
    trace_file_close(&trace);
    free(json);
}

Test(trace_launch, no_device)
{
    struct tp_trace trace;
    trace_text_read("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\","
                    "\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":0,"
                    "\"dur\":10}]}",
                    &trace);
    cr_assert_eq(tp_trace_launches(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_curves(&trace, NULL), TP_OK);
    cr_expect_eq(trace.launches.count, 0);
    cr_expect_eq(trace.streams.count, 0);
    cr_expect_eq(trace.utilisation.count, 0);
    cr_expect(isnan(trace.mean_queue));
    trace_file_close(&trace);
}

/* Times as far apart as the reader lets them be, and a device event that
 * starts before its launch does: it was in no queue. */
Test(trace_launch, far_apart)
{
    struct tp_trace trace;
    /* clang-format off */
    trace_text_read("{\"traceEvents\":[{\"ph\":\"M\"}"
                    DEVICE(-1152921504606846.0, 10, 1)
                    CALL("cudaLaunchKernel", 0, 604800000000, 1)
                    DEVICE(4611686018427387.9, 604800000000, 2)
                    CALL("cudaLaunchKernel", 1, 604800000000, 2) "]}",
                    &trace);
    /* clang-format on */
    cr_assert_eq(tp_trace_launches(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_curves(&trace, NULL), TP_OK);
    cr_assert_eq(trace.launches.count, 1);
    cr_expect_eq(trace.launches.rows[0].count, 2);
    cr_expect_float_eq(trace.launches.rows[0].max_delay_us,
                       4611686018427386.9 - 604800000000, 1e3);
    cr_assert_eq(trace.streams.count, 1);
    cr_expect_float_eq(trace.streams.rows[0].max_queue, 1, 1e-12);
    cr_expect_float_eq(trace.streams.rows[0].host_wait_us,
                       4611686018427387.9 + 1152921504606836.0, 1e3);
    cr_assert_eq(trace.queue.count, 500);
    cr_expect_float_eq(trace.queue.rows[498].value, 1, 1e-9);
    trace_file_close(&trace);
}

/* A gap of exactly 30 us is no longer the device's own, a call of exactly
 * 50 us still counts, and who starts with the launch has been in the queue. */
Test(trace_launch, limits)
{
    struct tp_trace trace;
    /* clang-format off */
    trace_text_read("{\"traceEvents\":[{\"ph\":\"M\"}"
                    CALL("cudaLaunchKernel", 0, 50, 1) DEVICE(0, 10, 1)
                    CALL("cudaLaunchKernel", 5, 60, 2) DEVICE(40, 10, 2) "]}",
                    &trace);
    /* clang-format on */
    cr_assert_eq(tp_trace_launches(&trace, NULL), TP_OK);
    cr_assert_eq(tp_trace_streams(&trace, NULL), TP_OK);
    cr_expect_eq(trace.launches.rows[0].short_kernels, 1);
    cr_expect_float_eq(trace.streams.rows[0].other_wait_us, 30, 1e-9);
    cr_expect_float_eq(trace.streams.rows[0].kernel_wait_us, 0, 1e-9);
    cr_expect_float_eq(trace.streams.rows[0].max_queue, 1, 1e-12);
    cr_expect_float_eq(trace.streams.rows[0].mean_queue, 0.5, 1e-12);
    trace_file_close(&trace);
}
